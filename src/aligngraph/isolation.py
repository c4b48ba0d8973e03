"""The one place where a failing model call is caught: what fails there becomes a cause, never an answer."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, TypeVar

from langgraph.errors import GraphBubbleUp

from aligngraph.errors import CallError, StrayStopError

CAUSE_CHARS = 500  # a provider's error can be a whole HTML page, and every checkpoint holds it
Value = TypeVar("Value")


@dataclass(frozen=True)
class Attempt(Generic[Value]):
    """How a call ended: exactly one of `value` and `cause` is not None; `error` is what was raised where it failed."""

    value: Value | None
    cause: str | None
    error: Exception | None = None

    def result(self) -> Value:
        """Return the value.

        Raises:
            Exception: `error`, where the call failed.
        """
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # without an error there is a value


async def attempt(call: Awaitable[Value], timeout_s: float | None) -> Attempt[Value]:
    """Return the value of `call`, or the cause of its failure in one line.

    Cancellation and LangGraph's interrupts pass through: they stop the run and are no failure of the call.

    Args:
        call: to be awaited.
        timeout_s: seconds > 0 that it may take; None for any.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return Attempt(await contain(call), None)
    except GraphBubbleUp:
        raise
    except TimeoutError as error:
        late = describe_cause(error) if timeout_s is None else f"no reply within {timeout_s:g} s"
        return Attempt(None, _line(error) or late, error)
    except Exception as error:  # noqa: BLE001 - whatever a provider raises is that call's failure, and its alone
        return Attempt(None, describe_cause(error), error)


async def contain(call: Awaitable[Value]) -> Value:
    """Return the value of `call`. Whatever it raises stays below: what would end the program becomes an error.

    Ctrl-C passes through, and so does the cancellation of this task, but not one that leaks from a task within.

    Raises:
        StrayStopError: in the place of SystemExit, a stray cancellation and their like.
    """
    task = asyncio.current_task()
    try:
        return await call
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise StrayStopError(f"stopped itself: {_name(error)}") from error


def describe_cause(error: BaseException) -> str:
    """Return the error's class and own message in one line, with the error behind it where a client hides one.

    Of a call that we ended ourselves the message says it all.
    """
    if isinstance(error, CallError):
        return _line(error)
    root, seen = error, {id(error)}
    while root.__cause__ is not None and id(root.__cause__) not in seen:  # an error may be its own cause
        root = root.__cause__
        seen.add(id(root))
    return _name(error) if root is error else f"{_name(error)} ({_name(root)})"


def _name(error: BaseException) -> str:
    message = _line(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:CAUSE_CHARS]
