"""The cache of replies: whose are kept, under what, how long, and what they count in a run that was stopped."""

import json

import pytest
from langchain_core.messages import AIMessage

from aligngraph import Agent, Team, open_session
from aligngraph.errors import StoreError
from aligngraph.models import ModelSpec, ScriptedChatModel
from aligngraph.persistence import PolicyStore

TASK = "What is 6 * 7?"
CACHED = "[cache]\nresponses = true\n"
PRICE = "price = { prompt = 3, completion = 7 }\n"
TALKATIVE = f'strategies = ["self_check"]\n{PRICE}'


@pytest.fixture
def stop_at(monkeypatch):
    """Return a function that lets a store's method fail from its n-th call on, until what it returns is called."""

    def stop(owner, method, number):
        real, calls = getattr(owner, method), []

        async def fail(*arguments, **settings):
            calls.append(method)
            if len(calls) >= number:
                raise StoreError("the process ends here")
            return await real(*arguments, **settings)

        monkeypatch.setattr(owner, method, fail)
        return lambda: monkeypatch.setattr(owner, method, real)

    return stop


async def ask(team, db, run_id="r1", task=TASK):
    async with open_session(team, db=db) as session:
        return await session.ask(task, run_id=run_id, options={"seed": 3})


def without_names(decision):
    shown = json.loads(decision.model_dump_json())
    return {key: value for key, value in shown.items() if key not in {"run_id", "seconds"}}


@pytest.fixture
def heard(monkeypatch):
    """Return the calls of scripted models, as they are made."""
    made, play = [], ScriptedChatModel._play

    def listen(model, row, *more):
        made.append(row.agent)
        return play(model, row, *more)

    monkeypatch.setattr(ScriptedChatModel, "_play", listen)
    return made


class TestARunThatWasStopped:
    """Between a reply that is kept and the candidate that it becomes lies a moment, and a sample of several turns."""

    async def test_it_counts_what_it_paid_for_before(self, scripted_team, tmp_path, stop_at, heard):
        """One sample, so that nothing else is under way; tests/integration/test_kill.py has many at random moments."""
        team = scripted_team({"a": ["42"]}, sections=CACHED, agent_keys={"a": TALKATIVE})
        whole = await ask(team, str(tmp_path / "whole"))
        heard.clear()
        go_on = stop_at(PolicyStore, "record_candidate", 1)
        with pytest.raises(StoreError, match="the process ends here"):
            await ask(team, str(tmp_path / "parts"))
        go_on()
        resumed = await ask(team, str(tmp_path / "parts"))
        assert without_names(resumed) == without_names(whole)
        assert resumed.usage.agents["a"].calls == 3
        assert heard.count("a") == 3, "kept replies are not asked for again"

    @pytest.mark.parametrize("moment", [1, 2, 3])
    async def test_it_counts_what_all_samples_paid_for_before(self, scripted_team, tmp_path, stop_at, heard, moment):
        keys = {"a": TALKATIVE, "b": PRICE}
        team = scripted_team({"a": ["42", "43"], "b": ["41"]}, order=["42", "43", "41"], sections=CACHED, agent_keys=keys)  # fmt: skip
        whole = await ask(team, str(tmp_path / "whole"))
        heard.clear()
        go_on = stop_at(PolicyStore, "record_candidate", moment)
        with pytest.raises(StoreError, match="the process ends here"):
            await ask(team, str(tmp_path / "parts"))
        go_on()
        resumed = await ask(team, str(tmp_path / "parts"))
        assert without_names(resumed) == without_names(whole)
        assert resumed.usage.agents["a"].calls == 6
        assert heard.count("a") <= 8, "only calls that were under way are made again"

    async def test_a_cap_counts_it_too(self, scripted_team, db, stop_at, heard):
        sections = CACHED + "[budget]\ncalls = 7\n"
        team = scripted_team({"a": ["42", "43", "44"]}, order=["42", "43", "44"], sections=sections, agent_keys={"a": TALKATIVE})  # fmt: skip
        go_on = stop_at(PolicyStore, "record_candidate", 1)
        with pytest.raises(StoreError):
            await ask(team, db)
        go_on()
        decision = await ask(team, db)
        assert decision.usage.total.calls == 7
        assert "not_asked" in {one.failure for one in decision.candidates}

    async def test_another_run_gets_it_for_nothing(self, scripted_team, db, heard):
        team = scripted_team({"a": ["42"]}, sections=CACHED, agent_keys={"a": TALKATIVE})
        first, second = [await ask(team, db, run_id) for run_id in ("r1", "r2")]
        assert (first.usage.total.calls, second.usage.total.calls, len(heard)) == (3, 0, 3)
        assert (second.usage.total.cost, second.candidates[0].text) == (0.0, first.candidates[0].text)


class TestWhoseRepliesAreKept:
    async def test_a_function_is_asked_each_time(self, scripted_team, db):
        """Its name says nothing of what it does; with the old key the second would have answered as the first."""
        scripted = Team.load(scripted_team({"a": ["42"]}, order=["42"], sections=CACHED))

        def team_of(answer):
            own = Agent.from_runnable(lambda _: AIMessage(f"Answer: {answer}"), name="own")
            return scripted.model_copy(update={"agents": (*scripted.agents, own)})

        decisions = [await ask(team_of(answer), db, f"r{answer}") for answer in (41, 40)]
        assert [decision.candidates[1].answer for decision in decisions] == ["41", "40"]

    @pytest.mark.parametrize(
        ("change", "calls"),
        [
            ({"max_concurrency": 1}, 1),
            ({"requests_per_minute": 6000}, 1),
            ({"max_input_tokens": 5000}, 1),
            ({"max_tokens": 7}, 2),
        ],
        ids=str,
    )
    async def test_only_settings_that_shape_a_reply_are_in_the_key(self, scripted_team, db, heard, change, calls):
        team = Team.load(scripted_team({"a": ["42"]}, sections=CACHED))
        (agent,) = team.agents
        assert isinstance(agent.model, ModelSpec)
        changed = agent.model_copy(update={"model": agent.model.model_copy(update=change)})
        await ask(team, db, "r1")
        await ask(team.model_copy(update={"agents": (changed,)}), db, "r2")
        assert len(heard) == calls


class TestHowLong:
    async def test_an_old_reply_is_paid_for_again(self, scripted_team, db, heard):
        team = Team.load(scripted_team({"a": ["42"]}, sections=CACHED))
        await ask(team, db, "r1")
        brief = team.model_copy(update={"cache": team.cache.model_copy(update={"keep_days": 1e-9})})
        await ask(brief, db, "r2")
        assert len(heard) == 2
        await ask(team, db, "r3")
        assert len(heard) == 2, "the one that was kept last is there"
