"""Gates: one for all calls of a model in a process, whichever event loop they run in."""

import asyncio
import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from aligngraph.calling.gates import Gates, Pace, PerLoop, Turns, gates_of


@pytest.fixture
def loops():
    """Return two event loops that live at the same time and take turns."""
    with asyncio.Runner() as one, asyncio.Runner() as other:
        yield one, other


async def must_wait(waiting):
    task = asyncio.ensure_future(waiting)
    for _ in range(5):
        await asyncio.sleep(0)
    waits = not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return waits


async def waited_s(pace):
    begun = time.monotonic()
    await pace.keep()
    return time.monotonic() - begun


class TestPerLoop:
    def test_a_loop_keeps_its_value_while_others_come(self, loops):
        values = PerLoop(object)

        async def get():
            return values.get()

        one, other = loops
        first, second = one.run(get()), other.run(get())
        assert first is one.run(get()) is not second
        assert second is other.run(get())

    def test_what_belongs_to_an_ended_loop_is_let_go(self):
        """A lock that somebody waited for refers to its loop, so that weak keys alone would keep both."""
        locks, ended = PerLoop(asyncio.Lock), []

        async def wait_in_line():
            async with locks.get():
                assert await must_wait(locks.get().acquire())
            ended.append(weakref.ref(asyncio.get_running_loop()))

        for _ in range(3):
            asyncio.run(wait_in_line())
        gc.collect()
        assert [loop() for loop in ended[:2]] == [None, None]

    def test_outside_of_a_loop_there_is_none(self):
        with pytest.raises(RuntimeError, match="no running event loop"):
            PerLoop(object).get()


class TestTurns:
    async def test_without_a_limit_nobody_waits(self):
        gates = Gates(None, None)
        async with gates.turn(), gates.turn():
            assert gates.pace is None

    async def test_with_one_all_have_the_same(self):
        gates = Gates(1, None)
        async with gates.turn():
            assert await must_wait(gates.turn().__aenter__())


class TestPace:
    def test_all_loops_together_keep_it(self, loops):
        pace, (one, other) = Pace(600), loops
        assert one.run(waited_s(pace)) < 0.05
        assert other.run(waited_s(pace)) >= 0.04
        assert one.run(waited_s(pace)) >= 0.04

    async def test_a_place_that_is_given_back_is_the_next_one_s(self):
        pace = Pace(0.1)
        for _ in range(100):
            pace.give_back(await asyncio.wait_for(pace.keep(), 1))

    async def test_who_waits_already_gets_it_too(self):
        pace = Pace(0.1)
        place = await pace.keep()
        waiting = asyncio.create_task(pace.keep())
        await asyncio.sleep(0)
        pace.give_back(place)
        assert await asyncio.wait_for(waiting, 1) > place

    async def test_but_not_once_a_later_place_is_taken(self):
        pace = Pace(6000)
        first = await pace.keep()
        second = await pace.keep()
        pace.give_back(first)
        assert await pace.keep() >= second + 0.01


class TestTheProcess:
    def test_same_model_and_limits_same_gates(self):
        assert gates_of("a model", 2, 60.0) is gates_of("a model", 2, 60.0)

    @pytest.mark.parametrize("other", [("another", 2, 60.0), ("a model", 3, 60.0), ("a model", 2, None)])
    def test_another_model_or_limit_other_gates(self, other):
        assert gates_of(*other) is not gates_of("a model", 2, 60.0)


class TestTurnsOfManyLoops:
    def test_threads_with_loops_of_their_own_share_them(self):
        turns, inside, most = Turns(2), [], []

        async def work(number):
            async with turns:
                inside.append(number)
                most.append(len(inside))
                await asyncio.sleep(0.005)
                inside.remove(number)

        async def work_in_parallel(first):
            await asyncio.gather(*(work(first + number) for number in range(5)))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda first: asyncio.run(work_in_parallel(first)), (0, 10, 20, 30)))
        assert max(most) == 2
        assert len(most) == 20

    async def test_who_leaves_the_queue_takes_nobody_s_turn(self):
        turns = Turns(1)

        async def enter():
            async with turns:
                return True

        async with turns:
            left, waits = asyncio.create_task(enter()), asyncio.create_task(enter())
            await asyncio.sleep(0)
            left.cancel()
        assert await waits
        assert await asyncio.gather(left, return_exceptions=True)
        assert await enter()

    async def test_a_turn_that_comes_to_one_who_is_cancelled_is_passed_on(self):
        turns = Turns(1)

        async def enter():
            async with turns:
                return True

        async with turns:
            gone, waits = asyncio.create_task(enter()), asyncio.create_task(enter())
            await asyncio.sleep(0)
        gone.cancel()  # its turn has been given, and it has not run yet
        assert await waits
        assert await enter()
