"""What several samples of one agent share: their time, their round, and the store that fails them."""

import asyncio
import time

import pytest

from aligngraph import Team, open_session
from aligngraph.calling.circuit import Circuit
from aligngraph.errors import DelegationFailedError, StoreError
from aligngraph.persistence import PolicyStore

TASK = "How many?"


async def ask(team, db, **arguments):
    async with open_session(team, db=db) as session:
        return await session.ask(TASK, **{"options": {"seed": 7}, **arguments})


async def test_the_seconds_of_an_agent_are_those_of_all_its_waves(scripted_team, db):
    limit = "total_timeout_s = 0.5\n"
    answers = {name: [f"{name}{number}" for number in range(4)] for name in "ab"}
    team = scripted_team(
        answers,
        order=[],
        latency_s=0.3,
        sections='[budget]\nstop = "settled"\n[answers]\nkind = "text"\n',
        agent_keys=dict.fromkeys(answers, limit),
    )
    decision = await ask(team, db)
    late = [candidate for candidate in decision.candidates if "together" in (candidate.error or "")]
    assert len(late) >= 4  # of four waves of 0.3 s the last two at least
    assert {candidate.failure for candidate in late} == {"call_failed"}


async def test_the_seconds_of_a_run_do_not_count_while_it_stands_still(scripted_team, db):
    team = Team.load(scripted_team({"a": ["42"], "b": ["42"]}, latency_s=0.2, sections="[budget]\nseconds = 60\n"))
    begun = asyncio.Event()
    async with open_session(team, db=db) as session:
        asking = asyncio.create_task(
            session.ask(TASK, options={"seed": 7}, run_id="mine", on_event=lambda _event: begun.set())
        )
        await begun.wait()
        assert session.resources.has_ledger("mine")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert not session.resources.has_ledger("mine")
        decision = await session.ask(TASK, options={"seed": 7}, run_id="mine")
    assert (decision.status, decision.answer) == ("ok", "42")


async def test_an_opinion_that_was_held_in_an_earlier_round_is_no_duplicate(scripted_team, db):
    rows = [
        {"agent": "a", "sample": 2, "text": "a thinks.\nAnswer: 1"},  # as its arm said in round 1
        {"agent": "a", "sample": 3, "text": "I am sure.\nAnswer: 1"},
    ]
    team = scripted_team(
        {"a": ["1", "1"], "b": ["2"] * 3},
        order=["2", "1"],
        rows=rows,
        agent_keys={"a": 'temperature = 0\nstrategies = ["direct", "step_by_step"]\n'},
        sections="[game]\nmax_rounds = 2\n",
    )
    decision = await ask(team, db)
    again = [candidate for candidate in decision.candidates if candidate.round == 2 and candidate.agent == "a"]
    assert [candidate.duplicate_of for candidate in again] == [None, None]


async def test_every_model_that_failed_is_named_when_nobody_answers(scripted_team, db):
    spare = '\nfallback = ["scripted:spare.jsonl"]\n'
    team = scripted_team({"a": []}, rows=[{"agent": "a", "error": "own model is gone"}], agent_keys={"a": spare})
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    (team.parent / "spare.jsonl").write_text('{"agent": "a", "error": "spare model is gone"}\n')
    with pytest.raises(DelegationFailedError) as caught:
        await ask(team, db)
    (cause,) = caught.value.causes
    assert "own model is gone" in cause
    assert "spare model is gone" in cause


async def test_f4_a_store_that_fails_ends_all_samples_of_the_agent_with_its_own_error(scripted_team, db, monkeypatch):
    team = scripted_team({"a": ["42"] * 3}, latency_s=0.05)
    ended = asyncio.Event()

    async def refuse(_store, _run_id, _candidate):
        ended.set()
        raise StoreError("the disk is full")

    monkeypatch.setattr(PolicyStore, "record_candidate", refuse)
    with pytest.raises(StoreError, match="the disk is full"):
        await ask(team, db)
    assert ended.is_set()


def test_a_run_may_go_on_with_a_larger_budget_and_other_retries(scripted_team):
    plain = Team.load(scripted_team({"a": ["42"]})).describe()
    limits = "[budget]\ncalls = 3\ntokens = 10\nseconds = 5\n[retry]\nattempts = 1\n[cache]\nresponses = true\n"
    assert Team.load(scripted_team({"a": ["42"]}, sections=limits)).describe() == plain
    waves = Team.load(scripted_team({"a": ["42"]}, sections='[budget]\nstop = "settled"\n')).describe()
    assert waves != plain


async def test_a_principal_that_rests_is_not_asked_by_the_process_that_takes_the_run_up(scripted_team, db, monkeypatch):
    team = Team.load(scripted_team({"a": ["42"], "b": ["41", "42"]}, order=["42", "41"]))
    resting = Circuit(failures=9, opened_at=time.time(), rest_s=3600.0, cause="it is down")
    record = PolicyStore.record_ranking

    async def stop(*_arguments):
        raise StoreError("the process ends here")

    async with open_session(team, db=db) as session:
        monkeypatch.setattr(PolicyStore, "record_ranking", stop)
        with pytest.raises(StoreError):
            await session.ask(TASK, options={"seed": 7}, run_id="mine")
        monkeypatch.setattr(PolicyStore, "record_ranking", record)
        await session.store.calls.change_circuit(team.principal.model.account, lambda _: resting.as_json())
    decision = await ask(team, db, run_id="mine")
    assert decision.ranking is None or not decision.ranking.order
    assert any("not asked" in problem for problem in decision.problems)
