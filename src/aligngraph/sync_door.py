"""The one door from synchronous code into the async core: an event loop in a daemon thread of its own.

One loop for all calls, since providers' HTTP clients stay bound to the loop that first used them.
"""

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_blocking(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Return what `coroutine` returns; also where the calling thread already runs an event loop."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    finally:
        future.cancel()  # Ctrl-C ends the wait; it must end the work too


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="aligngraph", daemon=True).start()
    return loop
