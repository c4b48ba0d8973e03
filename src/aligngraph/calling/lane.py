"""Lanes: what all calls of one model share, whoever makes them: how many at once, and whether it is worth asking."""

import math
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from aligngraph.calling.circuit import Admission, Circuit
from aligngraph.calling.gates import Gates, gates_of
from aligngraph.calling.settings import CircuitSettings
from aligngraph.errors import ModelRestingError, StoreError

Change = Callable[[Circuit], Circuit]


class CircuitRecords(Protocol):
    """Where circuits last, shared by all processes."""

    def __call__(self, model: str, change: Change) -> Awaitable[Circuit]:
        """Return the circuit of `model` after `change`, both in one transaction."""
        ...


@dataclass
class Lane:
    """The calls of one model. Lanes of one model with the same limits share these, in the whole process.

    Circuits are advice: where the records cannot be written, a lane goes by what it knows itself.

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
    _gates: Gates = field(init=False, repr=False)
    _changed_at: float = field(default=-math.inf, init=False, repr=False)  # on the monotonic clock

    def __post_init__(self) -> None:
        """Find the gates that other lanes of the model may have passed already."""
        self._gates = gates_of(self.model, self.most_at_once, self.requests_per_minute)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered when it is this call's turn; the wait for it counts against no call's own time limit."""
        return self._gates.turn()

    async def keep_pace(self) -> float | None:
        """Return once a request may be sent without exceeding the rate; its place in it, None without a limit."""
        return None if self._gates.pace is None else await self._gates.pace.keep()

    def give_back(self, place: float | None) -> None:
        """Let another request have the place of one that was not sent after all."""
        if self._gates.pace is not None and place is not None:
            self._gates.pace.give_back(place)

    def learn(self, circuit: Circuit, read_at: float) -> None:
        """Take over a circuit that was read from the records, unless this lane has changed its own since.

        Args:
            circuit: as it was stored.
            read_at: on the monotonic clock, before the reading began.
        """
        if self._changed_at < read_at:
            self.known = self._limited(circuit)

    async def admit(self, records: CircuitRecords) -> float | None:
        """Return where the model may be asked: when this call went as the trial, None where it is none.

        Raises:
            ModelRestingError: it rests; says until when and why.
        """
        if self.known.state(self.clock()) == "closed":
            return None
        admission = Admission(admitted=False, circuit=self.known)

        def change(circuit: Circuit) -> Circuit:
            nonlocal admission
            admission = circuit.admit(self.clock())
            return admission.circuit

        await self._change(records, change)
        if not admission.admitted:
            raise ModelRestingError(self._why_resting())
        return admission.circuit.trial_at

    async def note_success(self, records: CircuitRecords) -> None:
        """Record that the model answered."""
        if self.known.failures:
            await self._change(records, lambda circuit: circuit.after_success())

    async def note_failure(self, records: CircuitRecords, cause: str) -> None:
        """Record that a call of the model failed."""
        await self._change(records, lambda circuit: circuit.after_failure(self.clock(), cause, self.settings))

    async def note_nothing(self, records: CircuitRecords, trial_at: float | None) -> None:
        """Record that a call says nothing of the model; was it the trial of that moment, then another may go."""
        if trial_at is not None:
            await self._change(
                records, lambda circuit: replace(circuit, trial_at=None) if circuit.trial_at == trial_at else circuit
            )

    async def _change(self, records: CircuitRecords, change: Change) -> None:
        try:
            self.known = await records(self.model, lambda circuit: change(self._limited(circuit)))
        except StoreError:  # no paid reply is lost for want of a record
            self.known = change(self.known)
        self._changed_at = time.monotonic()

    def _limited(self, circuit: Circuit) -> Circuit:
        return circuit.resting_at_most(self.settings.longest_rest_s)

    def _why_resting(self) -> str:
        return f"not asked, since it failed {self.known.failures} times in a row; the last cause: {self.known.cause}"
