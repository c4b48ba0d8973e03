"""What exporting, importing and pruning promise, on every database."""

import json
from dataclasses import replace

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence import (
    ArmKey,
    ArmSums,
    Candidate,
    Difference,
    Export,
    Increment,
    Location,
    PolicyStore,
    Response,
    Run,
    Update,
    compare,
    read_export,
)
from aligngraph.persistence.records import days_ago
from aligngraph.persistence.tables import ARMS, RUNS

ARM, LEARNER = ArmKey("a/x", "m1"), ArmKey("gradient")
RUN = Run("r1", "maths", "What is 6 * 7?", 0, {"agents": ["a"]}, "d1", task_id="t1")


def taught(run_id="r1", payoff=0.5, domain="maths"):
    increments = (
        Increment("a/x", "agent", payoff, made_of="m1", gradient=-0.5, failures=1),
        Increment("gradient", "learner", 0.0, loss=0.1 + 0.2),
    )
    return Update(run_id, 1, domain, increments, {"weights": {"a/x": 0.5}})


@pytest.fixture
async def store(location):
    async with await PolicyStore.open(location) as store:
        yield store


@pytest.fixture
async def other(tmp_path):
    async with await PolicyStore.open(Location(tmp_path / "other")) as other:
        yield other


async def exported(store):
    """Return what another program would get: the document as text, read again."""
    return read_export(json.dumps((await store.log.export()).as_json()))


async def kinds_of(store, domain="maths"):
    return [update.kind async for update in store.log.read(domain)]


class TestExporting:
    async def test_what_is_read_again_is_what_was_learned(self, store):
        await store.apply_update(taught())
        await store.apply_update(taught("r2", domain="数"))
        export = await exported(store)
        assert export.domains == {domain: (await store.read_sums(domain)).here for domain in ("maths", "数")}
        assert compare(export.domains, (await store.log.export()).domains) == ()

    async def test_an_empty_store_exports_no_domain(self, store):
        assert (await exported(store)).domains == {}

    async def test_rows_that_make_no_sense_stay_behind(self, store):
        await store.apply_update(taught())
        spoil = ARMS.update().where(ARMS.c.arm == "a/x").values(total=-5)
        await store._database.write(lambda connection: connection.execute(spoil))
        assert list((await exported(store)).domains["maths"]) == [LEARNER]


class TestImporting:
    async def test_another_store_takes_it_over(self, store, other):
        await store.apply_update(taught())
        changes = await other.log.import_policy(await exported(store))
        assert [(one.arm, one.before) for one in changes] == [("a/x", None), ("gradient", None)]
        assert (await other.read_sums("maths")).here == (await store.read_sums("maths")).here
        assert await kinds_of(other) == ["import"]

    async def test_it_replaces_its_own_domains_and_leaves_others(self, store, other):
        await store.apply_update(taught(payoff=1.0))
        await other.apply_update(taught(payoff=0.0))
        await other.apply_update(Update("r2", 1, "maths", (Increment("b/x", "agent", 1.0),)))
        await other.apply_update(taught("r3", domain="law"))
        changes = await other.log.import_policy(await exported(store))
        before, after = ArmSums("agent", 0.0, 1.0, 1, -0.5), ArmSums("agent", 1.0, 1.0, 1, -0.5)
        assert changes[0] == Difference("maths", "a/x", "m1", before, after)
        assert changes[1] == Difference("maths", "b/x", "", ArmSums("agent", 1.0, 1.0), None)
        assert len(changes) == 2
        assert (await other.read_sums("maths")).here == (await store.read_sums("maths")).here
        assert (await other.read_sums("law")).here[ARM].count == 1.0

    async def test_it_adds_where_that_is_wanted(self, store, other):
        await store.apply_update(taught(payoff=1.0))
        await other.apply_update(taught(payoff=0.25))
        await other.log.import_policy(await exported(store), add=True)
        assert (await other.read_sums("maths")).here[ARM] == ArmSums("agent", 1.25, 2.0, 2, -1.0)
        [_, update] = [update async for update in other.log.read("maths")]
        assert (update.cleared, update.result["added"]) == ((), True)

    @pytest.mark.parametrize("add", [True, False])
    async def test_a_dry_run_says_what_would_change_and_changes_nothing(self, store, other, add):
        await store.apply_update(taught(payoff=1.0))
        await other.apply_update(taught(payoff=0.25))
        export, before = await exported(store), await other.read_sums("maths")
        foreseen = await other.log.import_policy(export, add=add, dry_run=True)
        assert await other.read_sums("maths") == before
        assert await kinds_of(other) == ["task"]
        assert foreseen == await other.log.import_policy(export, add=add)

    async def test_what_is_there_already_is_not_logged(self, store):
        await store.apply_update(taught())
        assert await store.log.import_policy(await exported(store)) == ()
        assert await kinds_of(store) == ["task"]

    async def test_it_can_be_rolled_back(self, store, other):
        await store.apply_update(taught(payoff=1.0))
        await other.apply_update(taught(payoff=0.25))
        before = (await other.read_sums("maths")).here
        await other.log.import_policy(await exported(store))
        await other.log.rollback(1, "maths")
        assert (await other.read_sums("maths")).here == before

    async def test_all_domains_are_taken_over_or_none(self, other):
        bad = Export({"art": {ARM: ArmSums("agent", 0.5, 1.0)}, "maths": {ArmKey("x"): ArmSums("agent", 0.5, 1.0)}})
        with pytest.raises(ValueError, match="arm 'x' of kind 'agent'"):
            await other.log.import_policy(bad)
        assert (await other.read_sums("art")).here == {}


async def solve(store, run_id, *, days=10.0, status="ok"):
    """Leave behind what a run of that age leaves."""
    await store.start_run(replace(RUN, run_id=run_id))
    await store.record_candidate(run_id, Candidate("a.0", "a", "x", 0, 0, "42", "so it is 42"))
    await store.record_ranking(run_id, 1, {"order": [0]})
    await store.calls.keep_response(Response(run_id, run_id, "a", "m", 0, {"text": "42"}, {"calls": 1}), keep_days=30)
    await store.apply_update(taught(run_id))
    if status in {"ok", "degraded", "failed"}:
        await store.finish_run(run_id, status, {"answer": "42"}, {"posterior": [1.0]})
    age = RUNS.update().where(RUNS.c.run_id == run_id).values(status=status, finished_at=days_ago(days))
    await store._database.write(lambda connection: connection.execute(age))


class TestPruning:
    async def test_texts_go_and_what_was_learned_stays(self, store):
        await solve(store, "r1")
        sums = await store.read_sums("maths")
        assert await store.prune(keep_days=7) == 1
        assert await store.read_candidates("r1") == []
        assert await store.read_ranking("r1", 1) is None
        assert await store.calls.find_response("r1", keep_days=30) is None
        run = await store.read_run("r1")
        assert (run.task, run.team, run.decision) == ("", {}, None)
        assert (run.evidence, run.status, run.task_id, run.domain) == ({"posterior": [1.0]}, "ok", "t1", "maths")
        update = await store.read_update("r1", 1)
        assert (update.increments, update.result) == (taught().increments, {})
        assert await store.read_sums("maths") == sums
        assert [record.run_id async for record in store.log.read_learned("maths")] == ["r1"]

    async def test_it_is_said_of_the_run_and_the_id_is_not_taken_again(self, store):
        await solve(store, "r1")
        assert not (await store.read_run("r1")).pruned
        await store.prune(keep_days=7)
        assert (await store.read_run("r1")).pruned
        with pytest.raises(StoreError, match=r"run 'r1' was pruned at 20.*leave the run id out"):
            await store.start_run(RUN)

    async def test_feedback_is_still_taken(self, store):
        await solve(store, "r1")
        await store.prune(keep_days=7)

        def take_back(record):
            back = [one.scaled(-1) for counted in record.updates for one in counted.left]
            return Update("", 0, "", tuple(back), {"right": record.run.evidence}, kind="feedback")

        update = await store.log.correct("r1", take_back)
        assert update.result == {"right": {"posterior": [1.0]}}
        assert (await store.read_sums("maths")).find("a/x", "m1").total == 0.0
        assert await store.prune(keep_days=7) == 0
        assert (await store.read_update("r1", 2)).result == update.result

    @pytest.mark.parametrize("status", ["degraded", "failed"])
    async def test_whatever_ended_can_go(self, store, status):
        await solve(store, "r1", status=status)
        assert await store.prune(keep_days=7) == 1

    @pytest.mark.parametrize("status", ["running", "cancelling", "interrupted"])
    async def test_what_may_go_on_stays(self, store, status):
        await solve(store, "r1", status=status)
        assert await store.prune(keep_days=7) == 0
        assert (await store.read_run("r1")).task == RUN.task

    async def test_only_what_is_old_enough_goes_and_only_once(self, store):
        for number, days in enumerate([1, 5, 9, 20]):
            await solve(store, f"r{number}", days=days)
        assert await store.prune(keep_days=7) == 2
        assert await store.prune(keep_days=7) == 0
        assert [(await store.read_run(f"r{number}")).pruned for number in range(4)] == [False, False, True, True]
        assert len(await store.read_candidates("r1")) == 1
        assert (await store.read_update("r1", 1)).result == {"weights": {"a/x": 0.5}}

    async def test_more_than_fits_at_once_is_pruned(self, store, monkeypatch):
        monkeypatch.setattr("aligngraph.persistence.policy_store._PRUNED_AT_ONCE", 2)
        for number in range(5):
            await solve(store, f"r{number}")
        assert await store.prune(keep_days=7) == 5
        assert all([(await store.read_run(f"r{number}")).pruned for number in range(5)])
