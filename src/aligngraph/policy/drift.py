"""When the past no longer tells of the present: forgetting at a steady pace, and a test for a sudden change."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import TOLERANCE, finite_array, non_negative_number, positive_number

FALSE_ALARMS: Final = 0.01
LEAST_RECENT: Final = 20


def decay(half_life: float) -> float:
    """Return what the sums keep at each task, in (0, 1): after `half_life` tasks a payoff counts half.

    Args:
        half_life: in tasks, > 0.

    Raises:
        ValueError: half_life is not a finite number > 0.
    """
    return math.exp2(-1 / positive_number("half_life", half_life))


def has_drifted(total: float, count: float, recent_payoffs: npt.ArrayLike, false_alarms: float = FALSE_ALARMS) -> bool:
    """Return whether an arm's recent payoffs differ from its older ones by more than chance.

    True if the two means are farther apart than sqrt((1 / count + 1 / n) log(2 / false_alarms) / 2). By Hoeffding's
    inequality that happens with at most this probability at any one look, if all payoffs are independent in [0, 1] with
    the same mean; over several looks the probabilities add up. [Hoeffding1963] [Bifet2007] Sums that are partly
    forgotten are no exception: their mean is known at least as well as that of `count` whole tasks.

    Args:
        total: sum of the older payoffs, in [0, count], the recent ones left out.
        count: of the older payoffs, >= 0.
        recent_payoffs: `[n]` in [0, 1]; fewer than 20, or than 20 older ones, are too few to tell.
        false_alarms: probability of a false alarm at one look, in (0, 1).

    Raises:
        ValueError: a value lies outside its range.
    """
    recent = np.asarray(recent_payoffs, dtype=np.float64)
    known = non_negative_number("count", count)
    if not 0 < false_alarms < 1:
        raise ValueError(f"false_alarms: got {false_alarms!r}, allowed is a number in (0, 1), 0 and 1 left out")
    if not -TOLERANCE <= total <= known + TOLERANCE * max(1.0, known):
        raise ValueError(f"total: got {total!r} in {known!r} tasks, allowed is 0 to 1 a task")
    if min(known, recent.size) < LEAST_RECENT:
        return False
    payoffs = finite_array("recent_payoffs", recent, ndim=1)
    if payoffs.min() < 0 or payoffs.max() > 1:
        raise ValueError(f"recent_payoffs: got {payoffs.min()!s} to {payoffs.max()!s}, allowed are numbers in [0, 1]")
    chance = math.sqrt((1 / known + 1 / payoffs.size) * math.log(2 / false_alarms) / 2)
    return abs(total / known - float(payoffs.mean())) > chance
