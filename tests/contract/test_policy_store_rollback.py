"""What going back in the log of a policy store promises, on every database, and that its sums are those of its log."""

import random
from dataclasses import replace

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence import ArmKey, ArmSums, Increment, PolicyStore, Run, Update, replayed
from aligngraph.persistence.tables import ARMS

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


async def arms_of(store, domain="maths"):
    return (await store.read_sums(domain)).here


async def finish(store, run_id, domain="maths", evidence=None):
    await store.start_run(replace(RUN, run_id=run_id, domain=domain))
    await store.finish_run(run_id, "ok", {"answer": "42"}, evidence)


def at(hour):
    return f"2026-01-01T{hour:02}:00:00.000+00:00"


class TestRollingBack:
    async def learn(self, store):
        for number in range(1, 5):
            await store.apply_update(taught(f"r{number}", payoff=number / 8, at=at(number)))
        await store.apply_update(taught("l1", domain="law", at=at(2)))
        await store.apply_update(taught("l2", domain="law", at=at(4)))

    @pytest.mark.parametrize(
        "to", [2, "r2", at(2), "2026-01-01T02:30", "2026-01-01 02:00:00Z", "2026-01-01T04:00+02:00"]
    )
    async def test_the_sums_are_those_of_then(self, store, to):
        await self.learn(store)
        [update] = await store.log.rollback(to, "maths")
        assert (update.kind, update.result, update.sequence) == ("rollback", {"to": 2}, 5)
        assert await arms_of(store) == {ARM: ArmSums("agent", 0.375, 2.0)}
        assert (await arms_of(store, "law"))[ARM].count == 2.0

    @pytest.mark.parametrize("to", ["r2", at(3), "2026-01-01T03:59:59.999"])
    async def test_all_domains_go_back_to_one_time(self, store, to):
        await self.learn(store)
        law, maths = await store.log.rollback(to)
        assert (law.domain, law.result) == ("law", {"to": 1})
        assert (maths.domain, maths.result) == ("maths", {"to": 2 if to == "r2" else 3})
        assert (await arms_of(store, "law"))[ARM].count == 1.0

    async def test_to_before_all_that_was_learned(self, store):
        await self.learn(store)
        assert len(await store.log.rollback("2025-12-31")) == 2
        assert await arms_of(store) == await arms_of(store, "law") == {}

    @pytest.mark.parametrize("to", [4, 99, "r4", "2030-01-01"])
    async def test_where_nothing_came_later_nothing_is_logged(self, store, to):
        await self.learn(store)
        assert await store.log.rollback(to, "maths") == ()
        assert len(await log_of(store)) == 4

    async def test_a_rollback_is_undone_by_another(self, store):
        await self.learn(store)
        before = await arms_of(store)
        await store.log.rollback(1, "maths")
        await store.log.rollback(4, "maths")
        assert await arms_of(store) == before

    async def test_it_undoes_a_reset_and_forgets_a_correction(self, store):
        await self.learn(store)
        before = await arms_of(store)
        await finish(store, "r2")
        await store.log.correct("r2", replacing)
        await store.log.reset("maths")
        await store.log.rollback("r4", "maths")
        assert await arms_of(store) == before

    async def test_runs_that_are_undone_are_not_taken_back_and_others_are(self, store):
        await self.learn(store)
        for run in ("r1", "r4"):
            await finish(store, run)
        await store.log.rollback("r2", "maths")
        await store.log.correct("r1", lambda record: replacing(record, payoff=0.0))
        await store.log.correct("r4", lambda record: replacing(record, payoff=1.0))
        assert await arms_of(store) == {ARM: ArmSums("agent", 1.25, 3.0)}

    async def test_sums_that_made_no_sense_then_do_not_come_back(self, store):
        lost = Update("r1", 1, "maths", (Increment("b/x", "agent", 5.0),))
        await store.apply_update(lost)
        await store.apply_update(taught("r2"))  # which has set b/x aside
        await store.apply_update(taught("r3"))
        [update] = await store.log.rollback("r2", "maths")
        assert [one.arm for one in update.increments] == ["a/x"]
        [first] = await store.log.rollback("r1", "maths")
        assert first.increments == ()

    @pytest.mark.parametrize("to", ["yesterday", "r9", ""])
    async def test_what_names_no_place_is_refused(self, store, to):
        await self.learn(store)
        with pytest.raises(StoreError, match=rf"cannot go back to '{to}': a run .* is allowed"):
            await store.log.rollback(to, "maths")

    async def test_a_run_of_another_domain_is_refused(self, store):
        await self.learn(store)
        with pytest.raises(StoreError, match="run 'l1' taught domain 'law', not 'maths'"):
            await store.log.rollback("l1", "maths")

    async def test_a_number_needs_a_domain(self, store):
        await self.learn(store)
        with pytest.raises(StoreError, match="a number names an update of one domain"):
            await store.log.rollback(1)
        assert len(await log_of(store)) == 4


async def do_anything(store, draw, number):
    """Do one of all the things that change sums, as the dice fall."""
    run, arm, payoff = f"r{number}", f"a/{draw.randrange(3)}", draw.random()
    one = Increment(arm, "agent", payoff, made_of=draw.choice(["", "m"]), gradient=payoff - 0.5, loss=1 - payoff)
    match draw.choice(["task"] * 6 + ["correct"] * 3 + ["reset", "rollback", "spoil", "import"]):
        case "task":
            await finish(store, run)
            await store.apply_update(Update(run, 1, "maths", (one,), decay=draw.choice([1.0, 0.97])))
        case "correct":
            runs = [update.run_id for update in await log_of(store) if update.kind == "task"]
            if runs:
                await store.log.correct(draw.choice(runs), lambda record: replacing(record, payoff))
        case "reset":
            await store.log.reset("maths")
        case "rollback":
            await store.log.rollback(draw.randrange(number + 1), "maths")
        case "spoil":
            bad = ARMS.update().where(ARMS.c.arm == arm).values(total=-7.0)
            await store._database.write(lambda connection: connection.execute(bad))
            await store.read_sums("maths")
        case "import":
            await store.log.import_policy(await store.log.export(), add=draw.choice([True, False]))


@pytest.mark.parametrize("seed", range(6))
async def test_the_sums_are_what_a_replay_of_the_log_makes(store, seed):
    draw = random.Random(seed)  # noqa: S311 - dice
    for number in range(60):
        await do_anything(store, draw, number)
    stored, made = await arms_of(store), replayed(await log_of(store))
    assert stored.keys() == made.keys()
    for key, sums in stored.items():
        for name in ("total", "count", "gradient", "loss"):
            assert getattr(sums, name) == pytest.approx(getattr(made[key], name), abs=1e-9)
        assert sums.failures == made[key].failures
