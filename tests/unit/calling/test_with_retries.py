import asyncio
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aligngraph.calling.retrying import with_retries
from aligngraph.calling.settings import RetrySettings
from aligngraph.randomness import generator


class RefusedError(Exception):
    def __init__(self, status, wait_s=None):
        super().__init__(f"status {status}")
        self.status_code = status
        self.headers = {} if wait_s is None else {"retry-after": f"{wait_s:g}"}


class Call:
    """Fails with each of `errors` in turn, then returns how often it was made."""

    def __init__(self, *errors):
        self.errors, self.made = list(errors), 0

    async def __call__(self):
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.made


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now_s, self.waits = 0.0, []

    def __call__(self):
        return self.now_s

    async def sleep(self, wait_s):
        self.waits.append(wait_s)
        self.now_s += wait_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def retried(clock):
    """Return a function that makes a call with retries on the test's clock."""

    def start(call, rng=None, *, deadline_s=None, on_retry=None, **settings):
        return with_retries(
            call,
            RetrySettings(**settings),
            rng or generator(7),
            deadline_s=deadline_s,
            on_retry=on_retry,
            sleep=clock.sleep,
            clock=clock,
        )

    return start


async def test_a_call_that_succeeds_is_made_once(retried, clock):
    assert await retried(Call()) == 1
    assert clock.waits == []


async def test_any_awaitable_is_a_call(retried):
    async def answer(text):
        return text

    assert await retried(lambda: answer("ready")) == "ready"


async def test_it_is_made_again_until_it_succeeds(retried, clock):
    assert await retried(Call(RefusedError(503), ConnectionResetError())) == 3
    assert len(clock.waits) == 2


async def test_after_the_last_attempt_the_last_error_is_raised_as_it_was(retried, clock):
    errors = [RefusedError(503), RefusedError(500), RefusedError(502)]
    call = Call(*errors, RefusedError(504))
    with pytest.raises(RefusedError) as caught:
        await retried(call, attempts=3)
    assert caught.value is errors[2]
    assert caught.value.__notes__ == ["given up after attempt 3 of 3"]
    assert (call.made, len(clock.waits)) == (3, 2)


async def test_one_attempt_repeats_nothing(retried):
    call = Call(RefusedError(503))
    with pytest.raises(RefusedError):
        await retried(call, attempts=1)
    assert call.made == 1


@pytest.mark.parametrize("error", [RefusedError(400), RefusedError(401), ValueError("a mistake"), KeyboardInterrupt()])
async def test_what_does_not_pass_is_raised_at_once(retried, clock, error):
    call = Call(error)
    with pytest.raises(type(error)) as caught:
        await retried(call)
    assert caught.value is error
    assert not hasattr(error, "__notes__")
    assert (call.made, clock.waits) == (1, [])


async def test_what_passed_may_be_followed_by_what_does_not(retried):
    call = Call(RefusedError(503), RefusedError(401))
    with pytest.raises(RefusedError, match="status 401"):
        await retried(call, attempts=10)
    assert call.made == 2


async def test_the_server_says_how_long_to_wait_each_time(retried, clock):
    assert await retried(Call(RefusedError(429, 3), RefusedError(429, 0.25)), longest_wait_s=5) == 3
    assert clock.waits == [3.0, 0.25]


async def test_a_server_that_asks_for_no_wait_is_not_stormed(retried, clock):
    await retried(Call(RefusedError(429, 0)))
    assert clock.waits[0] > 0


async def test_a_longer_wait_than_allowed_is_not_begun(retried, clock):
    call = Call(RefusedError(429, 31))
    with pytest.raises(RefusedError) as caught:
        await retried(call, longest_wait_s=30)
    assert caught.value.__notes__ == ["not repeated: the server asks to wait 31 s, longest_wait_s is 30"]
    assert (call.made, clock.waits) == (1, [])


async def test_a_wait_as_long_as_allowed_is(retried, clock):
    assert await retried(Call(RefusedError(429, 30)), longest_wait_s=30) == 2
    assert clock.waits == [30.0]


async def test_no_attempt_begins_after_the_deadline(retried, clock):
    call = Call(*(RefusedError(429, 4) for _ in range(9)))
    with pytest.raises(RefusedError) as caught:
        await retried(call, attempts=10, deadline_s=10)
    assert caught.value.__notes__ == ["not repeated: the time would be over after a wait of 4 s"]
    assert (call.made, clock.waits) == (3, [4.0, 4.0])


async def test_the_time_that_calls_take_counts_too(retried, clock):
    async def slow():
        clock.now_s += 9.5
        raise RefusedError(429, 1)

    with pytest.raises(RefusedError):
        await retried(slow, deadline_s=10)
    assert clock.waits == []


async def test_every_new_attempt_is_told_with_its_wait(retried, clock):
    told, errors = [], [RefusedError(503), RefusedError(429, 2)]
    await retried(Call(*errors), on_retry=lambda error, wait_s: told.append((error, wait_s)))
    assert told == list(zip(errors, clock.waits, strict=True))


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.001, 100),
    st.floats(0.001, 100),
    st.integers(1, 10),
    st.sampled_from([Random, np.random.default_rng]),
)
def test_waits_are_drawn_below_a_bound_that_doubles(seed, first_wait_s, longest_wait_s, attempts, source):
    settings = RetrySettings(attempts=attempts, first_wait_s=first_wait_s, longest_wait_s=longest_wait_s)

    def waits():
        clock = Clock()
        call = Call(*(RefusedError(503) for _ in range(attempts - 1)))
        assert asyncio.run(with_retries(call, settings, source(seed), sleep=clock.sleep, clock=clock)) == attempts
        return clock.waits

    drawn = waits()
    assert drawn == waits()
    assert len(drawn) == attempts - 1
    for number, wait_s in enumerate(drawn):
        assert 0 <= wait_s <= min(first_wait_s * 2**number, longest_wait_s)


async def test_callers_that_failed_together_do_not_come_back_together():
    clocks = [Clock() for _ in range(50)]
    for seed, clock in enumerate(clocks):
        await with_retries(Call(RefusedError(503)), RetrySettings(first_wait_s=1), generator(seed), sleep=clock.sleep)
    waits = sorted(clock.waits[0] for clock in clocks)
    assert len(set(waits)) == 50
    assert waits[0] < 0.1
    assert waits[-1] > 0.9


async def test_a_cancelled_call_is_not_made_again():
    begun, call = asyncio.Event(), Call()

    async def endless():
        await call()
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(with_retries(endless, RetrySettings(), generator(0)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.made == 1


async def test_a_cancelled_wait_ends_at_once():
    waiting, call = asyncio.Event(), Call(RefusedError(503))

    async def sleep(_wait_s):
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(with_retries(call, RetrySettings(), generator(0), sleep=sleep))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.made == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"attempts": 0},
        {"attempts": 11},
        {"first_wait_s": 0},
        {"longest_wait_s": -1},
        {"longest_wait_s": float("inf")},
        {"tries": 3},
    ],
)
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(ValidationError):
        RetrySettings(**settings)
