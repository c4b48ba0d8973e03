"""The budget of one run: every call reserves what it may cost before it is made, and settles what it did cost after."""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from aligngraph.calling.spending import NOTHING, Spending, total
from aligngraph.errors import BudgetSpentError


@dataclass(frozen=True)
class Caps:
    """The most that one run may use; None is no cap.

    Attributes:
        calls: of any model, retries and repairs included.
        tokens: of prompts and completions together.
        money: in the unit of the prices.
        seconds: wall time from when this process took the run up.
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None


class Ledger:
    """What one run has spent and reserved. Safe for calls from any thread; waiting is for one event loop.

    Args:
        caps: never exceeded by what is spent, as far as a reservation is an upper bound of its call.
        clock: monotonic seconds.
    """

    def __init__(self, caps: Caps, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.caps = caps
        self._clock = clock
        self._began_at = clock()
        self._spent = NOTHING
        self._reserved: dict[Hashable, Spending] = {}
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._deadlines: dict[Hashable, float] = {}

    @property
    def spent(self) -> Spending:
        """What settled calls used."""
        return self._spent

    @property
    def remaining_s(self) -> float | None:
        """Seconds left, >= 0; None without a cap on them."""
        if self.caps.seconds is None:
            return None
        return max(0.0, self.caps.seconds - (self._clock() - self._began_at))

    def deadline_of(self, work: Hashable, limit_s: float) -> float:
        """Return when `work`, which may come in several parts, has had its seconds; they count from the first part on."""
        return self._deadlines.setdefault(work, self._clock() + limit_s)

    def acknowledge(self, *parts: Spending) -> None:
        """Count what is known to have been spent by the run, all in all, be it by a process that died.

        A cost that nobody saw, such as that of a graph on another server, cannot be counted and closes nothing.
        """
        spent = total(replace(part, cost=part.cost or 0.0) for part in parts)
        with self._lock:
            if spent.calls > self._spent.calls:
                self._spent = spent

    def reserve(self, call: Hashable, most: Spending) -> None:
        """Set aside what `call` may use.

        Raises:
            BudgetSpentError: it does not fit; `pending` says that it may once other calls have settled.
        """
        with self._lock:
            outstanding = total(self._reserved.values())
            if problem := self._exceeded(self._spent + outstanding + most):
                alone = self._exceeded(self._spent + most)
                raise BudgetSpentError(alone or problem, pending=alone is None)
            self._reserved[call] = most

    def settle(self, call: Hashable, used: Spending) -> None:
        """Replace what was set aside for `call` by what it used; of a call that reserved nothing, count it."""
        with self._lock:
            self._reserved.pop(call, None)
            self._spent += used
            waiting, self._waiting = self._waiting, []
        for loop, settled in waiting:
            loop.call_soon_threadsafe(settled.set)

    async def wait_for_settlement(self) -> None:
        """Return once another call has settled, at once where none is outstanding."""
        settled = asyncio.Event()
        with self._lock:
            if not self._reserved:
                return
            self._waiting.append((asyncio.get_running_loop(), settled))
        try:
            await settled.wait()
        finally:  # who was cancelled is not woken any more: its event loop may have ended by then
            with self._lock:
                self._waiting = [waiting for waiting in self._waiting if waiting[1] is not settled]

    def _exceeded(self, sum_: Spending) -> str | None:
        """Return which cap `sum_` would exceed, None if none."""
        caps = self.caps
        if self.remaining_s == 0:
            return f"budget: its {caps.seconds:g} seconds are over"
        if caps.calls is not None and sum_.calls > caps.calls:
            return f"budget: its {caps.calls:,} calls are spent"
        if caps.tokens is not None and sum_.tokens > caps.tokens:
            return f"budget: {self._spent.tokens:,} of its {caps.tokens:,} tokens are spent, and this call may need more than the rest"
        if caps.money is not None and (sum_.cost is None or sum_.cost > caps.money):
            return f"budget: {self._spent.cost or 0:.4f} of its {caps.money:g} money is spent, and this call may cost more than the rest"
        return None
