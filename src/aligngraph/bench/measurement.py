"""What a benchmark measures: a named quantity, repeated, next to the limit it is held to."""

from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

Unit = Literal["ms", "s", "MB", "times"]
Verdict = Literal["ok", "over"]


@dataclass(frozen=True)
class Measurement:
    """One row of a benchmark.

    Attributes:
        unit: MB are 2**20 bytes; `times` is a ratio.
        values: one for each repeat, at least one.
        limit: the most that the median may be; None for a quantity that is only reported.
    """

    name: str
    unit: Unit
    values: tuple[float, ...]
    limit: float | None = None

    @property
    def median(self) -> float:
        """The value that is held to the limit."""
        return median(self.values)

    @property
    def verdict(self) -> Verdict | None:
        """Whether the median is within the limit; None without one."""
        if self.limit is None:
            return None
        return "over" if self.median > self.limit else "ok"

    def as_json(self) -> dict[str, Any]:
        """Return the row in plain JSON types."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "min": min(self.values),
            "max": max(self.values),
            "repeats": len(self.values),
            "limit": self.limit,
            "verdict": self.verdict,
        }
