"""Lanes: what all calls of one model share, whoever makes them: how many at once, and whether it is worth asking."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol

from aligngraph.calling.circuit import Circuit
from aligngraph.calling.settings import CircuitSettings
from aligngraph.errors import ModelRestingError

Change = Callable[[Circuit], Circuit]


class CircuitRecords(Protocol):
    """Where circuits last, shared by all processes."""

    def __call__(self, model: str, change: Change) -> Awaitable[Circuit]:
        """Return the circuit of `model` after `change`, both in one transaction."""
        ...


@dataclass(frozen=True)
class _Gate:
    """Where the calls of one event loop wait, first come, first served."""

    turns: AbstractAsyncContextManager[None]
    pace: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class Lane:
    """The calls of one model.

    Attributes:
        model: its name in the records, the same in every process.
        settings: when it rests, and for how long.
        most_at_once: calls under way; None for any number.
        requests_per_minute: calls begun, evenly spread; None for any number.
        known: its circuit as this process last saw it.
    """

    model: str
    settings: CircuitSettings
    most_at_once: int | None = None
    requests_per_minute: float | None = None
    known: Circuit = field(default_factory=Circuit)
    clock: Callable[[], float] = time.time
    _gates: dict[asyncio.AbstractEventLoop, _Gate] = field(default_factory=dict, init=False, repr=False)
    _next_at: float = field(default=0.0, init=False, repr=False)  # on the monotonic clock

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered when it is this call's turn; the wait for it counts against no call's own time limit."""
        return self._gate().turns

    async def keep_pace(self) -> None:
        """Return once a request may be sent without exceeding the rate; the first one at once."""
        if self.requests_per_minute is None:
            return
        async with self._gate().pace:  # who is cancelled in here has used up nobody's place
            await asyncio.sleep(max(0.0, self._next_at - time.monotonic()))
            self._next_at = time.monotonic() + 60 / self.requests_per_minute

    async def admit(self, records: CircuitRecords) -> None:
        """Return where the model may be asked.

        Raises:
            ModelRestingError: it rests; says until when and why.
        """
        if self.known.state(self.clock()) == "closed":
            return
        admitted = False

        def change(circuit: Circuit) -> Circuit:
            nonlocal admitted
            admission = circuit.admit(self.clock())
            admitted = admission.admitted
            return admission.circuit

        self.known = await records(self.model, change)
        if not admitted:
            raise ModelRestingError(self._why_resting())

    async def note_success(self, records: CircuitRecords) -> None:
        """Record that the model answered."""
        if self.known.failures:
            self.known = await records(self.model, lambda circuit: circuit.after_success())

    async def note_failure(self, records: CircuitRecords, cause: str) -> None:
        """Record that a call of the model failed."""
        self.known = await records(
            self.model, lambda circuit: circuit.after_failure(self.clock(), cause, self.settings)
        )

    async def note_nothing(self, records: CircuitRecords) -> None:
        """Record that a call which was admitted says nothing of the model; was it a trial, then another may go."""
        if self.known.trial_at is not None:
            self.known = await records(self.model, lambda circuit: replace(circuit, trial_at=None))

    def _gate(self) -> _Gate:
        loop = asyncio.get_running_loop()
        if loop not in self._gates:  # locks belong to one event loop, and a program may run several in turn
            turns = nullcontext() if self.most_at_once is None else asyncio.Semaphore(self.most_at_once)
            self._gates = {loop: _Gate(turns)}
        return self._gates[loop]

    def _why_resting(self) -> str:
        return f"not asked, since it failed {self.known.failures} times in a row; the last cause: {self.known.cause}"
