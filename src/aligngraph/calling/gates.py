"""Gates: where the calls of one model wait, those of all teams, sessions and tasks of this process together."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from typing_extensions import override

Value = TypeVar("Value")


class PerLoop(Generic[Value]):
    """One value for each event loop, such as a lock, which cannot be shared by loops. Several may run at once, in threads.

    Args:
        make: returns the value of a loop that has none yet.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, Value] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self) -> Value:
        """Return the value of the running loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._made:
                for ended in [known for known in self._made if known.is_closed()]:
                    del self._made[ended]  # a lock that was waited for refers to its loop, and would keep it for ever
                self._made[loop] = self._make()
            return self._made[loop]


@dataclass(frozen=True)
class _Queue:
    """Where the calls of one event loop wait for a place in the rate, first come, first served."""

    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    freed: asyncio.Event = field(default_factory=asyncio.Event)


class Pace:
    """Requests begun, evenly spread, from all event loops together."""

    def __init__(self, requests_per_minute: float) -> None:
        self._interval_s = 60 / requests_per_minute
        self._next_at = 0.0  # on the monotonic clock
        self._lock = threading.Lock()
        self._queues = PerLoop(_Queue)

    async def keep(self) -> float:
        """Return a place in the rate once a request may be sent; the first one at once."""
        queue = self._queues.get()
        async with queue.first:  # who is cancelled in here has used up nobody's place
            while (place := self._take_place()) is None:
                queue.freed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._next_at - time.monotonic()):
                        await queue.freed.wait()
            return place

    def give_back(self, place: float) -> None:
        """Let another request have the place of one that was not sent, unless a later place is taken already."""
        with self._lock:
            if self._next_at == place:
                self._next_at = 0.0
        self._queues.get().freed.set()

    def _take_place(self) -> float | None:
        """Return a place, which is known by when the next one follows; None while none is free."""
        with self._lock:
            now = time.monotonic()
            if now < self._next_at:
                return None
            self._next_at = now + self._interval_s
            return self._next_at


class Turns(AbstractAsyncContextManager[None]):
    """At most so many inside at once, from all event loops together; first come, first served.

    asyncio's own semaphore belongs to one loop, and every thread that asks brings its own.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    @override
    async def __aenter__(self) -> None:
        place = (loop := asyncio.get_running_loop()), loop.create_future()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._waiting.append(place)
        try:
            await place[1]
        except asyncio.CancelledError:
            if not self._leave(place):  # its turn had come already, and is another's now
                self._pass_on()
            raise

    @override
    async def __aexit__(self, *_raised: object) -> None:
        self._pass_on()

    def _leave(self, place: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]) -> bool:
        """Return whether it still waited."""
        with self._lock:
            if place not in self._waiting:
                return False
            self._waiting.remove(place)
            return True

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                loop, turn = self._waiting.popleft()
                with suppress(RuntimeError):  # its loop has been closed
                    loop.call_soon_threadsafe(_begin, turn)
                    return
            self._free += 1


def _begin(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)


class Gates:
    """The turns and the pace of one model; None is no limit."""

    def __init__(self, most_at_once: int | None, requests_per_minute: float | None) -> None:
        self._turns = None if most_at_once is None else Turns(most_at_once)
        self.pace = None if requests_per_minute is None else Pace(requests_per_minute)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered when it is a call's turn."""
        return nullcontext() if self._turns is None else self._turns


_GATES: dict[tuple[str, int | None, float | None], Gates] = {}


def gates_of(model: str, most_at_once: int | None, requests_per_minute: float | None) -> Gates:
    """Return the gates of `model` in this process, the same for all that name it with the same limits."""
    new = Gates(most_at_once, requests_per_minute)
    return _GATES.setdefault((model, most_at_once, requests_per_minute), new)
