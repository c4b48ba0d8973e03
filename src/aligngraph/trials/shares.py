"""Shares with their intervals, all at 95 percent."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from math import sqrt
from typing import Any

from aligngraph.errors import MissingExtraError


@dataclass(frozen=True)
class Estimate:
    """A number and the interval around it; for a share all lie in [0, 1], for a difference of shares in [-1, 1]."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    hits: int
    of: int

    @classmethod
    def among(cls, flags: Iterable[bool | None]) -> "Share":
        """Return the share of true ones among those that are not None."""
        known = [flag for flag in flags if flag is not None]
        return cls(sum(known), len(known))

    @property
    def value(self) -> float | None:
        """The share, None of nothing."""
        return self.hits / self.of if self.of else None

    @property
    def estimate(self) -> Estimate | None:
        """The share with its Wilson score interval, None of nothing.

        Raises:
            MissingExtraError: scipy is not installed.
        """
        return _wilson(self.hits, self.of) if self.of else None

    def as_json(self) -> dict[str, Any]:
        """Return the share in plain JSON types."""
        found = self.estimate
        interval = [found.low, found.high] if found else None
        return {"hits": self.hits, "of": self.of, "value": self.value, "interval": interval}


def paired_difference(pairs: Iterable[tuple[bool, bool]]) -> Estimate | None:
    """Return how much more often the first of each pair holds than the second, None of no pairs.

    The interval is Newcombe's for paired proportions (his method 10): the Wilson intervals of both, combined by how far
    both go together. No ready one is to be had in Python. [Newcombe1998]

    Raises:
        MissingExtraError: scipy is not installed.
    """
    pairs = list(pairs)
    if not pairs:
        return None
    first, second = (_wilson(sum(flags), len(pairs)) for flags in zip(*pairs, strict=True))
    together = _correlation(pairs)
    difference = first.value - second.value
    below = _combine(first.value - first.low, second.high - second.value, together)
    above = _combine(second.value - second.low, first.high - first.value, together)
    return Estimate(difference, difference - below, difference + above)


def _combine(one: float, other: float, together: float) -> float:
    return sqrt(max(0.0, one**2 - 2 * together * one * other + other**2))


def _correlation(pairs: list[tuple[bool, bool]]) -> float:
    """Return phi, corrected for continuity; 0 where one side never changes."""
    both, one, other, neither = (
        pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))
    )
    spread = (both + one) * (other + neither) * (both + other) * (one + neither)
    excess = both * neither - one * other
    corrected = max(excess - len(pairs) / 2, 0) if excess > 0 else excess
    return corrected / sqrt(spread) if spread else 0.0


def require_intervals() -> None:
    """Do nothing where intervals can be computed: asked before calls are paid for.

    Raises:
        MissingExtraError: scipy is not installed.
    """
    if find_spec("scipy") is None:
        raise MissingExtraError('intervals need scipy: pip install "aligngraph[bench]"')


def _wilson(hits: int, of: int) -> Estimate:
    require_intervals()
    from scipy.stats import binomtest  # noqa: PLC0415 - an extra, half a second

    interval = binomtest(hits, of).proportion_ci(method="wilson")
    return Estimate(hits / of, float(interval.low), float(interval.high))
