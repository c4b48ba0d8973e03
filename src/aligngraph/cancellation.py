"""Cancelling a run: anybody who reaches its database asks for it, and the session at work on it looks now and then.

Who asks writes a request beside the run. A session with runs under way reads the requests of all of them at once, every
half second, and cancels the task that was asked to stop: outstanding calls end with it, what was stored stays.

Only sessions look: a run of a LangGraph server, or of a graph that somebody built and runs, is stopped where it runs.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from aligngraph.errors import RunCancelledError, StoreError
from aligngraph.persistence import PolicyStore

LOOK_EVERY_S = 0.5
POLL_S = 0.1
PATIENCE_S = 3.0

Ending = Literal["stopped", "ended", "interrupted", "unattended"]
"""What became of a run that was to be stopped: it was; it had its decision; it had been stopped before; no session works on it."""


async def stop_run(store: PolicyStore, run_id: str, patience_s: float = PATIENCE_S) -> Ending | None:
    """Have the run stopped by whoever works on it and return what became of it, None if there is no such run.

    One on which no session reacts within `patience_s` seconds is marked as interrupted. Mostly its process is dead; a
    session that lives after all stops as soon as it looks, while a run outside of any session goes on to its end.
    """
    run = await store.request_cancel(run_id)
    if run is None:
        return None
    if run.status == "interrupted":
        return "interrupted"
    deadline = time.monotonic() + patience_s
    while run is not None and run.status == "cancelling":
        if time.monotonic() > deadline:
            await store.mark_interrupted(run_id)
            return "unattended"
        await asyncio.sleep(POLL_S)
        run = await store.request_cancel(run_id)  # again, for one that somebody has just taken up
    return "stopped" if run is not None and run.status == "interrupted" else "ended"


class RunWatch:
    """The runs under way in one session, each in the task that asks; while there is none, nothing is read."""

    def __init__(self, store: PolicyStore) -> None:
        self._store = store
        self._asking: set[RunAtWork] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def under_way(self, run_id: str) -> Iterator["RunAtWork"]:
        """Enter a context within which the current task can be stopped: from within at once, by others once `watched`.

        Raises:
            RunCancelledError: it was; a task that its caller cancelled ends in CancelledError as ever.
        """
        task = asyncio.current_task()
        if task is None:  # never so in a coroutine; for the type checker
            raise RuntimeError("a run was begun outside of an event loop")
        asking = RunAtWork(run_id, task, task.cancelling())
        self._enter(asking)
        try:
            yield asking
        except asyncio.CancelledError as error:
            if asking.take_back():
                raise RunCancelledError(run_id) from error
            raise
        finally:
            asking.take_back()
            self._leave(asking)

    async def cancel(self, run_id: str) -> bool:
        """Stop this session's own work on the run and let it end; return whether there was any."""
        asking = [one for one in self._others() if one.run_id == run_id]
        for one in asking:
            one.cancel()
        await asyncio.gather(*(one.task for one in asking), return_exceptions=True)
        return bool(asking)

    async def end(self) -> None:
        """Cancel all tasks that other coroutines still wait for, as their own callers would, and let them end."""
        tasks = [one.task for one in self._others()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _others(self) -> "list[RunAtWork]":
        return [one for one in self._asking if one.task is not asyncio.current_task()]

    def _enter(self, asking: "RunAtWork") -> None:
        self._asking.add(asking)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def _leave(self, asking: "RunAtWork") -> None:
        self._asking.discard(asking)
        if not self._asking and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            with suppress(StoreError):  # a run cannot do without its store, and fails by itself if that goes on
                watched = [one for one in self._asking if one.watched]
                stopped = await self._store.read_stopped({one.run_id for one in watched})
                for one in watched:
                    if one.run_id in stopped:
                        one.cancel()


@dataclass(eq=False)
class RunAtWork:
    """One task at work on one run. It tells our cancellation from others, as `asyncio.timeout` does, by counting them.

    Attributes:
        run_id: the run.
        task: the task.
        earlier: cancellations that had been asked for before it began.
        watched: whether the database says by now that somebody works on the run.
        cancelled: whether we cancelled it.
    """

    run_id: str
    task: "asyncio.Task[Any]"
    earlier: int
    watched: bool = field(default=False, init=False)
    cancelled: bool = field(default=False, init=False)

    def cancel(self) -> None:
        """Cancel the task, once."""
        if not self.cancelled:
            self.cancelled = True
            self.task.cancel()

    def take_back(self) -> bool:
        """Take back our cancellation, if there is one; return whether there was and nobody else asked for any."""
        ours, self.cancelled = self.cancelled, False
        return ours and self.task.uncancel() <= self.earlier
