"""What lasts across tasks: how often an arm was right, what its vote weighs, how far a judge is trusted.

An arm is one strategy of one agent in one domain. Its state is two sums, total payoff and number of tasks: sums
commute, so workers add theirs in any order and all read the same competence. All functions here are pure, and A arms
are computed at once.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import (
    TOLERANCE,
    FloatArray,
    finite_array,
    non_negative,
    positive_number,
    same_length,
    simplex_rows,
)

PRIOR_SUCCESSES: Final = 2.0
PRIOR_TASKS: Final = 4.0
BORROWED_TASKS: Final = 8.0
WEIGHT_FLOOR: Final = 0.01
TRUST_FLOOR: Final = 0.05
ANCHOR_RANGE: Final = (0.1, 5.0)
VOTES_AT_FULL_WEIGHT: Final = 4.0
SUREST: Final = 1 - 2.0**-53  # the last float before 1, whose log odds are still finite


def competence(
    total: npt.ArrayLike, count: npt.ArrayLike, borrowed_total: npt.ArrayLike = 0.0, borrowed_count: npt.ArrayLike = 0.0
) -> FloatArray:
    """Return each arm's competence in (0, 1), of the common shape of the arguments.

    The mean payoff, counting a prior of 2 successes and 2 failures, and up to 8 pseudo-tasks at the arm's competence
    in its other domains. Without borrowing this is mirror descent on the log loss with negative entropy as mirror map
    and step 1/t: in the mean coordinate, p moves to p + (r - p) / t for a payoff r, t counting the prior's 4 tasks.

    Args:
        total: sum of the payoffs in this domain, in [0, count].
        count: tasks in this domain, >= 0.
        borrowed_total: sum of the payoffs in all other domains, in [0, borrowed_count].
        borrowed_count: tasks in all other domains, >= 0.

    Raises:
        ValueError: a sum lies outside its range.
    """
    tasks, other_tasks = np.asarray(count, dtype=np.float64), np.asarray(borrowed_count, dtype=np.float64)
    paid = _payoff_sum("total", total, tasks)
    pooled = (PRIOR_SUCCESSES + _payoff_sum("borrowed_total", borrowed_total, other_tasks)) / (
        PRIOR_TASKS + other_tasks
    )
    borrowed = np.minimum(BORROWED_TASKS, other_tasks)
    mean: FloatArray = (PRIOR_SUCCESSES + paid + borrowed * pooled) / (PRIOR_TASKS + tasks + borrowed)
    return mean


def weight(competence: npt.ArrayLike, answers: int) -> FloatArray:
    """Return the weight of an arm's vote in nats, >= 0.01: the dual coordinate of its competence.

    The log odds, plus log K because a wrong guess is spread over more answers; the optimal weight of independent
    voters. [NitzanParoush1982]

    Args:
        competence: any shape, in (0, 1).
        answers: K, the number of distinct answers of the task, >= 1; 1 counts as 2.

    Raises:
        ValueError: a competence is outside (0, 1) or answers < 1.
    """
    mean = np.asarray(competence, dtype=np.float64)
    if not ((mean > 0) & (mean < 1)).all():
        raise ValueError(f"competence: got {mean.tolist()!r}, allowed are numbers in (0, 1), 0 and 1 left out")
    log_odds = np.log(mean) - np.log1p(-mean)
    return np.maximum(log_odds + math.log(max(2, _answers(answers))), WEIGHT_FLOOR)


def trust(mean: float, answers: int) -> float:
    """Return the trust in the principal in nats, >= 0.05: its log odds against a blind guess among K answers.

    Args:
        mean: average posterior (of the votes, the principal left out; or gold) at the principal's first choice, over
            the tasks with two answers or more, in [0, 1].
        answers: K, >= 1; one answer needs no judge, so its trust is the floor.

    Raises:
        ValueError: mean is outside [0, 1] or answers < 1.
    """
    if not 0 <= mean <= 1:
        raise ValueError(f"mean: got {mean!r}, allowed is a number in [0, 1]")
    if _answers(answers) == 1 or mean == 0:
        return TRUST_FLOOR
    held = min(mean, SUREST)
    return max(TRUST_FLOOR, math.log(held) - math.log1p(-held) + math.log(answers - 1))


def posterior(weights: npt.ArrayLike, samples: npt.ArrayLike, policy: npt.ArrayLike) -> FloatArray:
    """Return the posterior over the answers, `[K]`, on the simplex: `softmax(min(1, 4 / S) * sum w n policy)`.

    An arm votes with each of its samples; from the fifth sample of the team on they are taken for dependent, and the
    evidence stays that of four.

    Args:
        weights: `[A]`, finite, in nats.
        samples: `[A]`, valid samples of each arm, >= 0, with sum S > 0.
        policy: `[A, K]`, rows on the simplex.

    Raises:
        ValueError: a shape or value is not as above.
    """
    rows = simplex_rows("policy", policy)
    held, drawn = finite_array("weights", weights, ndim=1), non_negative("samples", samples, ndim=1)
    same_length("weights", held, len(rows))
    same_length("samples", drawn, len(rows))
    team = positive_number("sum of samples", float(drawn.sum()))
    evidence = min(1.0, VOTES_AT_FULL_WEIGHT / team) * ((held * drawn) @ rows)
    odds = np.exp(evidence - evidence.max())
    share: FloatArray = odds / odds.sum()
    return share


def self_assessed_payoff(votes: npt.ArrayLike, posterior: npt.ArrayLike) -> FloatArray:
    """Return the payoff of each arm in a task without feedback, `[A]` in [0, 1]: the posterior at its votes.

    Args:
        votes: `[A, K]`, rows on the simplex; an arm without a valid sample has no payoff and is left out.
        posterior: `[K]`, on the simplex.

    Raises:
        ValueError: a shape or value is not as above.
    """
    shares = simplex_rows("votes", votes)
    belief = simplex_rows("posterior", posterior, ndim=1)
    same_length("posterior", belief, shares.shape[1])
    paid: FloatArray = shares @ belief
    return paid


def _payoff_sum(name: str, total: npt.ArrayLike, tasks: FloatArray) -> FloatArray:
    paid = np.asarray(total, dtype=np.float64)
    slack = TOLERANCE * np.maximum(1.0, tasks)  # a sum of fractions overshoots by rounding
    if not (np.isfinite(tasks) & (tasks >= 0) & (paid >= -slack) & (paid <= tasks + slack)).all():
        raise ValueError(f"{name}: got {paid.tolist()!r} in {tasks.tolist()!r} tasks, allowed is 0 to 1 a task")
    return np.clip(paid, 0.0, tasks)


def _answers(answers: int) -> int:
    if answers < 1:
        raise ValueError(f"answers: got {answers!r}, allowed is an integer >= 1")
    return answers
