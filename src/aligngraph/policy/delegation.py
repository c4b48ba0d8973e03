"""Who gets the samples: shares learned by Hedge, samples drawn by them, and what a task costs each arm.

Every arm has a known chance to be played, so that an arm that was not played is estimated and never takes the blame or
the praise for a task that it did not see.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import (
    TOLERANCE,
    FloatArray,
    IntArray,
    finite_array,
    non_negative_number,
    positive_number,
    same_length,
    simplex_rows,
)
from aligngraph.policy.drift import decay
from aligngraph.policy.mixture import softmax

FIXED_SHARE: Final = 0.02


def sample_shares(losses: npt.ArrayLike, tasks: float, fixed_share: float = FIXED_SHARE) -> FloatArray:
    """Return the share of the samples that each arm earned, `[A]` on the simplex, each at least `fixed_share / A`.

    Hedge, `softmax(-sqrt(8 ln A / t) losses)` with t = tasks + 1 the task at hand, and a fixed share spread evenly.
    [FreundSchapire1997] What follows a change of the best arm is that losses and tasks are forgotten (see
    `forgetting_regret_bound`); the fixed share keeps every arm in play until then.

    Args:
        losses: `[A]`, cumulative losses; a constant common to all is of no effect.
        tasks: how many tasks they are of, >= 0; fewer where older ones are forgotten.
        fixed_share: in [0, 1].

    Raises:
        ValueError: a shape or value is not as above.
    """
    lost = finite_array("losses", losses, ndim=1)
    if not 0 <= fixed_share <= 1:
        raise ValueError(f"fixed_share: got {fixed_share!r}, allowed is a number in [0, 1]")
    step_size = math.sqrt(8 * math.log(len(lost)) / (non_negative_number("tasks", tasks) + 1))
    shares: FloatArray = (1 - fixed_share) * softmax(-step_size * lost) + fixed_share / len(lost)
    return shares


def chances(shares: npt.ArrayLike, samples: int, floor: int = 1) -> FloatArray:
    """Return the probability that `allot` gives an arm a sample at all, `[A]` in (0, 1]; 1 stands for a sure one.

    Args:
        shares: `[A]`, as for `allot`.
        samples: as for `allot`.
        floor: as for `allot`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    quotas = _quotas(shares, samples, floor)
    return np.where(quotas >= 1 - TOLERANCE, 1.0, quotas)


def allot(shares: npt.ArrayLike, samples: int, floor: int = 1, *, rng: np.random.Generator) -> IntArray:
    """Return how many samples each arm draws, `[A]` with sum `samples`.

    Each arm has the floor, the rest follows the shares; where the floor of all is more than there is, the samples
    follow the shares up to the floor. Fractions are settled by systematic sampling: on average an arm draws exactly
    its due, and never differs from it by 1 or more. [Madow1949]

    Args:
        shares: `[A]`, on the simplex, all > 0.
        samples: of the whole team, >= 1.
        floor: of each arm, >= 0.
        rng: draws one number.

    Raises:
        ValueError: a shape or value is not as above.
    """
    quotas = _quotas(shares, samples, floor)
    whole = np.floor(quotas + TOLERANCE)
    marks = np.cumsum(np.maximum(quotas - whole, 0.0))
    marks[-1] = samples - whole.sum()
    drawn = np.floor(marks + rng.random())
    return (whole + np.diff(drawn, prepend=0.0)).astype(np.int64)


def delegation_losses(
    payoffs: npt.ArrayLike, played: npt.ArrayLike, chance: npt.ArrayLike, shares: npt.ArrayLike, tasks: float
) -> FloatArray:
    """Return what a task adds to each arm's cumulative loss, `[A]`, >= 0.

    1 - payoff for an arm that was sure to be played. An arm that is played by chance loses (1 - payoff) / (chance + g)
    when it is, else 0: on average a little less than its loss, by which the estimate stays tame where chances are
    small. g = sqrt(ln A / (A t)) / 2. [Neu2015] An arm without a payoff (it failed, or the task was stopped before its
    turn) is taken to have lost what the others lost on average, which leaves its share as it was. [Freund1997]

    Args:
        payoffs: `[A]` in [0, 1], NaN where there is none.
        played: `[A]`, whether the arm was given a sample in this task.
        chance: `[A]`, in (0, 1], as of `chances`.
        shares: `[A]`, on the simplex, those that the samples were drawn by.
        tasks: t, number of this task, >= 1.

    Raises:
        ValueError: a shape or value is not as above.
    """
    paid, probability, weights = _payoffs(payoffs), _chance(chance), simplex_rows("shares", shares, ndim=1)
    drawn = np.asarray(played, dtype=np.bool_)
    for name, array in (("payoffs", paid), ("played", drawn), ("chance", probability)):
        same_length(name, array, len(weights))
    known = np.isfinite(paid) & (drawn | (probability == 1))
    if not known.any():
        return np.zeros(len(paid))
    among = weights[known] if weights[known].any() else None
    lost = np.where(known, 1 - paid, np.average(1 - paid[known], weights=among))
    exploration = math.sqrt(math.log(len(paid)) / (len(paid) * positive_number("tasks", tasks))) / 2
    return np.where(probability == 1, lost, np.where(drawn, lost / (probability + exploration), 0.0))


def delegation_regret_bound(arms: int, tasks: int, fixed_share: float = FIXED_SHARE) -> float:
    """Return how far the mean loss under `sample_shares` may exceed that of the best arm, over any losses in [0, 1].

    `(1 - fixed_share) (sqrt(2 T ln A) + sqrt(ln A / 8)) + fixed_share T`: Hedge with its own step size at each task
    [CesaBianchi2006], and at most 1 a task for the share that is spread evenly.

    Args:
        arms: A, >= 1.
        tasks: T, >= 0.
        fixed_share: in [0, 1].
    """
    hedge = math.sqrt(2 * tasks * math.log(arms)) + math.sqrt(math.log(arms) / 8)
    return (1 - fixed_share) * hedge + fixed_share * tasks


def forgetting_regret_bound(
    arms: int, tasks: int, half_life: float, changes: int, fixed_share: float = FIXED_SHARE
) -> float:
    """Return the same bound for losses and tasks that are forgotten, against the best arm of each stretch of tasks.

    With d = `decay(half_life)` before each task's losses are added and H = 1 / (1 - d), what the shares lost more than
    an arm, discounted by d a task, is D <= C = (1 + 2 / d) sqrt(H ln A / 8) after every task: the proof for Hedge goes
    through as -log-mean-exp(-e d L) / e >= -d log-mean-exp(-e L) / e, and step sizes sum to at most twice the root. The
    excess of task t is D_t - d D_(t-1), and D is never below -H, so that a stretch of n tasks costs at most
    C + d H + (1 - d) n C, the first one no d H. [HerbsterWarmuth1998] compares with the same stretches.

    Args:
        arms: A, >= 1.
        tasks: T, >= 0.
        half_life: tasks after which a loss counts half, > 0.
        changes: number of stretches less one, >= 0.
        fixed_share: in [0, 1].
    """
    kept = decay(half_life)
    memory = 1 / (1 - kept)
    discounted = (1 + 2 / kept) * math.sqrt(memory * math.log(arms) / 8)
    hedge = (changes + 1) * discounted + changes * kept * memory + tasks * discounted / memory
    return (1 - fixed_share) * hedge + fixed_share * tasks


def _quotas(shares: npt.ArrayLike, samples: int, floor: int) -> FloatArray:
    """Return how many samples each arm draws on average."""
    due = simplex_rows("shares", shares, ndim=1)
    if not (due > 0).all() or samples < 1 or floor < 0:
        got = f"{due.tolist()!r} of {samples!r} samples with a floor of {floor!r}"
        raise ValueError(f"shares: got {got}, allowed are shares > 0 of >= 1 samples with a floor >= 0")
    spare = samples - floor * len(due)
    return floor + spare * due if spare >= 0 else _capped(due, samples, floor)


def _capped(due: FloatArray, samples: int, cap: int) -> FloatArray:
    """Return `min(cap, c due)` with the c for which it sums to `samples`."""
    largest = np.sort(due)[::-1]
    rest = np.cumsum(largest[::-1])[::-1]
    scales = (samples - cap * np.arange(len(due))) / rest
    quotas: FloatArray = np.minimum(cap, scales[np.argmax(scales * largest <= cap)] * due)
    return quotas


def _payoffs(payoffs: npt.ArrayLike) -> FloatArray:
    paid = np.asarray(payoffs, dtype=np.float64)
    if paid.ndim != 1 or not (np.isnan(paid) | ((paid >= -TOLERANCE) & (paid <= 1 + TOLERANCE))).all():
        raise ValueError(f"payoffs: got {paid.tolist()!r}, allowed are numbers in [0, 1], or NaN for none")
    return np.clip(paid, 0.0, 1.0)


def _chance(chance: npt.ArrayLike) -> FloatArray:
    probability = np.asarray(chance, dtype=np.float64)
    if probability.ndim != 1 or not ((probability > 0) & (probability <= 1)).all():
        raise ValueError(f"chance: got {probability.tolist()!r}, allowed are numbers in (0, 1]")
    return probability
