"""Budgets, retries, fallbacks, circuits, cache and limits over real HTTP: what the server saw is what the decision says."""

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from aligngraph import AlignChatModel, DelegationFailedError, Team, aask, build_delegation, open_session
from aligngraph.bench import faulty_server
from aligngraph.bench.faults import Fault
from aligngraph.bench.faulty_server import FaultyServer
from aligngraph.models import open_model
from aligngraph.persistence import Candidate, Location, PolicyStore

TASK = "What is 6 * 7?"
SOLUTION = re.compile(r"Solution (\w+)\n--- \w+ ---\n.*?Answer: (\S+)\n", re.DOTALL)
NO_WAIT = {"first_wait_s": 0.001, "longest_wait_s": 1}


def says(answer):
    return lambda _messages, _sample: f"I say so.\nAnswer: {answer}"


def counts_up(_messages, sample):
    return f"I draw {sample}.\nAnswer: {sample}"


def ranks_as_shown(messages, _sample):
    return json.dumps({"order": ">".join(label for label, _ in SOLUTION.findall(messages[-1]["content"]))})


def mumbles(_messages, _sample):
    return "I would rather not say it in JSON."


REPLIES = {
    "a": says(42),
    "b": says(41),
    "c": says(43),
    "judge": ranks_as_shown,
    "mumbling": mumbles,
    "draws": counts_up,
}


@pytest.fixture
def server():
    with FaultyServer(says(42), replies=REPLIES) as server:
        yield server


@pytest.fixture
def make_team(server):
    """Return a function that makes a team: agents by name with their model and what else they have."""

    def model(given):
        table = given if isinstance(given, dict) else {"name": given}
        return {"provider": "openai", "base_url": server.base_url, "max_tokens": 20, **table}

    def spell(table):
        fallback = [model(one) for one in table.get("fallback", [])]
        return {**table, "model": model(table["model"]), "fallback": fallback}

    def make(agents, principal=None, **sections):
        tables = [{"name": name, "samples": 1, **(one if isinstance(one, dict) else {"model": one})} for name, one in agents.items()]  # fmt: skip
        principal = {"model": "judge", **(principal or {})}
        return Team.model_validate(
            {"agents": [spell(one) for one in tables], "principal": spell(principal), "retry": NO_WAIT, **sections}
        )

    return make


def calls_of(server, *models):
    return sum(len(server.log.calls_of(model)) for model in models)


def most_at_once(calls):
    moments = sorted([(call.started_s, 1) for call in calls] + [(call.ended_s, -1) for call in calls])
    under_way = [sum(step for _, step in moments[: end + 1]) for end in range(len(moments))]
    return max(under_way)


def failures(decision):
    return [candidate.failure for candidate in decision.candidates]


class TestCaps:
    """F17: the cap covers every call; reaching it ends the run with the best decision so far, `degraded`."""

    async def test_f17_calls_reached_by_agents(self, server, make_team, db):
        team = make_team({"x": {"model": "a", "samples": 4}, "y": {"model": "b", "samples": 4}}, budget={"calls": 3})
        decision = await aask(TASK, team=team, db=db)
        assert len(server.log.calls) == decision.usage.total.calls == 3
        assert decision.status == "degraded"
        assert decision.answer in {"42", "41"}
        assert failures(decision).count("not_asked") == 5
        told = [problem for problem in decision.problems if problem.endswith("budget: its 3 calls are spent")]
        assert len(told) >= 5

    @pytest.mark.parametrize(
        ("budget", "cap"),
        [({"tokens": 150}, r"of its 150 tokens"), ({"money": 150e-6}, r"of its 0\.00015 money")],
    )
    async def test_f17_tokens_and_money_reached_by_agents(self, server, make_team, db, budget, cap):
        price = {"prompt": 1, "completion": 1}
        agents = {"x": {"model": "a", "samples": 6, "price": price}}
        decision = await aask(TASK, team=make_team(agents, {"price": price}, budget=budget), db=db)
        spent = decision.usage.total
        assert (decision.status, decision.answer) == ("degraded", "42")
        assert spent.prompt_tokens + spent.completion_tokens <= 150
        assert spent.cost == pytest.approx((spent.prompt_tokens + spent.completion_tokens) / 1e6)
        assert 1 <= spent.calls == len(server.log.calls) < 6
        refused = [one for one in decision.candidates if one.failure == "not_asked"]
        assert len(refused) == 6 - spent.calls
        assert all(re.search(cap, one.error) for one in refused)

    async def test_f17_seconds_reached_by_a_model_that_hangs(self, server, make_team, db):
        team = make_team({"x": "a", "slow": "fault-hang"}, budget={"seconds": 0.6})
        begun = time.monotonic()
        decision = await aask(TASK, team=team, db=db)
        assert 0.6 <= time.monotonic() - begun < 3
        assert (decision.status, decision.answer) == ("degraded", "42")
        assert decision.problems == ["slow.0: budget: its 0.6 seconds are over"]
        assert await asyncio.to_thread(server.log.wait_until, lambda: server.log.disconnects == 1, 10)

    async def test_f17_calls_reached_by_the_principal_leave_the_votes(self, server, make_team, db):
        """With no call left for a ranking the answers are counted, and the weights of the arms with them."""
        team = make_team({"x": {"model": "a", "samples": 2}, "y": "b"}, budget={"calls": 3})
        decision = await aask(TASK, team=team, db=db)
        assert (decision.status, decision.answer) == ("degraded", "42")
        assert calls_of(server, "judge") == 0
        assert decision.ranking.order == []
        assert any(problem.endswith("budget: its 3 calls are spent") for problem in decision.problems)
        assert "no principal is left: decided by the votes alone" in decision.problems
        assert decision.usage.principal.calls == 0

    async def test_f17_stand_ins_of_the_principal_are_covered_too(self, server, make_team, db):
        principal = {"model": "fault-401", "fallback": ["fault-403", "judge"]}
        decision = await aask(TASK, team=make_team({"x": "a", "y": "b"}, principal, budget={"calls": 3}), db=db)
        assert len(server.log.calls) == decision.usage.total.calls == 3
        assert calls_of(server, "fault-403", "judge") == 0
        assert decision.status == "degraded"

    async def test_f17_calls_reached_by_retries(self, server, make_team, db):
        team = make_team({"x": "a", "busy": "fault-503"}, budget={"calls": 4}, retry={**NO_WAIT, "attempts": 9})
        decision = await aask(TASK, team=team, db=db)
        assert (decision.status, decision.answer) == ("degraded", "42")
        assert len(server.log.calls) == decision.usage.total.calls == 4
        assert decision.usage.agents["busy"].calls == calls_of(server, "fault-503") == 3
        [problem] = decision.problems
        assert problem.startswith("busy.0: budget: its 4 calls are spent; before that: OpenAIAPIError: ")
        assert "503" in problem, "F51: the true cause is not lost"

    async def test_f17_calls_reached_by_the_repair_of_a_verdict(self, server, make_team, db):
        team = make_team({"x": "a", "y": "b"}, {"model": "mumbling"}, budget={"calls": 3})
        decision = await aask(TASK, team=team, db=db)
        assert calls_of(server, "mumbling") == decision.usage.principal.calls == 1
        assert decision.status == "degraded"
        assert [call["outcome"] for call in decision.ranking.calls] == ["unusable", "failed"]
        assert any("budget: its 3 calls are spent" in problem for problem in decision.problems)

    async def test_the_repair_goes_where_there_is_a_call_left(self, server, make_team, db):
        team = make_team({"x": "a", "y": "b"}, {"model": "mumbling"}, budget={"calls": 4})
        decision = await aask(TASK, team=team, db=db)
        assert calls_of(server, "mumbling") == decision.usage.principal.calls == 2

    async def test_a_judge_of_several_questions_at_once_is_counted_call_by_call(self, server, make_team, db):
        principal = {"ranker": {"name": "pairwise"}}
        decision = await aask(TASK, team=make_team({"x": "a", "y": "b", "z": "c"}, principal), db=db)
        assert decision.usage.principal.calls == calls_of(server, "judge") >= 6
        assert decision.usage.principal.prompt_tokens == sum(
            call.prompt_tokens for call in server.log.calls_of("judge")
        )

    async def test_f3_f41_nothing_answered_before_the_cap_is_an_error_with_every_cause(self, server, make_team, db):
        team = make_team({"x": {"model": "fault-500", "samples": 3}}, budget={"calls": 2}, retry={"attempts": 1})
        with pytest.raises(DelegationFailedError) as caught:
            await aask(TASK, team=team, db=db)
        causes = caught.value.causes
        assert [cause.split(":")[0] for cause in causes] == ["x.0", "x.1", "x.2"]
        assert sum("500" in cause for cause in causes) == 2
        assert sum(cause.endswith("budget: its 2 calls are spent") for cause in causes) == 1
        assert caught.value.decision["usage"]["total"]["calls"] == len(server.log.calls) == 2

    async def test_what_an_interrupted_process_paid_for_counts(self, server, make_team, db):
        """Its candidates are in the store, though no checkpoint tells of them."""
        team = make_team({"x": {"model": "a", "samples": 6}}, budget={"calls": 4})
        usage = {"calls": 1, "prompt_tokens": 10, "completion_tokens": 5, "cost": None}
        async with await PolicyStore.open(Location.parse(db)) as store:
            for sample in range(3):
                paid = Candidate(f"x.{sample}", "x", "step_by_step", sample, sample, "42", "Answer: 42", usage=usage)
                await store.record_candidate("killed", paid)
        async with open_session(team, db=db) as session:
            decision = await session.ask(TASK, run_id="killed")
        assert (len(server.log.calls), decision.usage.total.calls) == (1, 4)

    async def test_each_run_has_a_budget_of_its_own(self, server, make_team, db):
        team = make_team({"x": {"model": "a", "samples": 2}}, budget={"calls": 2})
        async with open_session(team, db=db) as session:
            decisions = await asyncio.gather(*(session.ask(f"What is {number} * 7?") for number in range(5)))
        assert [decision.usage.total.calls for decision in decisions] == [2] * 5
        assert {decision.status for decision in decisions} == {"ok"}


class TestUsage:
    async def test_f15_it_equals_the_server_s_own_counts_for_each_agent(self, server, make_team, db):
        agents = {
            "x": {"model": "a", "samples": 3, "strategies": ["direct", "self_check"]},
            "y": {"model": "b", "samples": 2, "strategies": ["plan_then_solve"]},
        }
        decision = await aask(TASK, team=make_team(agents), db=db)
        for role, model in {"x": "a", "y": "b"}.items():
            assert spent(decision.usage.agents[role]) == seen(server, model)
        assert spent(decision.usage.principal) == seen(server, "judge")
        assert spent(decision.usage.total) == seen(server)
        assert decision.usage.total.estimated_calls == 0

    @pytest.mark.parametrize("mode", ["values", "updates", "messages", "custom", "debug", "tasks"])
    async def test_f14_it_is_whole_in_every_stream_mode(self, server, make_team, db, mode):
        graph = build_delegation(make_team({"x": {"model": "a", "samples": 2}, "y": "b"}), db=db)
        last = {}
        async for kind, part in graph.astream({"messages": [HumanMessage(TASK)]}, stream_mode=[mode, "values"]):
            last = part if kind == "values" else last
        usage = last["decision"]["usage"]
        assert usage["agents"]["x"]["calls"] == 2
        total = usage["total"]
        assert (total["calls"], total["prompt_tokens"], total["completion_tokens"]) == seen(server)
        assert total["estimated_calls"] == 0

    async def test_f15_agents_that_share_one_model_object_count_their_own_calls(self, server, make_team, db):
        team = make_team({"x": "a", "y": "a", "z": "a"})
        shared = await open_model(team.agents[0].model)
        samples = {"x": 1, "y": 2, "z": 3}
        agents = tuple(one.model_copy(update={"model": shared, "samples": samples[one.name]}) for one in team.agents)
        decision = await aask(TASK, team=team.model_copy(update={"agents": agents}), db=db)
        assert {name: usage.calls for name, usage in decision.usage.agents.items()} == samples
        assert spent(decision.usage.total) == seen(server)

    async def test_cached_tokens_are_kept_and_cost_what_they_cost(self, server, make_team, db, monkeypatch):
        def with_cached(body):
            return {**body, "usage": {**body["usage"], "prompt_tokens_details": {"cached_tokens": 8}}}

        monkeypatch.setattr(faulty_server, "_SOUND", Fault(alter=with_cached))
        price = {"prompt": 1e6, "completion": 0, "cached": 0}
        team = make_team({"x": {"model": "a", "samples": 2, "price": price}})
        usage = (await aask(TASK, team=team, db=db)).usage.agents["x"]
        assert usage.cached_tokens == 16
        assert usage.cost == usage.prompt_tokens - 16 > 0

    @pytest.mark.parametrize("fault", ["usage-absent", "usage-negative", "usage-absurd"])
    async def test_f14_what_a_server_does_not_count_is_estimated_and_marked_so(self, make_team, db, fault):
        usage = (await aask(TASK, team=make_team({"x": f"fault-{fault}"}), db=db)).usage.agents["x"]
        assert (usage.calls, usage.estimated_calls) == (1, 1)
        assert usage.prompt_tokens > usage.completion_tokens > 0

    async def test_an_unknown_price_is_null_and_the_known_ones_are_not_its_sum(self, make_team, db):
        price = {"prompt": 1, "completion": 1}
        decision = await aask(TASK, team=make_team({"x": {"model": "a", "price": price}, "y": "b"}), db=db)
        assert decision.usage.agents["x"].cost > 0
        assert decision.usage.agents["y"].cost is None
        assert decision.usage.total.cost is None


def seen(server, model=None):
    calls = server.log.calls_of(model)
    return len(calls), sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls)


def spent(usage):
    return usage.calls, usage.prompt_tokens, usage.completion_tokens


class TestFallbacks:
    async def test_the_next_model_is_asked_and_the_detour_is_told(self, server, make_team, db):
        agents = {"x": {"model": "fault-401", "fallback": ["fault-500", "a"], "samples": 2}, "y": "b"}
        decision = await aask(TASK, team=make_team(agents, retry={**NO_WAIT, "attempts": 2}), db=db)
        assert decision.candidates[0].answer == "42"
        assert decision.candidates[0].model == "openai:a"
        assert decision.status == "degraded"
        [first, _] = [problem for problem in decision.problems if problem.startswith("x.")]
        assert first.startswith("x.0: asked openai:a instead, since openai:fault-401: OpenAIAuthenticationError: ")
        assert "; openai:fault-500: OpenAIAPIError" in first
        assert decision.usage.agents["x"].calls == calls_of(server, "fault-401", "fault-500", "a") == 2 + 4 + 2

    async def test_a_sound_model_s_fallback_is_not_asked(self, server, make_team, db):
        decision = await aask(TASK, team=make_team({"x": {"model": "a", "fallback": ["b"]}}), db=db)
        assert (decision.status, calls_of(server, "b")) == ("ok", 0)

    async def test_all_fail_is_an_error_with_the_cause_of_each(self, make_team, db):
        agents = {"x": {"model": "fault-401", "fallback": ["fault-404"]}}
        with pytest.raises(DelegationFailedError) as caught:
            await aask(TASK, team=make_team(agents), db=db)
        assert "404" in caught.value.causes[0]
        assert any("401" in problem for problem in caught.value.decision["problems"])

    async def test_no_budget_is_no_reason_for_another_model(self, server, make_team, db):
        agents = {"x": {"model": "a", "fallback": ["b"], "samples": 3}}
        decision = await aask(TASK, team=make_team(agents, budget={"calls": 1}), db=db)
        assert calls_of(server, "b") == 0
        assert [one.failure for one in decision.candidates].count("not_asked") == 2


class TestCircuits:
    async def test_a_model_that_failed_is_not_asked_by_the_next_run_either(self, server, make_team, db):
        team = make_team({"x": "a", "bad": {"model": "fault-401", "samples": 2}}, circuit={"failures": 2})
        first, second = [await aask(task, team=team, db=db) for task in (TASK, "What is 7 * 7?")]
        assert calls_of(server, "fault-401") == 2
        assert failures(first) == [None, "call_failed", "call_failed"]
        assert failures(second) == [None, "not_asked", "not_asked"]
        assert second.usage.agents["bad"].calls == 0
        assert second.status == "degraded"
        assert re.match(
            r"bad\.0: not asked, since it failed 2 times in a row; the last cause: OpenAIAuth", second.problems[0]
        )

    async def test_of_thirty_samples_in_a_queue_only_those_that_open_it_are_asked(self, server, make_team, db):
        model = {"name": "fault-401", "max_concurrency": 1}
        team = make_team({"x": "a", "bad": {"model": model, "samples": 30}}, circuit={"failures": 3})
        decision = await aask(TASK, team=team, db=db)
        assert calls_of(server, "fault-401") == 3
        assert failures(decision).count("not_asked") == 27

    async def test_another_process_does_not_ask_it_either(self, server, make_team, db, tmp_path):
        team = make_team({"x": "a", "bad": {"model": "fault-401", "samples": 2}}, circuit={"failures": 2})
        await aask(TASK, team=team, db=db)
        agent = (
            '[[agents]]\nname = "{}"\nmodel = {{ provider = "openai", name = "{}", base_url = "{}" }}\nsamples = 1\n'
        )
        table = agent.format("x", "a", server.base_url) + agent.format("bad", "fault-401", server.base_url)
        principal = f'[principal]\nmodel = {{ provider = "openai", name = "judge", base_url = "{server.base_url}" }}\n'
        (tmp_path / "team.toml").write_text(table + principal)
        command = [
            Path(sys.executable).with_name("aligngraph"),
            "ask",
            TASK,
            "--json",
            "--db",
            db,
            "--team",
            "team.toml",
        ]
        run = await asyncio.to_thread(subprocess.run, command, capture_output=True, cwd=tmp_path, text=True)
        assert run.returncode == 0, run.stderr
        assert [one["failure"] for one in json.loads(run.stdout)["candidates"]] == [None, "not_asked"]
        assert calls_of(server, "fault-401") == 2

    async def test_after_its_rest_one_call_tries_it_and_closes_it(self, server, make_team, db):
        server._faults["moody"] = "503"
        team = make_team({"x": "a", "bad": "moody"}, circuit={"failures": 1, "rest_s": 0.001}, retry={"attempts": 1})
        async with open_session(team, db=db) as session:
            await session.ask(TASK)
            [circuit] = (await session.store.calls.read_circuits()).values()
            assert (circuit["failures"], circuit["rest_s"]) == (1, 0.001)
            del server._faults["moody"]
            assert failures(await session.ask("What is 2 * 7?")) == [None, None]
            [circuit] = (await session.store.calls.read_circuits()).values()
            assert (circuit["failures"], circuit["opened_at"]) == (0, None)

    async def test_a_wrong_request_opens_nothing(self, server, make_team, db):
        team = make_team({"x": "a", "bad": {"model": "fault-400", "samples": 4}}, circuit={"failures": 2})
        async with open_session(team, db=db) as session:
            await session.ask(TASK)
            assert await session.store.calls.read_circuits() == {}
        assert calls_of(server, "fault-400") == 4

    async def test_a_paid_reply_is_not_lost_where_the_circuit_cannot_be_written(self, server, make_team, db):
        server._faults["moody"] = "503"
        team = make_team({"x": "a", "moody": "moody"}, retry={"attempts": 1})
        await aask(TASK, team=team, db=db)
        with closing(sqlite3.connect(f"{db}/policy.sqlite")) as connection, connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE UPDATE ON circuits BEGIN SELECT RAISE(ABORT, 'disk full'); END"
            )
        del server._faults["moody"]
        decision = await aask("What is 2 * 7?", team=team, db=db)
        assert (decision.status, failures(decision)) == ("ok", [None, None])


class TestCache:
    async def test_the_same_task_again_makes_no_call_of_an_agent(self, server, make_team, db):
        team = make_team({"x": {"model": "a", "samples": 2}, "y": "b"}, cache={"responses": True})
        first, second = [await aask(TASK, team=team, db=db) for _ in range(2)]
        assert calls_of(server, "a", "b") == 3
        assert [one.text for one in first.candidates] == [one.text for one in second.candidates]
        assert second.usage.agents["x"].calls == 0
        assert second.usage.agents["x"].cost == 0.0

    async def test_without_it_everything_is_asked_again(self, server, make_team, db):
        team = make_team({"x": "a"})
        for _ in range(2):
            await aask(TASK, team=team, db=db)
        assert calls_of(server, "a") == 2

    async def test_f38_thirty_samples_stay_thirty_different_ones(self, server, make_team, db):
        team = make_team({"x": {"model": "draws", "samples": 30}}, cache={"responses": True})
        first, second = [await aask(TASK, team=team, db=db) for _ in range(2)]
        assert calls_of(server, "draws") == 30
        assert len({one.text for one in first.candidates}) == 30
        assert [one.text for one in first.candidates] == [one.text for one in second.candidates]

    @pytest.mark.parametrize(
        ("change", "calls"),
        [
            ({}, 0),
            ({"temperature": 0.1}, 2),
            ({"name": "other"}, 2),
            ({"samples": 3}, 1),
            ({"strategies": ["direct"]}, 2),
            ({"model": {"name": "draws", "max_tokens": 30}}, 2),
            ({"model": "a"}, 2),
            ({"timeout_s": 7}, 0),
        ],
    )
    async def test_what_a_reply_depends_on_is_in_the_key(self, server, make_team, db, change, calls):
        cached = {"cache": {"responses": True}}
        agent = {"model": "draws", "samples": 2, "temperature": 0.7}
        await aask(TASK, team=make_team({"x": agent}, **cached), db=db)
        before = calls_of(server, "draws", "a")
        await aask(TASK, team=make_team({change.get("name", "x"): {**agent, **change}}, **cached), db=db)
        assert calls_of(server, "draws", "a") - before == calls

    async def test_another_prompt_or_seed_is_another_key(self, server, make_team, db):
        team = make_team({"x": "a"}, cache={"responses": True})
        for task, seed in [(TASK, 0), (TASK, 0), ("What is 6 * 8?", 0), (TASK, 1)]:
            await aask(task, team=team, db=db, options={"seed": seed})
        assert calls_of(server, "a") == 3

    async def test_an_open_model_s_own_settings_are_in_the_key(self, server, make_team, db):
        team = make_team({"x": "a"}, cache={"responses": True})
        for temperature in (0.0, 1.0, 1.0):
            model = await open_model(team.agents[0].model, temperature=temperature)
            agent = team.agents[0].model_copy(update={"model": model})
            await aask(TASK, team=team.model_copy(update={"agents": (agent,)}), db=db)
        assert calls_of(server, "a") == 2

    async def test_a_picture_beside_the_same_words_is_in_the_key(self, server, make_team, db):
        team = make_team({"x": "a"}, cache={"responses": True})
        for name in ("cat", "dog", "dog"):
            url = f"http://127.0.0.1/{name}.png"
            content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
            await aask([HumanMessage(content)], team=team, db=db)
        assert calls_of(server, "a") == 2

    async def test_a_failure_is_not_kept(self, server, make_team, db):
        server._faults["moody"] = "500"
        team = make_team({"x": "a", "y": "moody"}, cache={"responses": True}, retry={"attempts": 1})
        await aask(TASK, team=team, db=db)
        del server._faults["moody"]
        assert failures(await aask(TASK, team=team, db=db)) == [None, None]


class TestLimits:
    async def test_no_more_calls_at_once_than_the_model_allows_over_all_roles_and_tasks(self, make_team, db):
        with FaultyServer(says(42), replies={"judge": ranks_as_shown}, faults={"slow": "slow"}, slow_s=0.05) as slow:
            model = {"name": "slow", "max_concurrency": 3, "base_url": slow.base_url}
            team = make_team({"x": {"model": model, "samples": 6}, "y": {"model": model, "samples": 6}})
            async with open_session(team, db=db) as session:
                await asyncio.gather(*(session.ask(f"What is {number} * 7?") for number in range(2)))
            assert len(slow.log.calls) == 24
            assert most_at_once(slow.log.calls) == 3

    @pytest.mark.parametrize("door", ["aask", "chat model"])
    async def test_limits_hold_over_all_that_ask_at_once_in_a_process(self, make_team, db, door):
        """Each opens a session of its own: a server's requests, a batch of a chain."""
        with FaultyServer(says(42), replies={"judge": ranks_as_shown}, faults={"slow": "slow"}, slow_s=0.05) as slow:
            model = {"name": "slow", "max_concurrency": 2, "requests_per_minute": 2400, "base_url": slow.base_url}
            team = make_team({"x": {"model": model, "samples": 2}})
            tasks = [f"What is {number} * 7?" for number in range(5)]
            if door == "aask":
                await asyncio.gather(*(aask(task, team=team, db=db) for task in tasks))
            else:
                await asyncio.to_thread(AlignChatModel(team=team, db=db).batch, tasks)
            calls = slow.log.calls_of("slow")
        starts = sorted(call.started_s for call in calls)
        assert (len(calls), most_at_once(calls)) == (10, 2)
        assert starts[-1] - starts[0] >= 9 * 0.025 - 0.02

    async def test_calls_begin_no_faster_than_the_rate(self, server, make_team, db):
        model = {"name": "a", "requests_per_minute": 1200}
        decision = await aask(TASK, team=make_team({"x": {"model": model, "samples": 10}}), db=db)
        starts = sorted(call.started_s for call in server.log.calls)
        assert (decision.status, len(starts)) == ("ok", 10)
        assert starts[-1] - starts[0] >= 9 * 0.05 - 0.04

    async def test_samples_of_a_model_that_draws_nothing_are_one_opinion(self, server, make_team, db):
        agents = {"x": {"model": "b", "samples": 5, "temperature": 0}, "y": {"model": "a", "samples": 2}}
        decision = await aask(TASK, team=make_team(agents), db=db)
        assert {answer.answer: answer.votes for answer in decision.answers} == {"41": 1, "42": 2}
        assert [one.duplicate_of for one in decision.candidates] == [None, "x.0", "x.0", "x.0", "x.0", None, None]

    async def test_f1_f31_a_hang_of_thirty_seconds_costs_its_own_time_limit(self, server, make_team, db):
        team = make_team({"x": "a", "y": "a", "slow": {"model": "fault-hang", "timeout_s": 0.5}})
        begun = time.monotonic()
        decision = await aask(TASK, team=team, db=db)
        assert 0.5 <= time.monotonic() - begun < 3
        assert (decision.status, decision.answer) == ("degraded", "42")
        assert decision.problems == ["slow.0: no reply within 0.5 s"]
        assert calls_of(server, "fault-hang") == 1
        assert "slow/step_by_step" not in {arm for answer in decision.answers for arm in answer.policy}
        assert decision.weights.after["slow/step_by_step"] == decision.weights.before["slow/step_by_step"]

    async def test_f1_all_calls_of_an_agent_together_have_a_limit_too(self, make_team, db):
        slow = {"model": {"name": "fault-hang", "max_concurrency": 1}, "samples": 3, "timeout_s": 30}
        team = make_team({"x": "a", "slow": {**slow, "total_timeout_s": 0.5}})
        begun = time.monotonic()
        decision = await aask(TASK, team=team, db=db)
        assert time.monotonic() - begun < 3
        assert failures(decision) == [None] + ["call_failed"] * 3

    async def test_f13_many_agents_end_in_one_superstep(self, make_team, db):
        """F13: branches that write one key at the same time."""
        agents = {f"x{number}": {"model": "draws", "samples": 2} for number in range(10)}
        decision = await aask(TASK, team=make_team(agents, budget={"calls": 15}), db=db)
        assert len(decision.candidates) == 20
        assert len({one.id for one in decision.candidates}) == 20
        assert decision.usage.total.calls == 15

    async def test_f4_f51_one_model_that_breaks_leaves_the_others_alone(self, make_team, db):
        agents = {"x": {"model": "a", "samples": 3}, "broken": "fault-cut-inside", "y": "a"}
        decision = await aask(TASK, team=make_team(agents, retry={"attempts": 1}), db=db)
        assert failures(decision) == [None, None, None, "call_failed", None]
        assert decision.problems[0].startswith("broken.0: OpenAIConnectionError: Connection error.")
