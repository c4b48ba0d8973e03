"""How far the principal is trusted: what its preferences were worth, and the anchor of the game that follows.

The votes judge the principal, and a posterior judges it well only as far as it is clear. Both are counted, so that a
good principal is known for one even among poor votes. All state is sums, which add up in any order.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import (
    TOLERANCE,
    FloatArray,
    finite_array,
    non_negative_number,
    preference_matrix,
    simplex_rows,
)
from aligngraph.policy.competence import ANCHOR_RANGE, BORROWED_TASKS

PRIOR_CLARITY: Final = 16.0
PRIOR_SKILL: Final = 0.14
MOST_SKILL: Final = 0.45
CAUTION: Final = 1.5  # standard errors; a principal that guesses is trusted for its luck once in fifteen times


@dataclass(frozen=True, slots=True)
class PrincipalRecord:
    """What a principal's tasks with two answers or more sum to; sums add up in any order.

    Attributes:
        total: of `principal_payoff`, in [0, count].
        count: tasks, >= 0.
        clarity: of `posterior_clarity`, in [0, count].
    """

    total: float
    count: float
    clarity: float

    def __post_init__(self) -> None:
        tasks = non_negative_number("count", self.count)
        slack = TOLERANCE * max(1.0, tasks)  # a sum of fractions overshoots by rounding
        for name, paid in (("total", self.total), ("clarity", self.clarity)):
            if not -slack <= paid <= tasks + slack:
                raise ValueError(f"{name}: got {paid!r} in {tasks!r} tasks, allowed is 0 to 1 a task")

    @property
    def beyond_chance(self) -> float:
        """What it was paid more than 1/2 a task."""
        return self.total - self.count / 2


NO_RECORD: Final = PrincipalRecord(0.0, 0.0, 0.0)


def principal_payoff(posterior: npt.ArrayLike, preference: npt.ArrayLike) -> float:
    """Return the share of its duels that the right answer wins in the principal's preference, in [0, 1].

    The right answer is not known, so it is the mean over the posterior. A principal that decides by chance is paid 1/2
    on average, whatever the posterior. Of what one earns beyond 1/2 if it knows the right answer, only the share
    `posterior_clarity` is seen.

    Args:
        posterior: `[K]` on the simplex, of the votes alone, K >= 2; with feedback, even over the right answers.
        preference: `[K, K]`, the probability that the principal prefers row to column.

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief = simplex_rows("posterior", posterior, ndim=1)
    preferred = preference_matrix(preference, answers=_rivals(belief))
    won = (preferred.sum(axis=1) - np.diag(preferred)) / (len(belief) - 1)
    return float(belief @ won)


def posterior_clarity(posterior: npt.ArrayLike) -> float:
    """Return how much of a principal's skill the votes can see, in [0, 1]: `(K sum p^2 - 1) / (K - 1)`.

    0 for an even posterior, 1 for a certain one. If the posterior means what it says, a principal whose duels go to the
    right answer with probability j is paid `1/2 + clarity * (j - 1/2)` on average.

    Args:
        posterior: as for `principal_payoff`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief = simplex_rows("posterior", posterior, ndim=1)
    answers = _rivals(belief)
    return min(1.0, max(0.0, (answers * float(belief @ belief) - 1) / (answers - 1)))


def principal_trust(record: PrincipalRecord, borrowed: PrincipalRecord = NO_RECORD) -> float:
    """Return what the principal's word weighs in one duel, in nats, in [0, 3]: cautious log odds of being right.

    What it earned beyond chance, next to what could be seen of it, from a prior of 16 clear tasks at 0.64; taken 1.5
    standard errors lower, so that a principal that guesses is seldom believed for its luck. An unknown one has no trust:
    about three clear tasks earn a good one the first.

    Args:
        record: its sums in this domain.
        borrowed: its sums in all other domains, of which as much counts as 8 clear tasks show.

    Raises:
        ValueError: a sum lies outside its range.
    """
    share = min(1.0, BORROWED_TASKS / borrowed.clarity) if borrowed.clarity else 0.0
    seen = PRIOR_CLARITY + record.clarity + share * borrowed.clarity
    earned = PRIOR_CLARITY * PRIOR_SKILL + record.beyond_chance + share * borrowed.beyond_chance
    skill = min(max((earned - CAUTION * math.sqrt(seen) / 2) / seen, 0.0), MOST_SKILL)
    return math.log1p(2 * skill) - math.log1p(-2 * skill)


def earned_anchor(
    record: PrincipalRecord, weights: npt.ArrayLike, answers: int, borrowed: PrincipalRecord = NO_RECORD
) -> float:
    """Return the anchor that the principal's record earns it against these players, in [0.1, 5].

    Args:
        record: as for `principal_trust`.
        weights: `[A]`, of the players, in nats, > 0.
        answers: K, >= 1.
        borrowed: as for `principal_trust`.

    Raises:
        ValueError: a value is not as above.
    """
    return relative_anchor(principal_trust(record, borrowed), weights, answers)


def relative_anchor(trust: float, weights: npt.ArrayLike, answers: int) -> float:
    """Return the anchor of the game in [0.1, 5]: how much the players' votes weigh, next to the principal's word.

    `mean weight / (2 trust (K - 1))`, since a ranking of K answers is K - 1 duels of each. Players that proved right
    are not talked out of their votes by a principal that errs more often than they, and those that proved nothing are.

    Args:
        trust: what the principal's word weighs in one duel, in nats, >= 0.
        weights: `[A]`, of the players, in nats, > 0.
        answers: K, >= 1; one answer leaves nothing to play for, so its anchor is the highest.

    Raises:
        ValueError: a value is not as above.
    """
    held = finite_array("weights", weights, ndim=1)
    if not (held > 0).all():
        raise ValueError(f"weights: got {held.min()!s}, allowed are numbers > 0")
    if answers < 1:
        raise ValueError(f"answers: got {answers!r}, allowed is an integer >= 1")
    duels = non_negative_number("trust", trust) * (answers - 1)
    low, high = ANCHOR_RANGE
    return min(max(float(held.mean()) / (2 * duels), low), high) if duels else high


def _rivals(belief: FloatArray) -> int:
    if len(belief) < 2:  # noqa: PLR2004 - a duel takes two
        raise ValueError(f"posterior: got {len(belief)} answer, allowed are two or more")
    return len(belief)
