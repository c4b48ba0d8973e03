"""What a task leaves behind for good, and that what it asks of the store does not grow with the tasks before it."""

import json
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import event

from aligngraph.persistence import Candidate, Increment, Location, PolicyStore, Response, Run, Update

ARMS, SAMPLES, TASKS = 4, 8, 120
LEFT_BYTES = 2048
LARGE = {"runs", "candidates", "rankings", "updates", "responses", "quarantine"}  # tables that grow with the tasks
TEAM = {"agents": [{"name": f"agent-{arm}", "model": "openai:gpt-4.1-mini", "samples": 2} for arm in range(ARMS)]}
EVIDENCE = {
    "arms": [f"agent-{arm}/step_by_step" for arm in range(ARMS)],
    "made_of": [f"{arm}5e0c4b7d1f2" for arm in range(ARMS)],
    "asked": [2] * ARMS,
    "failed": [0] * ARMS,
    "first": [[1, 1, 0, 0]] * ARMS,
    "rules": {"step_size": 1.0, "anchor": 0.3012345678, "smoothing": 0.5, "max_steps": 200, "trusted": True},
    "chosen": 0,
    "majority": 0,
    "posterior": [0.7123456789012345, 0.2012345678901234, 0.0864197532086421],
    "planned": SAMPLES,
    "preference": [[0.5, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]],
    "tiers": [[0], [1], [2]],
    "judges": {"principal": [0]},
    "principals": {"principal": "95e0c4b7d1f2"},
}


@pytest.fixture
def location(tmp_path):
    return Location(tmp_path)


async def solve(store, number):
    """Do what a task of four arms and eight samples does."""
    run_id = f"{number:012x}"
    await store.start_run(Run(run_id, "maths", "How many apples are left? " * 20, number, TEAM, f"{number:032x}"))
    for sample in range(SAMPLES):
        text, usage = "Step by step. " * 60, {"calls": 1, "prompt_tokens": 300, "completion_tokens": 200}
        agent = f"agent-{sample // 2}"
        drawn = Candidate(f"{agent}.{sample % 2}", agent, "step_by_step", sample % 2, sample, "42", text, None, usage)
        await store.record_candidate(run_id, drawn)
        reply = Response(f"{number}-{sample}", run_id, agent, "gpt-4.1-mini", sample % 2, {"text": text}, usage)
        await store.calls.keep_response(reply, keep_days=30)
    await store.record_ranking(run_id, 1, {"order": [0, 1, 2], "reason": "The first is right. " * 40})
    await store.apply_update(Update(run_id, 1, "maths", increments(number), {"weights": {"before": {}, "after": {}}}))
    await store.finish_run(run_id, "ok", {"text": "x" * 10_000}, EVIDENCE)


async def feed_back(store, number):
    update = Update("", 0, "", increments(number), {"right": "42"}, kind="feedback")
    await store.log.correct(f"{number:012x}", lambda _: update)


def increments(number):
    arms = [
        Increment(f"agent-{arm}/step_by_step", "agent", 1 / (number + 3), made_of=f"{arm}5e0c4b7d1f2", loss=1 / 7)
        for arm in range(ARMS)
    ]
    principal = Increment("principal", "principal", 1 / 3, made_of="95e0c4b7d1f2")
    return (*arms, principal, Increment("competence", "learner", 0.0, loss=1 / 9))


@pytest.mark.parametrize(("fed_back", "left_bytes"), [(False, LEFT_BYTES), (True, LEFT_BYTES + 1024)])
async def test_a_pruned_task_takes_at_most_two_kilobytes_and_feedback_one_more(location, fed_back, left_bytes):
    assert 600 < len(json.dumps(EVIDENCE)) < 900
    async with await PolicyStore.open(location) as store:
        await store.log._database.shrink()
        empty = location.policy.stat().st_size
        for number in range(TASKS):
            await solve(store, number)
            if fed_back:
                await feed_back(store, number)
        await store.log._database.shrink()
        before = location.policy.stat().st_size
        sums = await store.read_sums("maths")
        assert await store.prune(keep_days=-1) == TASKS
        after = location.policy.stat().st_size
        assert await store.read_sums("maths") == sums
    assert (before - empty) / TASKS > 20_000
    assert (after - empty) / TASKS <= left_bytes


async def test_a_file_shrinks_while_others_use_it(location):
    async with await PolicyStore.open(location) as store, await PolicyStore.open(location) as other:
        for number in range(30):
            await solve(store, number)
        with closing(sqlite3.connect(location.policy, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM candidates").fetchone() == (30 * SAMPLES,)
            assert await store.prune(keep_days=-1) == 30
            assert reader.execute("SELECT count(*) FROM candidates").fetchone() == (30 * SAMPLES,)
            await solve(other, 31)
            reader.execute("COMMIT")
            assert reader.execute("SELECT count(*) FROM candidates").fetchone() == (SAMPLES,)
        assert (await other.read_sums("maths")) == (await store.read_sums("maths"))
        assert await store.prune(keep_days=-1) == 1
    with closing(sqlite3.connect(location.policy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture
async def plans(location):
    """Note how SQLite looks up what each statement on the large tables asks for."""
    async with await PolicyStore.open(location) as store:
        await solve(store, 0)
        found = []

        def explain(_, cursor, statement, parameters, context, executemany):
            if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
                given = parameters[0] if executemany else parameters
                rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", given).fetchall()
                found.extend(row[3] for row in rows)

        event.listen(store._database._reader, "before_cursor_execute", explain)
        yield store, found


def full_scans(found):
    return [line for line in found if line.startswith("SCAN") and line.split()[1] in LARGE and "USING" not in line]


async def test_what_a_task_asks_of_the_store_looks_nothing_up_row_by_row(plans):
    """With 100,000 tasks in the store a task must not read 100,000 rows: it reads the arms, and its own run."""
    store, found = plans
    await solve(store, 1)
    await feed_back(store, 1)
    await store.read_sums("maths")
    await store.read_run("r")
    await store.read_ranking("r", 1)
    await store.read_candidates("r")
    assert len(found) > 20
    assert full_scans(found) == []


async def test_the_sums_are_read_in_one_statement_of_as_many_rows_as_there_are_arms(plans):
    store, found = plans
    sums = await store.read_sums("maths")
    assert found == ["SCAN arms"]
    assert len(sums.here) == ARMS + 2
    for number in range(2, 12):
        await solve(store, number)
    found.clear()
    assert len((await store.read_sums("maths")).here) == ARMS + 2
    assert found == ["SCAN arms"]


async def test_the_log_is_read_by_its_index(plans):
    store, found = plans
    await feed_back(store, 0)
    found.clear()
    assert [update.kind async for update in store.log.read("maths", after=1)] == ["feedback"]
    assert len([record async for record in store.log.read_learned("maths")]) == 1
    assert any("updates_in_order" in line for line in found)
    assert full_scans(found) == []
