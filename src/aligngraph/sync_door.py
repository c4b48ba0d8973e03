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
    """Return what `coroutine` returns; also where the calling thread already runs an event loop.

    Ctrl-C cancels the work and waits until it has ended, so that what it does when cancelled is done.
    """
    loop = _loop()
    task = asyncio.run_coroutine_threadsafe(_begin(coroutine), loop).result()
    try:
        return asyncio.run_coroutine_threadsafe(_outcome(task), loop).result()
    finally:
        loop.call_soon_threadsafe(task.cancel)
        asyncio.run_coroutine_threadsafe(asyncio.wait([task]), loop).result()


async def _begin(coroutine: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    return asyncio.create_task(coroutine)


async def _outcome(task: asyncio.Task[Result]) -> Result:
    return await task


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="aligngraph", daemon=True).start()
    return loop
