"""The benchmark of resilience, made small: what must hold of every task, however many of its requests fail."""

import asyncio
import json

import pytest

from aligngraph.bench.faults import FAULTS
from aligngraph.bench.faulty_server import FaultyServer
from aligngraph.bench.faulty_team import JUDGE, RIGHT, SAMPLES, FaultyTeam, Sum, replies
from aligngraph.bench.requests_made import ENDS, tokens_of
from aligngraph.bench.resilience import HARMLESS, Ended, Resilience, Setting, Trial, run_trial
from aligngraph.cli.app import app
from aligngraph.session import open_session

TASKS = 12
PATIENT_S = 60.0  # nothing hangs here, so that nothing has to wait for this
SHORT_S = 3.0  # what hangs is waited for, what is only slow on a busy machine is not given up


@pytest.fixture(scope="module")
def sound():
    return asyncio.run(run_trial(Setting(TASKS, 0.0, 3, PATIENT_S)))


@pytest.fixture(scope="module")
def faulty():
    return asyncio.run(run_trial(Setting(TASKS, 0.5, 3, SHORT_S)))


@pytest.fixture(scope="module")
def broken():
    """Every request of this one meets a fault."""
    return asyncio.run(run_trial(Setting(TASKS, 1.0, 3, SHORT_S)))


@pytest.fixture(params=["sound", "faulty", "broken"])
def trial(request):
    return request.getfixturevalue(request.param)


def test_every_task_ends(trial):
    figures = trial.figures()
    assert figures["tasks"] == TASKS == sum(figures[ending] for ending in ("ok", "degraded", "failed"))
    assert figures["hung"] == 0


def test_a_task_has_an_answer_unless_it_failed_and_problems_unless_it_is_ok(trial):
    for task, one in zip(trial.tasks, trial.ended, strict=True):
        assert one.decision is not None, task
        assert (one.decision.answer is None) == (one.ending == "failed")
        assert (one.decision.problems == []) == (one.ending == "ok")
        assert one.decision.status == one.ending
        assert one.error == ("DelegationFailedError" if one.ending == "failed" else None)
        assert one.seconds > 0


def test_a_task_fails_only_where_no_agent_answered(trial):
    for one in trial.ended:
        answers = [candidate.answer for candidate in one.decision.candidates if candidate.answer is not None]
        assert bool(answers) == (one.ending != "failed")


def test_calls_and_tokens_are_counted_as_the_server_served_them(trial):
    figures = trial.figures()
    assert figures["calls_counted"] == figures["requests"] == len(trial.requests)
    assert figures["works_miscounted"] == 0
    assert figures["tokens_unread"] <= figures["tokens_wasted"] <= figures["tokens_served"]


def test_without_faults_nothing_is_lost_wasted_or_made_again(sound):
    figures = sound.figures()
    assert figures["ok"] == TASKS
    assert figures["tokens_counted"] == figures["tokens_served"] == sum(map(tokens_of, sound.requests)) > 0
    nothing = ("requests_repeated", "calls_estimated", "tokens_wasted", "tokens_unread", "circuits_opened")
    assert [figures[name] for name in nothing] == [0] * len(nothing)
    assert (sound.ends_by_fault, sound.errors) == ({}, {})


def test_rankings_really_happen_and_answers_are_mostly_right(sound):
    ranked = [one.decision for one in sound.ended if one.decision.ranking is not None]
    assert len(ranked) > TASKS / 2
    assert len(sound.requests) == TASKS * len(RIGHT) * SAMPLES + len(ranked)
    assert sound.figures()["right_answers"] > TASKS / 2
    assert sound.figures()["seconds_median"] <= sound.figures()["seconds_p95"]


def test_every_faulty_request_is_used_made_again_or_lost(faulty):
    ends = faulty.ends_by_fault
    met = [request.fault for request in faulty.requests if request.fault]
    assert {fault: counts.total() for fault, counts in ends.items()} == {fault: met.count(fault) for fault in set(met)}
    assert sum(counts["repeated"] for counts in ends.values()) == faulty.figures()["requests_repeated"] > 0
    assert set(ends) <= set(FAULTS) - HARMLESS


def test_a_refusal_is_not_made_again_and_a_passing_fault_is(faulty, broken):
    for ends in (faulty.ends_by_fault, broken.ends_by_fault):
        for fault in {"400", "401", "402", "403", "404", "413", "422", "429-quota", "501"} & set(ends):
            assert set(ends[fault]) == {"lost"}, fault
        for fault in {"usage-absent", "usage-absurd", "usage-negative"} & set(ends):
            assert set(ends[fault]) == {"used"}, fault
    passing = {"500", "502-html", "503", "503-seconds", "429", "429-seconds", "cut-before", "garbage-json"}
    assert any(faulty.ends_by_fault[fault]["repeated"] for fault in passing & set(faulty.ends_by_fault))


def test_about_half_of_all_requests_met_a_fault(faulty, broken):
    shares = [
        sum(bool(request.fault) for request in trial.requests) / len(trial.requests) for trial in (faulty, broken)
    ]
    assert shares == [pytest.approx(0.5, abs=0.15), 1.0]


def test_where_everything_fails_the_models_are_left_alone(broken):
    figures = broken.figures()
    assert figures["circuits_opened"] >= 1
    assert figures["degraded"] + figures["failed"] == TASKS
    left_alone = [
        candidate.error
        for one in broken.ended
        for candidate in one.decision.candidates
        if candidate.failure == "not_asked"
    ]
    assert left_alone
    assert all("times in a row" in error for error in left_alone)


async def test_a_task_that_does_not_end_is_reported_as_such(monkeypatch):
    monkeypatch.setattr(Setting, "task_limit_s", 0.01)
    trial = await run_trial(Setting(2, 0.0, 3, PATIENT_S))
    assert [one.ending for one in trial.ended] == ["hung", "hung"]
    assert trial.figures()["hung"] == 2
    assert trial.answers == [None, None]


async def test_a_reply_with_half_a_character_is_still_an_answer(tmp_path):
    """Its tokens could not be estimated, and so the call counted as failed."""
    task = Sum.draw(3, 0)
    with FaultyServer(replies=replies(3), faults=dict.fromkeys(RIGHT, "surrogate")) as server:
        team = FaultyTeam(server.base_url, PATIENT_S, 2.0).write(tmp_path)
        async with open_session(team, db=str(tmp_path)) as session:
            decision = await session.ask(task.text)
    assert (decision.status, decision.answer) == ("ok", "42")
    assert {candidate.text for candidate in decision.candidates} == {"It is \ufffd then.\nAnswer: 42"}


async def test_half_a_character_whose_tokens_nobody_counted_is_estimated(tmp_path, monkeypatch):
    body = dict(FAULTS)
    surrogate, absent = FAULTS["surrogate"].alter, FAULTS["usage-absent"].alter
    body["surrogate"] = type(FAULTS["surrogate"])(alter=lambda reply: absent(surrogate(reply)))
    monkeypatch.setattr("aligngraph.bench.faults.FAULTS", body)
    with FaultyServer(replies=replies(3), faults=dict.fromkeys(RIGHT, "surrogate")) as server:
        team = FaultyTeam(server.base_url, PATIENT_S, 2.0).write(tmp_path)
        async with open_session(team, db=str(tmp_path)) as session:
            decision = await session.ask(Sum.draw(3, 0).text)
    assert (decision.status, decision.answer) == ("ok", "42")
    assert decision.usage.total.estimated_calls == len(RIGHT) * SAMPLES
    assert decision.usage.total.completion_tokens > 0


async def test_a_judge_that_writes_half_a_character_is_asked_again(tmp_path):
    task = next(task for task in (Sum.draw(3, number) for number in range(TASKS)) if _is_disputed(task))
    with FaultyServer(replies=replies(3), faults={JUDGE: "surrogate"}) as server:
        team = FaultyTeam(server.base_url, PATIENT_S, 2.0).write(tmp_path)
        async with open_session(team, db=str(tmp_path)) as session:
            decision = await session.ask(task.text)
    assert [call["outcome"] for call in decision.ranking.calls] == ["unusable", "unusable"]
    assert decision.status == "degraded"
    assert decision.answer


def _is_disputed(task):
    messages = [{"role": "user", "content": task.text}]
    said = {replies(3)[name](messages, sample) for name in RIGHT for sample in range(SAMPLES)}
    return len(said) > 1


def test_answers_are_compared_task_by_task():
    tasks = (Sum(0, 1, 2), Sum(1, 1, 2))
    none = Trial(tasks, (Ended("failed"), Ended("hung")), (), 0)
    assert Resilience(Setting(2), none, none).same_answers == 0, "no answer is like no other"
    assert none.figures()["right_answers"] == 0


def test_the_command_prints_both_runs_and_writes_every_figure(tmp_path, capsys):
    path = tmp_path / "resilience.json"
    app(["bench", "resilience", "--tasks", "4", "--fault-rate", "0.5", "--output", str(path)], standalone_mode=False)
    written, printed = json.loads(path.read_text()), capsys.readouterr().out
    assert written["setting"] == {"tasks": 4, "fault_rate": 0.5, "seed": 0, "timeout_s": 3.0}
    assert {*written["sound"], "same_answers"} == set(written["faulty"])
    assert written["sound"]["requests_repeated"] == 0
    assert all(set(ends) <= set(ENDS) for ends in written["by_fault"].values())
    assert "50 % faults" in printed
    for name in written["sound"]:
        assert name.replace("_", " ") in printed
    for fault in written["by_fault"]:
        assert fault in printed
