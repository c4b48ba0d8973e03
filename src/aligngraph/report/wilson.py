"""The interval of a mean of numbers in [0, 1]."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final

LEVEL: Final = 0.9
_SLACK: Final = 1e-9  # what adding up may leave over


@dataclass(frozen=True)
class Reach:
    """The ends of an interval, 0 <= low <= high <= 1."""

    low: float
    high: float


def wilson(total: float, count: int) -> Reach:
    """Return Wilson's 90 % score interval of a mean. [Wilson1927].

    Args:
        total: sum of the numbers, each in [0, 1].
        count: how many they are, > 0.

    Raises:
        ValueError: there is nothing to have a mean, or the sum is outside its range.
    """
    if count <= 0 or not -_SLACK <= total <= count + _SLACK:
        raise ValueError(f"wilson: got a sum of {total!r} over {count!r}, allowed is a sum in [0, count] over > 0")
    mean = min(max(total / count, 0.0), 1.0)
    spread = NormalDist().inv_cdf((1 + LEVEL) / 2) ** 2 / count
    centre = (mean + spread / 2) / (1 + spread)
    reach = sqrt(spread * (mean * (1 - mean) + spread / 4)) / (1 + spread)
    return Reach(max(0.0, centre - reach), min(1.0, centre + reach))
