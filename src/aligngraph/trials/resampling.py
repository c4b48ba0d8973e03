"""Differences of means, with intervals by resampling the tasks."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from aligngraph.trials.shares import Estimate, require_intervals

RESAMPLES = 2000


def mean_difference(rows: Iterable[tuple[str, bool, bool]], rng: np.random.Generator) -> Estimate:
    """Return how much more often the first flag holds than the second, with its 95 percent bootstrap interval.

    All rows of a task are drawn together: several teams may have decided it, and they are not independent. The interval
    is that of other tasks, not of other teams. [Efron1979]

    Args:
        rows: the task's id and both flags, at least one row.
        rng: draws the tasks.

    Raises:
        MissingExtraError: scipy is not installed.
    """
    require_intervals()
    from scipy.stats import bootstrap  # noqa: PLC0415 - an extra, half a second

    gains: dict[str, list[int]] = {}
    for task, first, second in rows:
        gains.setdefault(task, []).append(int(first) - int(second))
    summed = np.array([sum(gain) for gain in gains.values()], dtype=np.float64)
    counted = np.array([len(gain) for gain in gains.values()], dtype=np.float64)
    value = float(summed.sum() / counted.sum())
    if len(gains) == 1:
        return Estimate(value, value, value)

    def ratio(
        sums: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], axis: int = -1
    ) -> npt.NDArray[np.float64]:
        mean: npt.NDArray[np.float64] = sums.sum(axis=axis) / counts.sum(axis=axis)
        return mean

    found = bootstrap(
        (summed, counted), ratio, paired=True, method="percentile", n_resamples=RESAMPLES, vectorized=True, rng=rng
    ).confidence_interval
    return Estimate(value, float(found.low), float(found.high))
