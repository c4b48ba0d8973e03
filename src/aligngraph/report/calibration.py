"""Calibration: whether answers with posterior p are right in a share p of the tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aligngraph.report.timeline import Point
from aligngraph.report.wilson import wilson

BINS: Final = 10


@dataclass(frozen=True)
class Bin:
    """Tasks whose decisions had about the same posterior.

    Attributes:
        lowest: lower edge.
        highest: upper edge.
        tasks: how many, > 0.
        posterior: mean posterior of the decisions.
        right: share of them that feedback calls right.
        low: lower end of its 90 % interval.
        high: upper end.
    """

    lowest: float
    highest: float
    tasks: int
    posterior: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """How far the posterior of the decisions can be believed, over tasks with feedback.

    Attributes:
        bins: those that hold a task, from the lowest.
        tasks: in all.
        error: expected calibration error, in [0, 1]: mean of |posterior - right| over the bins, by tasks; None of none.
        brier: mean squared error of the posterior as a forecast of being right, in [0, 1]; None of none.
    """

    bins: tuple[Bin, ...]
    tasks: int
    error: float | None = None
    brier: float | None = None


@dataclass(frozen=True)
class Forecast:
    """One decision: how sure it was, and whether it was right."""

    posterior: float
    right: bool


def calibrate(points: Sequence[Point]) -> Calibration:
    """Return the calibration of the decisions that feedback called right or wrong. [Naeini2015] [Brier1950]."""
    forecasts = [forecast for point in points if (forecast := forecast_of(point)) is not None]
    if not forecasts:
        return Calibration((), 0)
    filled: dict[int, list[Forecast]] = {}
    for forecast in forecasts:
        filled.setdefault(min(BINS - 1, int(forecast.posterior * BINS)), []).append(forecast)
    bins = tuple(_bin(number, held) for number, held in sorted(filled.items()))
    return Calibration(
        bins,
        len(forecasts),
        error=sum(one.tasks * abs(one.posterior - one.right) for one in bins) / len(forecasts),
        brier=sum((one.posterior - one.right) ** 2 for one in forecasts) / len(forecasts),
    )


def forecast_of(point: Point) -> Forecast | None:
    """Return how sure the decision of a task was and whether it was right; None without feedback or without an answer."""
    if point.verdict is None or point.evidence is None or point.evidence.chosen is None:
        return None
    chosen, right = point.evidence.chosen, point.verdict.right
    return Forecast(point.evidence.posterior[chosen], right is not None and right[chosen])


def _bin(number: int, held: Sequence[Forecast]) -> Bin:
    right = sum(one.right for one in held)
    reach = wilson(right, len(held))
    return Bin(
        number / BINS,
        (number + 1) / BINS,
        len(held),
        sum(one.posterior for one in held) / len(held),
        right / len(held),
        reach.low,
        reach.high,
    )
