"""What the log of a policy store promises, on every database: corrections, resets, reading it again."""

import asyncio
from dataclasses import replace

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence import ArmKey, ArmSums, Increment, PolicyStore, Run, Update
from aligngraph.persistence.tables import RUNS, UPDATES

ARM = ArmKey("a/x", "m1")
RUN = Run(run_id="r1", domain="maths", task="What is 6 * 7?", seed=0)


def taught(run_id="r1", payoff=0.5, domain="maths", **changes):
    return Update(run_id, 1, domain, (Increment("a/x", "agent", payoff, made_of="m1"),), **changes)


def replacing(record, payoff=1.0):
    """Make feedback that takes back what is left of the run and adds `payoff`, once."""
    if any(one.update.kind == "feedback" for one in record.updates):
        return None
    back = tuple(one.scaled(-1) for counted in record.updates for one in counted.left)
    return Update("", 0, "", (*back, Increment("a/x", "agent", payoff, made_of="m1")), {"of": "r"}, kind="feedback")


@pytest.fixture
async def store(location):
    async with await PolicyStore.open(location) as store:
        yield store


async def log_of(store, domain="maths", after=0):
    return [update async for update in store.log.read(domain, after=after)]


async def learned_of(store, domain="maths"):
    return [record async for record in store.log.read_learned(domain)]


async def arms_of(store, domain="maths"):
    return (await store.read_sums(domain)).here


async def finish(store, run_id, domain="maths", evidence=None):
    await store.start_run(replace(RUN, run_id=run_id, domain=domain))
    await store.finish_run(run_id, "ok", {"answer": "42"}, evidence)


class TestCorrecting:
    async def test_feedback_replaces_the_self_assessment(self, store):
        await finish(store, "r1")
        await store.apply_update(taught("r0", payoff=0.25))
        await store.apply_update(taught("r1", payoff=0.5))
        stored = await store.log.correct("r1", replacing)
        assert (stored.run_id, stored.round, stored.domain, stored.sequence) == ("r1", 2, "maths", 3)
        assert await arms_of(store) == {ARM: ArmSums("agent", 1.25, 2.0)}
        assert await store.read_update("r1", 2) == stored

    async def test_a_change_is_given_all_that_is_known(self, store):
        seen = []
        await finish(store, "r1", evidence={"posterior": [1.0]})
        await store.apply_update(taught("r1"))
        await store.apply_update(taught("r2", domain="law"))
        assert await store.log.correct("r1", seen.append) is None
        [record] = seen
        assert record.run == await store.read_run("r1")
        assert record.run.evidence == {"posterior": [1.0]}
        assert [counted.update for counted in record.updates] == await log_of(store)
        assert record.next_round == 2
        assert record.sums == await store.read_sums("maths")
        assert record.sums.lent("a/x", "m1").count == 1.0
        assert len(await log_of(store)) == 1

    async def test_a_run_that_taught_nothing_yet_can_be_corrected(self, store):
        await finish(store, "r1")
        assert (await store.log.correct("r1", replacing)).round == 1
        assert (await arms_of(store))[ARM].total == 1.0

    async def test_what_was_forgotten_since_is_not_taken_back(self, store):
        await finish(store, "r1")
        await store.apply_update(taught("r1", payoff=0.5))
        for run in ("r2", "r3"):
            await store.apply_update(taught(run, payoff=0.0, decay=0.5))
        seen = []
        await store.log.correct("r1", seen.append)
        assert (seen[0].updates[0].age, seen[0].updates[0].left[0].payoff) == (0.25, 0.125)
        await store.log.correct("r1", lambda record: replacing(record, payoff=0.0))
        assert (await arms_of(store))[ARM].total == 0.0

    async def test_what_a_reset_took_is_not_taken_back(self, store):
        await finish(store, "r1")
        await store.apply_update(taught("r1", payoff=0.5))
        await store.log.reset("maths")
        await store.log.correct("r1", replacing)
        assert await arms_of(store) == {ARM: ArmSums("agent", 1.0, 1.0)}

    async def test_one_that_fails_changes_nothing(self, store):
        def fail(_):
            raise RuntimeError("power cut")

        await finish(store, "r1")
        await store.apply_update(taught("r1"))
        with pytest.raises(RuntimeError, match="power cut"):
            await store.log.correct("r1", fail)
        assert await store.log.correct("r1", replacing) is not None

    async def test_an_unknown_run_is_an_error(self, store):
        with pytest.raises(StoreError, match=r"no run 'r9' in .*: name one that was asked there"):
            await store.log.correct("r9", replacing)

    async def test_of_the_same_feedback_at_once_one_applies_and_the_others_see_it(self, location, store):
        await finish(store, "r1")
        await store.apply_update(taught("r1"))
        async with await PolicyStore.open(location) as other:
            given = await asyncio.gather(*(one.log.correct("r1", replacing) for one in [store, other] * 5))
        assert sum(update is not None for update in given) == 1
        assert await arms_of(store) == {ARM: ArmSums("agent", 1.0, 1.0)}

    async def test_corrections_and_tasks_at_once_lose_nothing(self, location, store):
        for number in range(8):
            await finish(store, f"r{number}")
            await store.apply_update(taught(f"r{number}", payoff=0.25))
        async with await PolicyStore.open(location) as other:
            back = (store.log.correct(f"r{number}", replacing) for number in range(8))
            more = (other.apply_update(taught(f"s{number}", payoff=0.5)) for number in range(8))
            await asyncio.gather(*back, *more)
        assert await arms_of(store) == {ARM: ArmSums("agent", 12.0, 16.0)}
        assert [one.sequence for one in await log_of(store)] == list(range(1, 25))


class TestChangingADomain:
    async def test_what_is_returned_is_stored_in_order(self, store):
        await store.apply_update(taught("r1"))
        seen = []

        def recompute(state):
            seen.append(state)
            first = taught("r1", payoff=0.125, kind="learn", cleared=tuple(state.arms))
            return [replace(first, round=2), replace(first, run_id="r2", cleared=())]

        stored = await store.log.change_domain("maths", recompute)
        assert (seen[0].domain, seen[0].sequence, seen[0].arms) == ("maths", 1, {ARM: ArmSums("agent", 0.5, 1.0)})
        assert [(one.run_id, one.sequence) for one in stored] == [("r1", 2), ("r2", 3)]
        assert await arms_of(store) == {ARM: ArmSums("agent", 0.25, 2.0)}
        assert list(stored) == await log_of(store, after=1)

    async def test_a_run_that_was_learned_again_can_be_corrected(self, store):
        await finish(store, "r1")
        await store.apply_update(taught("r1", payoff=0.5))
        again = replace(taught("r1", payoff=0.25, kind="learn", cleared=(ARM,)), round=2)
        await store.log.change_domain("maths", lambda _: [again])
        assert (await store.log.correct("r1", replacing)).round == 3
        assert await arms_of(store) == {ARM: ArmSums("agent", 1.0, 1.0)}

    async def test_what_was_stored_before_is_left_out(self, store):
        await store.apply_update(taught("r1"))
        stored = await store.log.change_domain("maths", lambda _: [taught("r1"), taught("r2")])
        assert [(one.run_id, one.sequence) for one in stored] == [("r2", 2)]

    async def test_an_unknown_domain_is_empty(self, store):
        seen = []

        def look(state):
            seen.append(state)
            return ()

        assert await store.log.change_domain("new", look) == ()
        assert (seen[0].sequence, seen[0].arms) == (0, {})


class TestReading:
    async def test_updates_come_in_order_from_any_place(self, store, monkeypatch):
        monkeypatch.setattr("aligngraph.persistence.policy_log._CHUNK", 2)
        runs = [f"r{number}" for number in (3, 1, 2, 5, 4)]
        for run in runs:
            await store.apply_update(taught(run))
        await store.apply_update(taught("r9", domain="law"))
        assert [one.run_id for one in await log_of(store)] == runs
        assert [one.sequence for one in await log_of(store, after=3)] == [4, 5]
        assert await log_of(store, "new") == []

    async def test_more_than_fits_at_once_is_read_to_the_end(self, store):
        def many(_):
            return [taught(f"r{number:04}") for number in range(1100)]

        await store.log.change_domain("maths", many)
        assert [one.sequence for one in await log_of(store)] == list(range(1, 1101))

    async def test_runs_with_evidence_come_with_all_their_updates(self, store):
        await finish(store, "r2", evidence={"n": 2})
        await finish(store, "r1", evidence={"n": 1})
        await finish(store, "old")
        for run in ("r2", "old", "r1"):
            await store.apply_update(taught(run))
        await store.log.correct("r2", replacing)
        second, first = await learned_of(store)
        assert (second.run_id, second.sequence, second.evidence) == ("r2", 1, {"n": 2})
        assert [counted.update.kind for counted in second.updates] == ["task", "feedback"]
        assert (first.run_id, first.sequence, first.at) == ("r1", 3, (await log_of(store))[2].at)
        assert (first.counts, second.counts) == (True, True)

    async def test_runs_that_a_reset_has_taken_out_say_so(self, store):
        for run in ("r1", "r2"):
            await finish(store, run, evidence={})
        await store.apply_update(taught("r1"))
        await store.log.reset("maths")
        await store.apply_update(taught("r2"))
        assert [(one.run_id, one.counts) for one in await learned_of(store)] == [("r1", False), ("r2", True)]

    async def test_many_runs_are_read_to_the_end(self, store):
        for number in range(3):
            await finish(store, f"r{number:04}", evidence={"n": number})
        rows = [{**vars(replace(RUN, run_id=f"s{n:04}")), "status": "ok", "evidence": {"n": n}} for n in range(600)]
        await store._database.write(lambda connection: connection.execute(RUNS.insert(), rows))
        names = [f"s{n:04}" for n in range(600)] + [f"r{n:04}" for n in range(3)]
        await store.log.change_domain("maths", lambda _: [taught(name) for name in names])
        assert [one.run_id for one in await learned_of(store)] == names

    async def test_an_update_broken_by_hand_is_reported(self, store):
        await store.apply_update(taught("r1"))
        broken = UPDATES.update().values(increments=[{"arm": "a/x"}])
        await store._database.write(lambda connection: connection.execute(broken))
        with pytest.raises(StoreError, match=r"update 'r1', round 1, cannot be read .*policy export"):
            await log_of(store)


class TestResetting:
    async def test_the_domain_knows_nothing_and_the_log_all(self, store):
        await store.apply_update(taught("r1"))
        await store.apply_update(taught("r2", domain="law"))
        update = await store.log.reset("maths")
        assert (update.kind, update.cleared, update.sequence) == ("reset", (ARM,), 2)
        assert await arms_of(store) == {}
        assert (await arms_of(store, "law"))[ARM].count == 1.0
        assert [one.kind for one in await log_of(store)] == ["task", "reset"]

    async def test_nothing_is_logged_where_nothing_is_known(self, store):
        assert await store.log.reset("new") is None
        await store.apply_update(taught("r1"))
        await store.log.reset("maths")
        assert await store.log.reset("maths") is None
        assert [one.kind for one in await log_of(store)] == ["task", "reset"]
