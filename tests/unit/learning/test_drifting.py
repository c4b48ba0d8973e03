"""Arms that are paid otherwise of late: found where it is more than chance, whatever happened to the log."""

import pytest

from aligngraph.learning.drifting import RECENT_UPDATES, find_drift
from aligngraph.learning.known import read_learned
from aligngraph.persistence import Increment, Location, PolicyStore, Update
from aligngraph.policy import decay

ARM = "a/direct"
NOTE = "a/direct was paid 0.20 a task of late, 0.90 before: it may have changed"


class Town:
    """A store in which one arm is paid task by task."""

    def __init__(self, store):
        self.store, self.tasks = store, 0

    async def pay(self, payoff, times, *, made_of="m", kept=1.0, kind="task"):
        for _ in range(times):
            self.tasks += 1
            part = Increment(ARM, "agent", payoff, made_of=made_of)
            await self.store.apply_update(Update(f"run{self.tasks}", 1, "maths", (part,), decay=kept, kind=kind))

    async def correct(self, task, payoff):
        """Give feedback on a task: it takes back what was paid, and pays this."""

        def change(domain):
            return [
                Update(f"run{task}", 2, "maths", (Increment(ARM, "agent", payoff, 0.0, made_of="m"),), kind="feedback")
            ]

        await self.store.log.change_domain("maths", change)

    async def drift(self, made_of="m"):
        learned = read_learned(await self.store.read_sums("maths"), {ARM: made_of}, {})
        return await find_drift(self.store, "maths", learned)


@pytest.fixture
async def town(tmp_path):
    async with await PolicyStore.open(Location.parse(str(tmp_path / "store"))) as store:
        yield Town(store)


async def test_a_new_store_has_no_drift(town):
    assert await town.drift() == []


async def test_an_arm_that_is_paid_as_ever_has_none(town):
    for _ in range(50):
        await town.pay(0.8, 1)
        await town.pay(0.6, 1)
    assert await town.drift() == []


async def test_an_arm_that_fell_is_told_with_both_means(town):
    await town.pay(0.9, 60)
    await town.pay(0.2, RECENT_UPDATES)
    assert await town.drift() == [NOTE]


async def test_so_is_one_that_rose(town):
    await town.pay(0.2, 60)
    await town.pay(0.9, RECENT_UPDATES)
    assert await town.drift() == ["a/direct was paid 0.90 a task of late, 0.20 before: it may have changed"]


async def test_a_few_tasks_are_too_few_to_tell(town):
    await town.pay(0.9, RECENT_UPDATES)
    await town.pay(0.2, 19)
    assert await town.drift() == []


async def test_a_change_long_ago_is_the_past(town):
    await town.pay(0.2, 10)
    await town.pay(0.9, 40 + RECENT_UPDATES)
    assert await town.drift() == []


async def test_an_arm_made_of_something_else_is_another(town):
    await town.pay(0.9, 60)
    await town.pay(0.2, RECENT_UPDATES, made_of="n")
    assert await town.drift("m") == []
    assert await town.drift("n") == []


async def test_recorded_tasks_count_as_tasks(town):
    await town.pay(0.9, 60, kind="learn")
    await town.pay(0.2, RECENT_UPDATES, kind="learn")
    assert await town.drift() == [NOTE]


@pytest.mark.parametrize(
    ("now", "expected"), [(0.9, []), (0.0, ["a/direct was paid 0.00 a task of late, 0.90 before: it may have changed"])]
)
async def test_what_is_partly_forgotten_is_compared_at_its_worth(town, now, expected):
    """A half-life of 60 tasks: the sums hold less of the recent payoffs than was paid, and the past no less than its mean."""
    await town.pay(0.9, 120, kept=decay(60))
    await town.pay(now, RECENT_UPDATES, kept=decay(60))
    assert await town.drift() == expected


async def test_feedback_replaces_what_a_task_was_paid(town):
    await town.pay(0.9, 60)
    await town.pay(0.9, 30)
    for task in range(61, 91):
        await town.correct(task, -0.7)
    assert await town.drift() == [NOTE]


async def test_what_a_reset_has_cleared_is_no_recent_payoff(town):
    await town.pay(0.9, 60)
    await town.store.log.reset("maths")
    await town.pay(0.2, 30)
    assert await town.drift() == []


async def test_what_was_rolled_back_is_no_recent_payoff(town):
    await town.pay(0.9, 60)
    await town.pay(0.2, RECENT_UPDATES)
    assert await town.drift() == [NOTE]
    await town.store.log.rollback("run60", "maths")
    assert await town.drift() == []


async def test_sums_that_were_imported_are_the_past_and_no_task(town):
    await town.pay(0.9, 1)
    export = await town.store.log.export()
    for _ in range(30):
        await town.store.log.import_policy(export, add=True)
    await town.pay(0.2, 30)
    assert await town.drift() == [NOTE]


async def test_what_is_read_does_not_grow_with_the_tasks(town, monkeypatch):
    await town.pay(0.9, 2 * RECENT_UPDATES)
    numbers = []
    read_latest = town.store.log.read_latest

    async def counted(domain, number):
        rows = await read_latest(domain, number)
        numbers.append(len(rows))
        return rows

    monkeypatch.setattr(town.store.log, "read_latest", counted)
    await town.drift()
    assert numbers == [RECENT_UPDATES]
