"""How sure a competence is: an interval from the same sums, wide while an arm is little known."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray
from aligngraph.policy.competence import BORROWED_TASKS, PRIOR_TASKS, competence

DEFAULT_LEVEL: Final = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """An interval around each competence, of the shape of the sums.

    Attributes:
        low: lower ends, in (0, competence).
        high: upper ends, in (competence, 1).
    """

    low: FloatArray
    high: FloatArray


def competence_interval(
    total: npt.ArrayLike,
    count: npt.ArrayLike,
    borrowed_total: npt.ArrayLike = 0.0,
    borrowed_count: npt.ArrayLike = 0.0,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """Return the interval that holds each arm's share of right answers with probability `level`, about.

    Wilson's score interval at the competence, counting the prior's 4 tasks and up to 8 borrowed ones as it does
    [Wilson1927]. The prior draws it to the middle: of an arm that is right 19 times in 20, an interval of 0.9 after 120
    tasks holds the share with probability 0.85. Payoffs that are shares vary less than right and wrong, and need less.

    Args:
        total: as for `competence`.
        count: as for `competence`.
        borrowed_total: as for `competence`.
        borrowed_count: as for `competence`.
        level: in (0, 1).

    Raises:
        ValueError: a sum or the level lies outside its range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level: got {level!r}, allowed is a number in (0, 1), 0 and 1 left out")
    mean = competence(total, count, borrowed_total, borrowed_count)
    tasks = PRIOR_TASKS + np.asarray(count) + np.minimum(BORROWED_TASKS, np.asarray(borrowed_count))
    spread = NormalDist().inv_cdf((1 + level) / 2) ** 2 / tasks
    centre = (mean + spread / 2) / (1 + spread)
    reach = np.sqrt(spread * (mean * (1 - mean) + spread / 4)) / (1 + spread)
    return Interval(low=centre - reach, high=centre + reach)
