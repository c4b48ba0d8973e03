import asyncio

import pytest

from aligngraph.errors import StrayStopError
from aligngraph.isolation import attempt, describe_cause


async def raise_(error):
    raise error


async def test_a_value_comes_back():
    async def answer():
        return 42

    ended = await attempt(answer(), 1)
    assert (ended.value, ended.cause) == (42, None)


async def test_the_result_is_the_value_or_the_error_as_it_was_raised():
    async def answer():
        return None

    assert (await attempt(answer(), 1)).result() is None
    error = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught:
        (await attempt(raise_(error), 1)).result()
    assert caught.value is error


async def test_f51_the_true_cause_comes_back_in_one_line():
    ended = await attempt(raise_(ValueError("rate limit\nreached")), 1)
    assert (ended.value, ended.cause) == (None, "ValueError: rate limit reached")


async def test_a_call_that_hangs_ends_at_its_timeout():
    ended = await attempt(asyncio.Event().wait(), 0.01)
    assert ended.cause == "no reply within 0.01 s"


async def test_a_provider_s_own_timeout_keeps_its_words():
    assert (await attempt(raise_(TimeoutError("read timed out")), 1)).cause == "read timed out"


async def test_a_timeout_without_words_is_told_by_its_name_where_there_was_no_limit_of_ours():
    ended = await attempt(raise_(TimeoutError()), None)
    assert (ended.value, ended.cause) == (None, "TimeoutError")


async def test_cancellation_is_no_failure_of_the_call():
    call = asyncio.create_task(attempt(asyncio.Event().wait(), 60))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def test_an_error_without_a_message_is_named_by_its_class():
    assert describe_cause(KeyError()) == "KeyError"


def test_f51_the_error_behind_a_client_s_own_is_told():
    error = RuntimeError("Connection error.")
    error.__cause__ = ConnectionRefusedError("nobody listens on port 9")
    assert describe_cause(error) == "RuntimeError: Connection error. (ConnectionRefusedError: nobody listens on port 9)"


@pytest.mark.parametrize("kind", [ValueError, TimeoutError])
async def test_a_whole_page_as_an_error_is_cut_short(kind):
    ended = await attempt(raise_(kind("<html>" + "x" * 9000)), 1)
    assert len(ended.cause) < 600


class Ending(BaseException):
    """As some libraries end a program."""


@pytest.mark.parametrize("ending", [SystemExit(3), Ending("over"), asyncio.CancelledError("a task within")])
async def test_what_would_end_the_program_is_that_call_s_failure(ending):
    async def call():
        raise ending

    ended = await attempt(call(), None)
    assert ended.value is None
    assert isinstance(ended.error, StrayStopError)
    assert type(ending).__name__ in ended.cause


async def test_a_cancelled_inner_task_is_that_call_s_failure_and_our_own_cancellation_is_none():
    async def leak():
        inner = asyncio.create_task(asyncio.Event().wait())
        inner.cancel()
        await inner

    assert isinstance((await attempt(leak(), None)).error, StrayStopError)
    ours = asyncio.create_task(attempt(asyncio.Event().wait(), None))
    await asyncio.sleep(0)
    ours.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ours


def test_an_error_that_is_its_own_cause_is_described():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert describe_cause(one) == "ValueError: one (ValueError: other)"
    one.__cause__ = one
    assert describe_cause(one) == "ValueError: one"
