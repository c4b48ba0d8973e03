"""A store that an earlier version wrote, with runs in it: brought up to date, everything in it is still read."""

import json

import pytest
from sqlalchemy import text

from aligngraph import Decision, Team, open_session
from aligngraph.persistence import Candidate, Increment, Location, PolicyStore, Response, Update
from aligngraph.persistence.database import Database
from aligngraph.persistence.schema import REVISIONS, VERSION_TABLE, read_revision, upgrade

OLD_USAGE = {"calls": 1, "prompt_tokens": 10, "completion_tokens": 5, "cost": None}
OLD_CANDIDATE = {
    "id": "a.0",
    "agent": "a",
    "strategy": "direct",
    "sample": 0,
    "round": 1,
    "answer": "42",
    "text": "So it is.\nAnswer: 42",
    "error": None,
    "usage": OLD_USAGE,
}
OLD_DECISION = {
    "run_id": "old",
    "status": "ok",
    "problems": [],
    "answer": "42",
    "text": "So it is.\nAnswer: 42",
    "domain": "maths",
    "kind": "number",
    "kind_guessed": True,
    "seed": 0,
    "candidates": [OLD_CANDIDATE],
    "answers": [{"answer": "42", "votes": 1, "posterior": 1.0, "policy": {"a/direct": 1.0}}],
    "ranking": None,
    "game": None,
    "alternatives": None,
    "weights": {"before": {"a/direct": 0.0}, "after": {"a/direct": 0.1}},
    "usage": {"agents": {"a": OLD_USAGE}, "principal": {**OLD_USAGE, "calls": 0}, "total": OLD_USAGE},
    "seconds": 0.5,
}
RUN = {
    "run_id": "old",
    "domain": "maths",
    "task": "What is 6 * 7?",
    "task_id": "t1",
    "seed": 0,
    "status": "ok",
    "started_at": "2026-01-01T00:00:00.000+00:00",
    "finished_at": "2026-01-01T00:00:01.000+00:00",
    "team": "{}",
    "team_digest": "d1",
    "decision": json.dumps(OLD_DECISION),
}
ROWS = (
    {"candidate_id": "a.0", "sample": 0, "position": 0, "answer": "42", "text": "So it is.\nAnswer: 42", "error": None},
    {"candidate_id": "a.1", "sample": 1, "position": 1, "answer": None, "text": "", "error": "TimeoutError: late"},
    {"candidate_id": "a.2", "sample": 2, "position": 2, "answer": None, "text": "I do not know.", "error": None},
)
_CANDIDATE_COLUMNS = "run_id, candidate_id, agent, strategy, sample, position, answer, text, error, usage"


def write_old_rows(connection):
    names = ", ".join(f":{name}" for name in RUN)
    connection.execute(text(f"INSERT INTO runs ({', '.join(RUN)}) VALUES ({names})"), RUN)  # noqa: S608 - ours
    values = ", ".join(f":{name}" for name in _CANDIDATE_COLUMNS.split(", "))
    statement = text(f"INSERT INTO candidates ({_CANDIDATE_COLUMNS}) VALUES ({values})")  # noqa: S608 - ours
    common = {"run_id": "old", "agent": "a", "strategy": "direct", "usage": json.dumps(OLD_USAGE)}
    connection.execute(statement, [{**common, **row} for row in ROWS])
    connection.execute(text("INSERT INTO rankings VALUES ('old', 1, '{\"order\": [0]}')"))
    connection.execute(text("INSERT INTO competence VALUES ('maths', 'a/direct', 'agent', 0.75, 1.0, 0)"))


@pytest.fixture
async def old_folder(tmp_path):
    """Return a folder whose store is of the first revision."""
    database = await Database.open(tmp_path / "policy.sqlite", VERSION_TABLE)
    await database.write(lambda connection: upgrade(connection, database.address, "policy_0001"))
    await database.write(write_old_rows)
    assert await database.read(read_revision) == "policy_0001"
    await database.close()
    return tmp_path


@pytest.fixture
async def store(old_folder):
    async with await PolicyStore.open(Location(old_folder)) as store:
        yield store


async def test_it_is_of_the_newest_revision(store):
    assert await store._database.read(read_revision) == REVISIONS[-1]


async def test_candidates_are_read_without_what_nobody_wrote_then(store):
    first, failed, silent = await store.read_candidates("old")
    assert first == Candidate("a.0", "a", "direct", 0, 0, "42", "So it is.\nAnswer: 42", usage=OLD_USAGE)
    assert (failed.error, failed.failure, silent.failure) == ("TimeoutError: late", None, None)
    assert (first.model, first.detour) == (None, None)


async def test_the_decision_is_read_with_what_is_new_left_open(store):
    decision = Decision.model_validate((await store.read_run("old")).decision)
    assert (decision.answer, decision.status) == ("42", "ok")
    assert (decision.candidates[0].failure, decision.candidates[0].duplicate_of) == (None, None)
    assert (decision.usage.total.cached_tokens, decision.usage.total.estimated_calls) == (0, 0)


async def test_what_was_learned_is_still_known_and_grows(store):
    assert (await store.read_sums("maths")).find("a/direct", "m1").total == 0.75
    await store.apply_update(Update("new", 1, "maths", (Increment("a/direct", "agent", 0.5),)))
    assert (await store.read_sums("maths")).find("a/direct", "m1").total == 1.25
    assert await store.read_ranking("old", 1) == {"order": [0]}


async def test_what_is_new_can_be_kept_beside_the_old(store):
    await store.record_candidate(
        "old", Candidate("a.3", "a", "direct", 3, 3, None, "", "no", {}, "not_asked", "m", "d")
    )
    assert [one.failure for one in await store.read_candidates("old")] == [None, None, None, "not_asked"]
    assert await store.calls.read_circuits() == {}
    assert await store.calls.find_response("any", keep_days=30) is None
    response = Response("k", "old", "a", "m", 0, {"text": "so it is"}, {"calls": 1})
    await store.calls.keep_response(response, keep_days=30)
    assert await store.calls.find_response("k", keep_days=30) == response


async def test_candidates_that_an_earlier_version_paid_for_are_not_asked_for_again(scripted_team, old_folder):
    """A run of that version, killed amid its first round: its answer counts, its failures are told as what they were."""
    rows = [{"agent": "a", "sample": 3, "text": "Answer: 42"}]
    team = Team.load(scripted_team({"b": ["42"]}, rows=rows, sections='[[agents]]\nname = "a"\nmodel = "scripted:script.jsonl"\nsamples = 4\nstrategies = ["direct"]\n'))  # fmt: skip
    async with await PolicyStore.open(Location(old_folder)) as store:
        rename = text("UPDATE candidates SET run_id = 'taken-up'")
        await store._database.write(lambda connection: connection.execute(rename))
    async with open_session(team, db=str(old_folder)) as session:
        decision = await session.ask("What is 6 * 7?", run_id="taken-up")
    failures = {one.id: one.failure for one in decision.candidates if one.agent == "a"}
    assert failures == {"a.0": None, "a.1": "call_failed", "a.2": "no_answer", "a.3": None}
    assert "a.1: TimeoutError: late" in decision.problems
    assert decision.usage.agents["a"].calls == 4


async def test_a_run_that_failed_then_still_says_so(scripted_team, old_folder):
    failed = {**OLD_DECISION, "run_id": "bad", "status": "failed", "answer": None, "text": None}
    async with await PolicyStore.open(Location(old_folder)) as store:
        change = text("UPDATE runs SET run_id = 'bad', status = 'failed', decision = :decision")
        await store._database.write(lambda connection: connection.execute(change, {"decision": json.dumps(failed)}))
        stored = await store.read_run("bad")
    assert Decision.model_validate(stored.decision).status == stored.status == "failed"
