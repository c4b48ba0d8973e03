"""The circuit of a model: open while it is left alone because it kept failing.

closed     every call goes; so many failures in a row open it
open       none goes, until it has rested
half-open  one call goes as a trial: its success closes the circuit, its failure opens it for twice as long

All is pure, and a moment is wall-clock time in seconds since the epoch, since circuits last across processes.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Self

from aligngraph.calling.settings import CircuitSettings

State = Literal["closed", "open", "half-open"]
_MOST = 1e15  # in seconds, some thirty million years


@dataclass(frozen=True)
class Circuit:
    """What is known of a model's failures.

    Attributes:
        failures: in a row, up to now.
        opened_at: when the rest began; None while it is closed.
        rest_s: how long the rest lasts, > 0 while it is not closed.
        trial_at: when the trial went that has not been reported on; None for none.
        cause: of the last failure; None without one.

    Raises:
        ValueError: no circuit can be like this.
    """

    failures: int = 0
    opened_at: float | None = None
    rest_s: float = 0.0
    trial_at: float | None = None
    cause: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        times = [moment for moment in (self.opened_at, self.rest_s, self.trial_at) if moment is not None]
        if not all(map(math.isfinite, times)) or self.failures < 0 or self.rest_s < 0:
            raise ValueError(f"{self!r} has a number that cannot be")
        rests = self.opened_at is not None
        if rests != (self.rest_s > 0) or (self.trial_at is not None and not rests) or (rests and not self.failures):
            raise ValueError(f"{self!r} is closed and rests at once")

    @property
    def trial_due_at(self) -> float | None:
        """When the rest is over; None while it is closed."""
        return None if self.opened_at is None else self.opened_at + self.rest_s

    def state(self, now: float) -> State:
        """Return the state at `now`; a rest that began after it, by a clock that was put back since, is over."""
        if self.opened_at is None:
            return "closed"
        return "open" if _lasts(self.opened_at, self.rest_s, now) else "half-open"

    def admit(self, now: float) -> "Admission":
        """Return whether a call may go; where it is a trial, none other may until it is reported on.

        One that is never reported on is forgotten after as long as the rest was.
        """
        state = self.state(now)
        if state == "closed":
            return Admission(admitted=True, circuit=self)
        on_trial = self.trial_at is not None and _lasts(self.trial_at, self.rest_s, now)
        if state == "open" or on_trial:
            return Admission(admitted=False, circuit=self)
        return Admission(admitted=True, circuit=replace(self, trial_at=now))

    def after_success(self) -> "Circuit":
        """Return the circuit after a call that succeeded: closed, whenever that call was sent."""
        return Circuit()

    def after_failure(self, now: float, cause: str, settings: CircuitSettings) -> "Circuit":
        """Return the circuit after a call that failed.

        One that was sent before the circuit opened, and fails during the rest, does not prolong it.
        """
        failed = replace(self, failures=self.failures + 1, cause=cause)
        if self.opened_at is None:
            opens = failed.failures >= settings.failures
            return replace(failed, opened_at=now, rest_s=settings.rest_s) if opens else failed
        if self.trial_at is None:
            return failed
        rest_s = min(2 * self.rest_s, settings.longest_rest_s)
        return replace(failed, opened_at=now, rest_s=rest_s, trial_at=None)

    def resting_at_most(self, longest_rest_s: float) -> "Circuit":
        """Return the circuit with a rest that is not longer, whoever began it with which settings."""
        return replace(self, rest_s=min(self.rest_s, longest_rest_s))

    def as_json(self) -> dict[str, Any]:
        """Return the circuit in plain JSON types."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Return the circuit that `as_json` wrote.

        Raises:
            ValueError: it did not write this.
        """
        names = [field.name for field in fields(cls)]
        if not isinstance(value, Mapping) or set(value) != set(names):
            raise ValueError(f"{value!r} is no circuit: that is an object with {', '.join(names)}")
        wrong = [name for name in names if not _fits(name, value[name])]
        if wrong:
            raise ValueError(f"{value!r} is no circuit: {wrong[0]} cannot be {value[wrong[0]]!r}")
        return cls(**value)


@dataclass(frozen=True)
class Admission:
    """Whether a call may go, and the circuit afterwards."""

    admitted: bool
    circuit: Circuit


def _lasts(since: float, seconds: float, now: float) -> bool:
    return 0 <= now - since < seconds


def _fits(name: str, value: object) -> bool:
    if name == "cause":
        return value is None or isinstance(value, str)
    if value is None:
        return name in {"opened_at", "trial_at"}
    kind = int if name == "failures" else int | float
    return isinstance(value, kind) and not isinstance(value, bool) and abs(value) < _MOST
