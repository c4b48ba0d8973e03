"""The learner that needs feedback: exponentiated gradient on the log loss of the decisions.

It keeps one positive weight an arm, which multiplies the arm's samples. What lasts is a sum of increments of the log
weight, so that increments add up in any order.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import (
    FloatArray,
    finite_array,
    non_negative,
    positive_number,
    same_length,
    simplex_rows,
)
from aligngraph.policy.competence import VOTES_AT_FULL_WEIGHT
from aligngraph.policy.mixture import softmax, target_row

WEIGHT_RANGE: Final = (1e-3, 15.0)
FIRST_STEP_SIZE: Final = 1.5


def gradient_weights(sums: npt.ArrayLike, team_samples: float) -> FloatArray:
    """Return the weight of each arm, `[A]` in [0.001, 15]: `min(1, 4 / B) * exp(sums)`, held in this range.

    Args:
        sums: `[A]`, finite, sum of each arm's increments; zeros at first.
        team_samples: B, the samples that the team draws in a task, > 0.

    Raises:
        ValueError: a shape or value is not as above.
    """
    moved = finite_array("sums", sums, ndim=1)
    start = min(1.0, VOTES_AT_FULL_WEIGHT / positive_number("team_samples", team_samples))
    low, high = WEIGHT_RANGE
    weights: FloatArray = np.clip(np.exp(np.clip(moved + math.log(start), math.log(low), math.log(high))), low, high)
    return weights


def gradient_posterior(weights: npt.ArrayLike, samples: npt.ArrayLike, policy: npt.ArrayLike) -> FloatArray:
    """Return the posterior over the answers, `[K]` on the simplex: `softmax(sum w n policy)`.

    Args:
        weights: `[A]`, > 0.
        samples: `[A]`, valid samples of each arm, >= 0.
        policy: `[A, K]`, rows on the simplex.

    Raises:
        ValueError: a shape or value is not as above.
    """
    rows = simplex_rows("policy", policy)
    held, drawn = _positive(weights), non_negative("samples", samples, ndim=1)
    same_length("weights", held, len(rows))
    same_length("samples", drawn, len(rows))
    return softmax((held * drawn) @ rows)


def loss_gradient(
    weights: npt.ArrayLike, samples: npt.ArrayLike, policy: npt.ArrayLike, target: npt.ArrayLike
) -> FloatArray:
    """Return the slope of a task's log loss in each weight, `[A]` in [-n, n]: `n sum_y policy (posterior - target)`.

    Args:
        weights: `[A]`, as for `gradient_posterior`.
        samples: `[A]`, as for `gradient_posterior`.
        policy: `[A, K]`, as for `gradient_posterior`.
        target: `[K]`, spread evenly over the right answers with sum 1; zeros where none is right, and so no slope.

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief, wanted = gradient_posterior(weights, samples, policy), target_row(target)
    same_length("target", wanted, len(belief))
    surprise = wanted.sum() * belief - wanted
    slope: FloatArray = np.asarray(samples, dtype=np.float64) * (np.asarray(policy, dtype=np.float64) @ surprise)
    return slope


def gradient_increment(
    weights: npt.ArrayLike, samples: npt.ArrayLike, policy: npt.ArrayLike, target: npt.ArrayLike, tasks: float
) -> FloatArray:
    """Return what a task with feedback adds to the sums, `[A]`: -1.5 / sqrt(t) times the slope of its log loss.

    The increment is cut where it would take the weight out of [0.001, 15]. Without the cut a sum wanders far beyond the
    range in a long run of like tasks and takes as long to return, so that a later change would cost regret that grows
    with the number of tasks instead of its root (see `gradient_regret_bound`). [KivinenWarmuth1997]

    Args:
        weights: `[A]`, the arms' present ones, in [0.001, 15].
        samples: `[A]`, as for `gradient_posterior`.
        policy: `[A, K]`, as for `gradient_posterior`.
        target: `[K]`, as for `loss_gradient`.
        tasks: t, number of this task among those with feedback, >= 1.

    Raises:
        ValueError: a shape or value is not as above.
    """
    slope, held = loss_gradient(weights, samples, policy, target), _positive(weights)
    low, high = WEIGHT_RANGE
    if held.min() < low or held.max() > high or not tasks >= 1:
        got = f"{held.tolist()!r} at task {tasks!r}"
        raise ValueError(f"weights: got {got}, allowed are weights from {low} to {high} at a task >= 1")
    moved = np.log(held) - FIRST_STEP_SIZE / math.sqrt(tasks) * slope
    increment: FloatArray = np.clip(moved, math.log(low), math.log(high)) - np.log(held)
    return increment


def _positive(weights: npt.ArrayLike) -> FloatArray:
    held = finite_array("weights", weights, ndim=1)
    if not (held > 0).all():
        raise ValueError(f"weights: got {held.min()!s}, allowed are numbers > 0")
    return held
