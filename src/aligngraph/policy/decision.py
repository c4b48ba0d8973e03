"""From a posterior or a count of votes to one answer, with ties settled in a declared order and never by chance."""

from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray, IntArray, non_negative, seed_positions, simplex_rows

TIE: Final = 1e-9  # relative; far above what the order of a summation changes, far below what a sample does


def choose(posterior: npt.ArrayLike, principal_order: npt.ArrayLike | None, first_seen: npt.ArrayLike) -> int:
    """Return the answer with the highest posterior, as its column in [0, K).

    Ties go to the answer that the principal ranked higher, then to the one that was seen first.

    Args:
        posterior: `[K]`, on the simplex.
        principal_order: `[K]`, the principal's rank of each answer, low is good, equal ranks are ties, NaN where it
            said nothing: a tie with such an answer is not its to break. None if it abstained.
        first_seen: `[K]`, distinct integers, position in seed order of the first sample with this answer.

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief = simplex_rows("posterior", posterior, ndim=1)
    seen = seed_positions(first_seen, answers=belief.size)
    leaders = _highest(belief)
    if principal_order is not None:
        ranks = np.asarray(principal_order, dtype=np.float64)
        if ranks.shape != belief.shape or np.isinf(ranks).any():
            raise ValueError(f"principal_order: got {ranks.tolist()!r}, allowed are {belief.size} ranks or NaN")
        if not np.isnan(ranks[leaders]).any():
            leaders = leaders[ranks[leaders] == ranks[leaders].min()]
    return _earliest(leaders, seen)


def pooled_majority(counts: npt.ArrayLike, first_seen: npt.ArrayLike) -> int:
    """Return the answer with most samples of all agents together, as its column in [0, K); ties go to the first seen.

    This is self-consistency over the pooled samples. [Wang2023]

    Args:
        counts: `[N, K]` samples, >= 0.
        first_seen: `[K]`, as for `choose`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    pooled = non_negative("counts", counts, ndim=2).sum(axis=0)
    return _earliest(_highest(pooled), seed_positions(first_seen, answers=pooled.size))


def entropy(posterior: npt.ArrayLike) -> float:
    """Return the entropy of a posterior in nats, in [0, log K].

    Raises:
        ValueError: the posterior is not `[K]` on the simplex.
    """
    belief = simplex_rows("posterior", posterior, ndim=1)
    positive = belief[belief > 0]
    return max(0.0, -float(positive @ np.log(positive)))


def _highest(scores: FloatArray) -> IntArray:
    return np.flatnonzero(np.isclose(scores, scores.max(), rtol=TIE, atol=0.0))


def _earliest(leaders: IntArray, first_seen: IntArray) -> int:
    return int(leaders[first_seen[leaders].argmin()])
