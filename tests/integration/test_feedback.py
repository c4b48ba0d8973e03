"""Feedback on runs of the whole graph: from Python, from a session, by the command, at once, and what comes of it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from typer.testing import CliRunner

from aligngraph import (
    DelegationContext,
    DelegationFailedError,
    Team,
    aask,
    afeedback,
    ask,
    build_delegation,
    feedback,
    open_session,
)
from aligngraph.cli.app import app
from aligngraph.errors import UsageError
from aligngraph.persistence import Location, PolicyStore
from aligngraph.policy import LEARNERS

COMMAND = Path(sys.executable).with_name("aligngraph")
TASK = "What is 6 * 7?"
SEVEN = {"seed": 7}
MAJORITY, LONE = "loud/step_by_step", "lone/step_by_step"


@pytest.fixture
def team(scripted_team):
    return scripted_team({"loud": ["1,000", "1000"], "lone": ["42"]}, order=["1,000", "42"])


@pytest.fixture
def said(db):
    """Return a function that runs `aligngraph feedback` and returns the status and what was printed."""

    def call(*arguments):
        return CliRunner().invoke(app, ["feedback", *arguments, "--db", db])

    return call


async def read_store(db):
    """Return the sums by arm, totals and counts, and the log as (kind, round)."""
    async with await PolicyStore.open(Location.parse(db)) as store:
        sums = (await store.read_sums("general")).here
        log = [(update.kind, update.round) async for update in store.log.read("general")]
    return {key.arm: (one.total, one.count) for key, one in sums.items()}, log


async def test_correct_pays_those_who_gave_the_answer_and_nobody_else(team, db):
    await aask(TASK, team=team, db=db, run_id="r1")
    given = await afeedback("r1", correct=True, db=db)
    sums, log = await read_store(db)
    assert (sums[MAJORITY], sums[LONE], sums["principal"]) == ((1, 1), (0, 1), (1, 1))
    assert (log, given.changed, given.right) == ([("task", 1), ("feedback", 2)], True, (True, False))
    assert given.after[MAJORITY] > given.before[MAJORITY]


async def test_wrong_pays_the_others_a_share(team, db):
    await aask(TASK, team=team, db=db, run_id="r1")
    given = await afeedback("r1", correct=False, db=db)
    sums, _ = await read_store(db)
    assert (sums[MAJORITY], sums["principal"]) == ((0, 1), (0, 1))
    assert 0.5 < sums[LONE][0] < 1
    assert (given.said.verdict, given.right) == ("wrong", None)


@pytest.mark.parametrize("spelling", ["1000", "1,000", "1000.0", "1e3", " $1,000 "])
async def test_the_right_answer_is_read_as_the_agents_are(team, db, spelling):
    await aask(TASK, team=team, db=db, run_id="r1")
    given = await afeedback("r1", answer=spelling, db=db)
    assert given.right == (True, False)
    assert (await read_store(db))[0][MAJORITY] == (1, 1)


async def test_the_last_word_counts_and_all_are_kept(team, db):
    async with open_session(team, db=db) as session:
        await session.ask(TASK, run_id="r1")
        await session.feedback("r1", correct=True)
        second = await session.feedback("r1", answer="42")
        again = await session.feedback("r1", answer="42")
    sums, log = await read_store(db)
    assert (sums[MAJORITY], sums[LONE]) == (pytest.approx((0, 1)), pytest.approx((1, 1)))
    assert log == [("task", 1), ("feedback", 2), ("feedback", 3)]
    assert (second.changed, again.changed) == (True, False)


def test_code_that_is_not_async_may_give_it_too(team, db):
    ask(TASK, team=team, db=db, run_id="r1")
    assert feedback("r1", correct=False, db=db).after[MAJORITY] < feedback("r1", correct=True, db=db).after[MAJORITY]


async def test_a_run_that_is_not_there_teaches_nothing(team, db):
    await aask(TASK, team=team, db=db, run_id="r1")
    before = await read_store(db)
    with pytest.raises(UsageError, match="no run 'r2'"):
        await afeedback("r2", correct=True, db=db)
    assert await read_store(db) == before


async def test_a_run_under_way_has_to_end_first(scripted_team, db):
    rows = [{"agent": "slow", "text": "Answer: 41", "latency_s": 60}]
    team = scripted_team({"quick": ["42"], "slow": []}, rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    arrived = asyncio.Event()
    async with open_session(team, db=db) as session:
        run = asyncio.create_task(
            session.ask(TASK, run_id="r1", on_event=lambda event: event["event"] == "candidate" and arrived.set())
        )
        await arrived.wait()
        with pytest.raises(UsageError, match="'r1' cannot be given feedback: it has not ended"):
            await session.feedback("r1", correct=True)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        with pytest.raises(UsageError, match="it has not ended"):
            await session.feedback("r1", answer="42")
    assert await read_store(db) == ({}, [])


async def test_a_frozen_run_stays_without_consequence(team, db):
    await aask(TASK, team=team, db=db, run_id="r1", context=DelegationContext(learning="frozen"))
    for words in ({"correct": True}, {"correct": False}, {"answer": "42"}):
        assert not (await afeedback("r1", db=db, **words)).changed
    assert await read_store(db) == ({}, [])


async def test_a_failed_run_can_be_told_the_right_answer_and_no_agent_pays_for_it(scripted_team, db):
    rows = [{"agent": "a", "error": "HTTP 500"}, {"agent": "b", "text": "I do not know."}]
    team = scripted_team({"a": [], "b": []}, rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    with pytest.raises(DelegationFailedError):
        await aask(TASK, team=team, db=db, run_id="r1")
    with pytest.raises(UsageError, match="the run gave no answer"):
        await afeedback("r1", correct=False, db=db)
    given = await afeedback("r1", answer="42", db=db)
    assert (given.changed, given.right) == (False, ())
    assert (await read_store(db))[0]["a/step_by_step"] == (0, 0)


async def test_feedback_after_a_reset_teaches_what_it_says_and_no_more(team, db):
    async with open_session(team, db=db) as session:
        await session.ask(TASK, run_id="r1")
        await session.store.log.reset("general")
        await session.feedback("r1", correct=True)
    sums, log = await read_store(db)
    assert (sums[MAJORITY], sums[LONE]) == ((1, 1), (0, 1))
    assert [kind for kind, _ in log] == ["task", "reset", "feedback"]


def test_two_processes_that_say_it_at_once_teach_it_once(team, db):
    ask(TASK, team=team, db=db, run_id="r1")
    command = [COMMAND, "feedback", "r1", "--answer", "42", "--db", db, "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]
    printed = [process.communicate(timeout=60)[0] for process in both]
    assert sorted(json.loads(text)["changed"] for text in printed) == [False, True]
    sums, log = asyncio.run(read_store(db))
    assert log == [("task", 1), ("feedback", 2)]
    assert (sums[MAJORITY], sums[LONE]) == (pytest.approx((0, 1)), pytest.approx((1, 1)))


async def test_two_that_disagree_at_once_leave_what_the_last_one_said(team, db):
    async with open_session(team, db=db) as session:
        await session.ask(TASK, run_id="r1")
        await asyncio.gather(*(session.feedback("r1", correct=correct) for correct in (True, False) * 4))
        updates = [update async for update in session.store.log.read("general")]
    sums, _ = await read_store(db)
    last = updates[-1].result["feedback"]["verdict"]
    assert sums[MAJORITY] == pytest.approx((float(last == "correct"), 1))


class TestTheCommand:
    def test_says_in_words_what_changed(self, team, db, said):
        ask(TASK, team=team, db=db, run_id="r1", domain="sums")
        first, *weights = said("r1", "--wrong").stdout.splitlines()
        assert first == "run r1: wrong; learned in domain sums"
        assert [line.split(":")[0].strip() for line in weights] == [MAJORITY, LONE]
        assert said("r1", "--wrong").stdout.startswith("run r1: wrong; nothing new to learn from it\n")
        named = said("r1", "--answer", "1,000").stdout
        assert named.startswith("run r1: the right answer is 1,000; learned in domain sums\n")

    def test_prints_one_json_object(self, team, db, said):
        ask(TASK, team=team, db=db, run_id="r1")
        printed = json.loads(said("r1", "--correct", "--json").stdout)
        assert printed.pop("after")[MAJORITY] > printed.pop("before")[MAJORITY]
        assert printed == {
            "run_id": "r1",
            "domain": "general",
            "said": {"verdict": "correct", "answer": None},
            "changed": True,
            "right": [True, False],
        }

    @pytest.mark.parametrize("words", [[], ["--correct", "--answer", "42"]])
    def test_wants_exactly_one_thing_to_be_said(self, team, db, said, words):
        ask(TASK, team=team, db=db, run_id="r1")
        outcome = said("r1", *words)
        assert isinstance(outcome.exception, UsageError)
        assert "feedback is one of" in str(outcome.exception)

    def test_ends_with_one_line_and_the_status_of_a_usage_error(self, db):
        done = subprocess.run(
            [COMMAND, "feedback", "r9", "--wrong", "--db", db], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "aligngraph: no run 'r9' in this database: name the one that it was asked with\n"

    def test_shows_hostile_names_and_answers_harmlessly(self, team, db, said):
        ask(TASK, team=team, db=db, run_id="r1")
        assert "\x1b" not in said("r1", "--answer", "\x1b[31m[bold]42").stdout


async def test_who_turns_out_wrong_again_and_again_loses_the_decision(team, db):
    weights, answers = [], []
    async with open_session(team, db=db) as session:
        for number in range(5):
            decision = await session.ask(f"task {number}", run_id=f"r{number}", options=SEVEN)
            answers.append(decision.answer)
            weights.append(decision.weights.before[MAJORITY])
            await session.feedback(f"r{number}", answer="42")
    assert (answers[0], answers[-1]) == ("1,000", "42"), "against two samples and the principal"
    assert answers == sorted(answers), "it never goes back"
    assert weights == sorted(weights, reverse=True)
    assert decision.weights.before[LONE] > decision.weights.before[MAJORITY]


async def test_once_there_was_feedback_all_learners_decide(team, tmp_path):
    """The same two tasks, with and without feedback on the first."""
    posteriors, shares = [], []
    for words in ({}, {"answer": "42"}):
        async with open_session(team, db=str(tmp_path / str(len(posteriors)))) as session:
            await session.ask("task 1", run_id="r1", options=SEVEN)
            if words:
                await session.feedback("r1", **words)
            decision = await session.ask("task 2", options=SEVEN)
        posteriors.append([answer.posterior for answer in decision.answers])
        shares.append(decision.learners)
    assert shares[0] == {name: float(name == "competence") for name in LEARNERS}
    assert sum(shares[1].values()) == pytest.approx(1)
    assert min(shares[1].values()) > 0
    assert posteriors[1][1] > posteriors[0][1]


async def test_f6_a_graph_that_is_replayed_learns_nothing_twice_and_leaves_feedback_alone(scripted_team, db):
    team = Team.load(scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]))
    graph = build_delegation(team, db=db, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    first = await graph.ainvoke({"messages": [("user", TASK)]}, thread)
    await afeedback(first["run"]["run_id"], answer="41", db=db)
    before = await read_store(db)
    (before_update,) = [part async for part in graph.aget_state_history(thread) if part.next == ("policy_update",)]
    again = await graph.ainvoke(None, before_update.config)
    assert again["weights"] == first["weights"], "those that were stored first"
    assert await read_store(db) == before
    assert before[0]["b/step_by_step"] == pytest.approx((1, 1))
    assert not (await afeedback(first["run"]["run_id"], answer="41", db=db)).changed


async def test_f31_a_slow_agent_is_no_wrong_one_even_where_feedback_comes(scripted_team, db):
    rows = [{"agent": "slow", "text": "Answer: 42", "latency_s": 60}]
    team = scripted_team({"a": ["42"], "b": ["41"], "slow": []}, order=["42", "41"], rows=rows)
    text = team.read_text().replace("samples = 0", "samples = 2\ntimeout_s = 0.05")
    team.write_text(text)
    async with open_session(team, db=db) as session:
        decision = await session.ask(TASK, run_id="r1")
        given = await session.feedback("r1", correct=True)
        (summary,) = await session.store.summary()
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert [candidate.failure for candidate in decision.candidates if candidate.agent == "slow"] == ["call_failed"] * 2
    assert decision.weights.after["slow/step_by_step"] == decision.weights.before["slow/step_by_step"]
    assert given.after["slow/step_by_step"] == given.before["slow/step_by_step"]
    (slow,) = [sums for key, sums in summary.arms.items() if key.arm == "slow/step_by_step"]
    assert (slow.total, slow.count, slow.failures, slow.gradient) == (0, 0, 2, 0)


async def test_what_was_undone_may_be_said_again(team, db):
    async with open_session(team, db=db) as session:
        await session.ask(TASK, run_id="r1", options=SEVEN)
        assert (await session.feedback("r1", correct=False)).changed
        taught = (await session.store.read_sums("general")).here
        await session.store.log.rollback("r1")
        assert (await session.feedback("r1", correct=False)).changed
        assert not (await session.feedback("r1", correct=False)).changed
        again = (await session.store.read_sums("general")).here
    for key, sums in taught.items():
        assert (again[key].total, again[key].count) == pytest.approx((sums.total, sums.count))


async def test_a_mistyped_place_gets_no_database(tmp_path):
    with pytest.raises(UsageError, match="no run 'r1'"):
        await afeedback("r1", correct=True, db=str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
