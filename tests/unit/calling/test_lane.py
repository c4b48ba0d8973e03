"""Lanes: how many calls at once, how often, and whether the model is asked at all."""

import asyncio
import time
from itertools import pairwise

import pytest

from aligngraph.calling.circuit import Circuit
from aligngraph.calling.lane import Lane
from aligngraph.calling.settings import CircuitSettings
from aligngraph.errors import ModelRestingError, StoreError

SETTINGS = CircuitSettings(failures=2, rest_s=60)
NOW_S = 1_700_000_000.0


class Clock:
    """Wall-clock time that passes when the test says so."""

    def __init__(self):
        self.now_s = NOW_S

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lane(clock):
    return Lane("m", SETTINGS, clock=clock)


async def open_it(lane, records):
    for number in range(SETTINGS.failures):
        await lane.note_failure(records, f"cause {number}")


class TestTurns:
    async def most_at_once(self, lane, calls=9):
        under_way, most = 0, 0

        async def call():
            nonlocal under_way, most
            async with lane.turn():
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                under_way -= 1

        await asyncio.gather(*(call() for _ in range(calls)))
        return most

    @pytest.mark.parametrize(("limit", "most"), [(1, 1), (4, 4), (20, 9), (None, 9)])
    async def test_no_more_than_the_limit_go_at_once(self, limit, most):
        assert await self.most_at_once(Lane("m", SETTINGS, most_at_once=limit)) == most

    def test_two_event_loops_share_the_turns(self):
        async def enter():
            await lane.turn().__aenter__()

        async def must_wait():
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(enter(), 0.01)

        lane = Lane("of two loops", SETTINGS, most_at_once=1)
        with asyncio.Runner() as one, asyncio.Runner() as other:
            one.run(enter())
            other.run(must_wait())
            one.run(lane.turn().__aexit__(None, None, None))
            other.run(enter())
            one.run(must_wait())

    def test_a_lane_outlives_its_event_loop(self):
        lane = Lane("m", SETTINGS, most_at_once=2, requests_per_minute=60_000)
        assert [asyncio.run(self.most_at_once(lane)) for _ in range(2)] == [2, 2]
        for _ in range(2):
            asyncio.run(lane.keep_pace())


class TestPace:
    async def starts(self, lane, calls):
        begun, at = time.monotonic(), []

        async def call():
            await lane.keep_pace()
            at.append(time.monotonic() - begun)

        await asyncio.gather(*(call() for _ in range(calls)))
        return at

    async def test_the_first_goes_at_once_and_the_next_an_interval_later_each(self):
        at = await self.starts(Lane("m", SETTINGS, requests_per_minute=1200), 5)
        assert at[0] < 0.05
        gaps = [after - before for before, after in pairwise(at)]
        assert min(gaps) >= 0.0499

    async def test_a_fast_pace_is_reached(self):
        at = await self.starts(Lane("m", SETTINGS, requests_per_minute=60_000), 50)
        assert 0.049 <= at[-1] < 2.0

    async def test_without_a_limit_all_go_at_once(self):
        lane = Lane("m", SETTINGS)
        await asyncio.wait_for(self.starts(lane, 1000), 5)
        lane.give_back(await lane.keep_pace())

    async def test_who_gives_up_waiting_delays_nobody(self):
        lane = Lane("m", SETTINGS, requests_per_minute=600)
        await lane.keep_pace()
        waiting = [asyncio.create_task(lane.keep_pace()) for _ in range(100)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (await self.starts(lane, 1))[0] < 1.0, "and not the ten seconds that the hundred would have taken"


class TestCircuit:
    async def test_a_model_that_keeps_failing_is_left_alone_and_the_reason_is_told(self, lane, records):
        await open_it(lane, records)
        with pytest.raises(
            ModelRestingError, match=r"^not asked, since it failed 2 times in a row; the last cause: cause 1$"
        ):
            await lane.admit(records)

    async def test_a_success_in_between_starts_the_count_anew(self, lane, records):
        await lane.note_failure(records, "once")
        await lane.note_success(records)
        await lane.note_failure(records, "again")
        await lane.admit(records)
        assert records.circuits["m"].failures == 1

    async def test_a_model_that_never_failed_costs_no_transaction(self, lane, records):
        for _ in range(3):
            await lane.admit(records)
            await lane.note_success(records)
            await lane.note_nothing(records, await lane.admit(records))
        assert records.changes == 0

    async def test_another_process_knows_from_the_store(self, lane, records, clock):
        await open_it(lane, records)
        other = Lane("m", SETTINGS, known=records.circuits["m"], clock=clock)
        with pytest.raises(ModelRestingError):
            await other.admit(records)

    async def test_half_open_of_all_processes_one_call_goes(self, lane, records, clock):
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        lanes = [lane, *(Lane("m", SETTINGS, known=records.circuits["m"], clock=clock) for _ in range(4))]
        admitted = await asyncio.gather(*(one.admit(records) for one in lanes), return_exceptions=True)
        assert [type(one).__name__ for one in admitted].count("ModelRestingError") == 4
        assert admitted.count(clock.now_s) == 1

    async def test_the_trial_s_success_closes_it_for_all(self, lane, records, clock):
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        await lane.admit(records)
        await lane.note_success(records)
        assert records.circuits["m"] == lane.known == Circuit()

    async def test_the_trial_s_failure_doubles_the_rest(self, lane, records, clock):
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        await lane.admit(records)
        await lane.note_failure(records, "still")
        clock.now_s += 2 * SETTINGS.rest_s - 1
        with pytest.raises(ModelRestingError, match="3 times in a row; the last cause: still"):
            await lane.admit(records)
        clock.now_s += 1
        await lane.admit(records)

    async def test_a_trial_that_was_never_sent_makes_room_for_another(self, lane, records, clock):
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        trial_at = await lane.admit(records)
        await lane.note_nothing(records, trial_at)
        assert records.circuits["m"].trial_at is None
        assert await lane.admit(records) == records.circuits["m"].trial_at == clock.now_s

    async def test_a_call_that_was_no_trial_ends_nobody_s(self, lane, records, clock):
        """It was sent before the circuit opened, and ends without a word on the model amid another process's trial."""
        before = await lane.admit(records)
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        other = Lane("m", SETTINGS, known=records.circuits["m"], clock=clock)
        trial_at = await other.admit(records)
        await lane.note_nothing(records, before)
        assert records.circuits["m"].trial_at == trial_at == clock.now_s

    async def test_a_trial_that_was_forgotten_does_not_end_the_next_one(self, lane, records, clock):
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        forgotten = await lane.admit(records)
        clock.now_s += SETTINGS.rest_s
        trial_at = await lane.admit(records)
        await lane.note_nothing(records, forgotten)
        assert records.circuits["m"].trial_at == trial_at

    async def test_a_trial_of_a_process_that_died_is_forgotten(self, lane, records, clock):
        await open_it(lane, records)
        clock.now_s += SETTINGS.rest_s
        await lane.admit(records)
        with pytest.raises(ModelRestingError):
            await lane.admit(records)
        clock.now_s += SETTINGS.rest_s
        await lane.admit(records)


class TestKnownFromElsewhere:
    async def test_rows_that_were_read_before_its_own_change_are_older(self, lane, records):
        read_at = time.monotonic()
        await open_it(lane, records)
        lane.learn(Circuit(), read_at)
        with pytest.raises(ModelRestingError):
            await lane.admit(records)

    async def test_rows_that_were_read_since_are_newer(self, lane, records):
        await open_it(lane, records)
        lane.learn(Circuit(), time.monotonic())
        assert await lane.admit(records) is None

    @pytest.mark.parametrize("read", [True, False])
    async def test_no_rest_is_longer_than_its_own_settings_allow(self, lane, records, clock, read):
        """The row was written with other settings, or by somebody else, and would rest for thirty million years."""
        records.circuits["m"] = stored = Circuit(failures=2, opened_at=NOW_S, rest_s=9e14, cause="503")
        if read:
            lane.learn(stored, time.monotonic())
            assert lane.known.trial_due_at == NOW_S + SETTINGS.longest_rest_s
        else:
            await lane.note_nothing(records, NOW_S)
        clock.now_s += SETTINGS.longest_rest_s - 1
        with pytest.raises(ModelRestingError):
            await lane.admit(records)
        clock.now_s += 1
        assert await lane.admit(records) == clock.now_s


class TestWithoutRecords:
    """Circuits are advice: a database that cannot be written stops no call, and a lane still learns by itself."""

    async def broken(self, model, change):
        change(Circuit())
        raise StoreError(f"cannot use the database of {model}: disk full")

    async def test_it_goes_by_what_it_knows(self, lane, clock):
        await open_it(lane, self.broken)
        with pytest.raises(ModelRestingError, match="2 times in a row; the last cause: cause 1"):
            await lane.admit(self.broken)
        clock.now_s += SETTINGS.rest_s
        trial_at = await lane.admit(self.broken)
        assert trial_at == clock.now_s
        with pytest.raises(ModelRestingError):
            await lane.admit(self.broken)
        await lane.note_nothing(self.broken, trial_at)
        await lane.admit(self.broken)
        await lane.note_success(self.broken)
        assert lane.known == Circuit()
