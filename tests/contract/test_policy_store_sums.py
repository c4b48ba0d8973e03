"""What the policy store promises of the sums that last, on every database."""

import asyncio
import itertools
import math

import pytest

from aligngraph.persistence import ArmKey, ArmSums, Increment, PolicyStore, Update
from aligngraph.persistence.tables import ARMS, QUARANTINE

CAREFUL, HASTY, PRINCIPAL = ArmKey("careful/plain"), ArmKey("hasty/plain"), ArmKey("principal")


def an_update(run_id="r1", round_number=1, domain="maths", payoff=0.75, result=None, **changes):
    increments = (
        Increment("careful/plain", "agent", payoff),
        Increment("hasty/plain", "agent", 0.0, count=0, failures=1),
        Increment("principal", "principal", 0.5),
    )
    return Update(run_id, round_number, domain, increments, result or {"weights": {"careful": 0.1}}, **changes)


@pytest.fixture
async def store(location):
    async with await PolicyStore.open(location) as store:
        yield store


async def spoil(store, **values):
    row = ARMS.update().where(ARMS.c.arm == "careful/plain").values(values)
    await store._database.write(lambda connection: connection.execute(row))


async def log_of(store, domain="maths"):
    return [update async for update in store.log.read(domain)]


class TestUpdates:
    async def test_sums_start_empty(self, store):
        sums = await store.read_sums("maths")
        assert (sums.here, sums.elsewhere, sums.quarantined) == ({}, {}, ())
        assert sums.find("careful/plain", "m1") == sums.lent("careful/plain") == ArmSums("agent")

    async def test_an_update_adds_to_the_sums(self, store):
        applied = await store.apply_update(an_update())
        assert applied.applied
        assert applied.result == {"weights": {"careful": 0.1}}
        assert (await store.read_sums("maths")).here == {
            CAREFUL: ArmSums("agent", 0.75, 1.0, 0),
            HASTY: ArmSums("agent", 0.0, 0.0, 1),
            PRINCIPAL: ArmSums("principal", 0.5, 1.0, 0),
        }

    async def test_all_that_is_summed_adds_up(self, store):
        drawn = Increment("a/x", "agent", 0.5, 2.0, 3, "m1", gradient=-0.25, loss=0.125)
        learner = Increment("gradient", "learner", 0.0, loss=0.75)
        for run in ("r1", "r2"):
            await store.apply_update(Update(run, 1, "maths", (drawn, learner)))
        assert (await store.read_sums("maths")).here == {
            ArmKey("a/x", "m1"): ArmSums("agent", 1.0, 4.0, 6, -0.5, 0.25),
            ArmKey("gradient"): ArmSums("learner", 0.0, 2.0, 0, 0.0, 1.5),
        }

    async def test_the_last_change_of_each_arm_is_known(self, store):
        await store.apply_update(an_update("r1", at="2026-01-01T00:00:00.000+00:00"))
        later = Update("r2", 1, "maths", (Increment("hasty/plain", "agent", 1.0),), at="2026-01-02T00:00:00.000+00:00")
        await store.apply_update(later)
        here = (await store.read_sums("maths")).here
        assert here[HASTY].changed_at == later.at > here[CAREFUL].changed_at == "2026-01-01T00:00:00.000+00:00"

    async def test_the_second_time_changes_nothing_and_returns_the_first_result(self, store):
        """F6: a node that runs again after a crash."""
        first = await store.apply_update(an_update())
        before = await store.read_sums("maths")
        second = await store.apply_update(an_update(payoff=0.1, result={"other": 1}, decay=0.5, cleared=(CAREFUL,)))
        assert (second.applied, second.result) == (False, first.result)
        assert await store.read_sums("maths") == before
        assert len(await log_of(store)) == 1

    async def test_an_update_can_be_read_back(self, store):
        one = Increment("a/x", "agent", 0.1 + 0.2, 1.0, 0, "m1", -1e-9, 2.5)
        update = Update("r1", 3, "maths", (one,), {"w": 1}, kind="feedback", decay=0.5, cleared=(CAREFUL,))
        await store.apply_update(update)
        stored = await store.read_update("r1", 3)
        assert stored == Update(**{**vars(update), "sequence": 1})
        assert await store.read_update("r1", 2) is None

    async def test_an_update_without_increments_is_recorded(self, store):
        assert (await store.apply_update(Update("r1", 1, "maths", ()))).applied
        assert not (await store.apply_update(Update("r1", 1, "maths", ()))).applied

    async def test_each_domain_numbers_its_updates(self, store):
        for run, domain in (("r1", "maths"), ("r2", "law"), ("r3", "maths")):
            await store.apply_update(an_update(run, domain=domain))
        await store.apply_update(an_update("r1", domain="law"))  # was applied, in another domain
        await store.apply_update(an_update("r4", domain="law"))
        assert [(one.run_id, one.sequence) for one in await log_of(store)] == [("r1", 1), ("r3", 2)]
        assert [(one.run_id, one.sequence) for one in await log_of(store, "law")] == [("r2", 1), ("r4", 2)]

    async def test_what_is_cleared_goes_first_then_all_shrinks_then_it_grows(self, store):
        await store.apply_update(an_update("r1"))
        await store.apply_update(an_update("r2", payoff=0.25, cleared=(CAREFUL,), decay=0.5))
        assert (await store.read_sums("maths")).here == {
            CAREFUL: ArmSums("agent", 0.25, 1.0, 0),
            HASTY: ArmSums("agent", 0.0, 0.0, 2),  # failures are counted, and not forgotten
            PRINCIPAL: ArmSums("principal", 0.75, 1.5, 0),
        }

    async def test_forgetting_is_a_domain_s_own(self, store):
        await store.apply_update(an_update("r1", domain="law"))
        await store.apply_update(an_update("r2", decay=0.1))
        assert (await store.read_sums("law")).here[CAREFUL] == ArmSums("agent", 0.75, 1.0, 0)

    async def test_other_domains_are_added_up(self, store):
        await store.apply_update(an_update("r1", domain="law"))
        await store.apply_update(an_update("r2", domain="law"))
        await store.apply_update(an_update("r3", domain="art"))
        await store.apply_update(an_update("r4", domain="maths", payoff=0.25))
        sums = await store.read_sums("maths")
        assert sums.find("careful/plain") == ArmSums("agent", 0.25, 1.0, 0)
        assert sums.lent("careful/plain") == ArmSums("agent", 2.25, 3.0, 0)
        assert sums.lent("hasty/plain").failures == 3
        assert (await store.read_sums("new")).lent("careful/plain").count == 4.0

    async def test_what_nobody_noted_the_making_of_counts_for_whoever_bears_the_name(self, store):
        for number, made_of in enumerate(["", "m1", "m2"]):
            one = Increment("a/x", "agent", 1 / 2**number, made_of=made_of)
            await store.apply_update(Update(f"r{number}", 1, "maths", (one,)))
        for sums in ((await store.read_sums("maths")).find, (await store.read_sums("law")).lent):
            assert sums("a/x", "m1") == ArmSums("agent", 1.5, 2.0)
            assert sums("a/x", "m2") == ArmSums("agent", 1.25, 2.0)
            assert sums("a/x", "m3") == sums("a/x") == ArmSums("agent", 1.0, 1.0)

    async def test_a_domain_of_any_text_finds_its_own_sums(self, store):
        domain = "a\0b\ud83d"
        await store.apply_update(an_update(domain=domain))
        assert (await store.read_sums(domain)).find("careful/plain").count == 1.0
        assert (await store.read_sums(domain)).elsewhere == {}

    async def test_any_order_and_any_split_ends_in_the_same_sums(self, location, store):
        updates = [an_update(f"r{i}", i % 3, payoff=i / 8) for i in range(8)]
        async with await PolicyStore.open(location) as other:
            workers = itertools.cycle([store, other])
            again = [*updates, *reversed(updates)]
            await asyncio.gather(*(worker.apply_update(u) for worker, u in zip(workers, again, strict=False)))
        assert (await store.read_sums("maths")).here[CAREFUL] == ArmSums("agent", 28 / 8, 8.0, 0)
        assert [one.sequence for one in await log_of(store)] == list(range(1, 9))

    async def test_rounding_below_zero_is_zero(self, store):
        for i, payoff in enumerate([0.1, 0.2, -0.1, -0.2, -1e-12]):
            increments = (Increment("careful/plain", "agent", payoff, count=0, loss=payoff),)
            await store.apply_update(Update("r", i, "maths", increments))
        sums = await store.read_sums("maths")
        assert sums.here[CAREFUL] == ArmSums("agent", 0.0, 0.0, 0)
        assert sums.quarantined == ()

    @pytest.mark.parametrize(
        ("arm", "kind"),
        [("careful", "agent"), ("principal/x", "agent"), ("a/x", "principal"), ("a/x", "learner"), ("p", "principal")],
    )
    async def test_an_arm_that_would_be_set_aside_is_refused(self, store, arm, kind):
        with pytest.raises(ValueError, match=f"arm '{arm}' of kind '{kind}': agents' arms are named agent/strategy"):
            await store.apply_update(Update("r", 1, "maths", (Increment(arm, kind, 0.5),)))
        assert await log_of(store) == []

    async def test_updates_that_meet_in_opposite_order_do_not_wait_for_each_other_for_ever(self, location, store):
        arms = [Increment(f"arm{i}/x", "agent", 1.0) for i in range(12)]
        async with await PolicyStore.open(location) as other:
            there = (store.apply_update(Update(f"a{i}", 0, "maths", tuple(arms))) for i in range(20))
            back = (other.apply_update(Update(f"b{i}", 0, "maths", tuple(arms[::-1]))) for i in range(20))
            await asyncio.gather(*there, *back)
        assert {sums.count for sums in (await store.read_sums("maths")).here.values()} == {40.0}


class TestSummary:
    async def test_an_empty_store_has_none(self, store):
        assert await store.summary() == []

    async def test_it_counts_runs_and_not_rounds_nor_other_events(self, store):
        for run in ("r1", "r2"):
            for round_number in range(3):
                await store.apply_update(an_update(run, round_number))
        await store.apply_update(an_update("r3", domain="art"))
        await store.apply_update(an_update("import-1", kind="import"))
        art, maths = await store.summary()
        assert (art.domain, art.tasks) == ("art", 1)
        assert (maths.domain, maths.tasks, maths.arms) == ("maths", 2, (await store.read_sums("maths")).here)
        assert maths.changed_at == (await store.read_update("import-1", 1)).at
        assert list(maths.arms) == [CAREFUL, HASTY, PRINCIPAL]


class TestQuarantine:
    """A weight of 0, once saved, made every request of a neighbouring system fail for weeks (F18)."""

    @pytest.mark.parametrize(
        ("spoilt", "reason"),
        [
            ({"total": math.inf}, "its total is inf, no finite number"),
            ({"total": -1}, "its total is negative: -1.0"),
            ({"total": 7}, "its total of 7.0 is more than its 1.0 tasks can pay"),
            ({"count": -3}, "its count is negative: -3.0"),
            ({"count": 1e300}, "its count is 1e+300, no finite number"),
            ({"failures": -1}, "its failures is negative: -1"),
            ({"gradient": -math.inf}, "its gradient is -inf"),
            ({"loss": -2.5}, "its loss is negative: -2.5"),
            ({"kind": "x"}, "its kind is 'x', none of agent, principal, learner"),
            ({"kind": "principal"}, "no principal can have that name"),
            ({"arm": "stranger"}, "no agent can have that name"),
        ],
    )
    async def test_a_row_that_makes_no_sense_is_set_aside_once(self, store, spoilt, reason):
        await store.apply_update(an_update())
        await spoil(store, **spoilt)
        sums = await store.read_sums("law")
        assert sorted(sums.elsewhere) == [HASTY, PRINCIPAL]
        [line] = sums.quarantined
        arm = spoilt.get("arm", "careful/plain")
        assert line.startswith(f"arm {arm!r} in domain 'maths' counts as unseen: {reason}")
        again = await store.read_sums("maths")
        assert (sorted(again.here), again.quarantined) == ([HASTY, PRINCIPAL], ())

    async def test_what_was_set_aside_is_kept_with_the_reason(self, store):
        await store.apply_update(an_update())
        await spoil(store, total=math.inf)
        await store.read_sums("maths")
        [kept] = await store._database.read(lambda connection: connection.execute(QUARANTINE.select()).all())
        assert (kept.domain, kept.arm, kept.made_of) == ("maths", "careful/plain", "")
        assert kept.reason.startswith("its total is inf")
        assert (kept.row["total"], kept.row["count"]) == ("inf", 1.0)
        update = (await log_of(store))[-1]
        assert (update.kind, update.cleared, update.increments) == ("quarantine", (CAREFUL,), ())
        assert update.at == kept.quarantined_at

    async def test_it_learns_again_from_the_prior(self, store):
        await store.apply_update(an_update("r1"))
        await spoil(store, total=-5)
        await store.apply_update(an_update("r2", payoff=0.5))
        sums = await store.read_sums("maths")
        assert sums.here[CAREFUL] == ArmSums("agent", 0.5, 1.0, 0)
        assert sums.quarantined == ()
        assert (await store.read_update("r1", 1)).increments[0].payoff == 0.75
        assert [one.kind for one in await log_of(store)] == ["task", "quarantine", "task"]

    async def test_rows_of_several_domains_are_set_aside_together(self, store):
        for domain in ("maths", "law", "art"):
            await store.apply_update(an_update(domain, domain=domain))
        await spoil(store, total=7)
        assert len((await store.read_sums("maths")).quarantined) == 3
        assert (await store.read_sums("new")).lent("careful/plain").count == 0
        assert [(await log_of(store, domain))[-1].kind for domain in ("maths", "law", "art")] == ["quarantine"] * 3

    async def test_of_two_that_read_at_once_one_says_it(self, location, store):
        await store.apply_update(an_update())
        await spoil(store, total=7)
        async with await PolicyStore.open(location) as other:
            both = await asyncio.gather(store.read_sums("maths"), other.read_sums("maths"))
        assert sorted(len(sums.quarantined) for sums in both) == [0, 1]
        assert all(sorted(sums.here) == [HASTY, PRINCIPAL] for sums in both)

    async def test_the_summary_shows_it_before_and_after_it_is_set_aside(self, store):
        await store.apply_update(an_update())
        await spoil(store, count=0)
        [before] = await store.summary()
        [line] = (await store.read_sums("maths")).quarantined
        [after] = await store.summary()
        assert list(before.arms) == list(after.arms) == [HASTY, PRINCIPAL]
        assert before.quarantined == (line,)
        assert after.quarantined[0].startswith(f"{line} (set aside 20")
