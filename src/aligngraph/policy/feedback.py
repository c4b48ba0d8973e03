"""What feedback makes of a task: which answers were right, as far as it says, and what that pays each arm."""

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray, non_negative, same_length, simplex_rows


def right_target(right: npt.ArrayLike) -> FloatArray:
    """Return what the posterior should have been, `[K]`: even over the right answers, zeros if none of them is.

    Args:
        right: `[K]` truth values, whether each answer is right.

    Raises:
        ValueError: right is not `[K]`.
    """
    marked = non_negative("right", np.asarray(right, dtype=np.bool_), ndim=1)
    target: FloatArray = marked / max(1.0, marked.sum())
    return target


def belief_after_wrong(open_posterior: npt.ArrayLike, chosen: int) -> FloatArray:
    """Return how likely each answer is to be right once the chosen one is known to be wrong, `[K]` with sum <= 1.

    The open posterior given that it is not the chosen answer. Some of it stays with an answer that nobody gave: the
    second best is not right only because the best is wrong.

    Args:
        open_posterior: `[K + 1]` on the simplex, the last entry that of an answer that nobody gave, as
            `open_posterior` returns it.
        chosen: column of the answer that is wrong, in [0, K).

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief = simplex_rows("open_posterior", open_posterior, ndim=1)
    if not 0 <= chosen < len(belief) - 1:
        raise ValueError(f"chosen: got {chosen!r}, allowed is a column from 0 to {len(belief) - 2}")
    left = belief.copy()
    left[chosen] = 0.0
    total = left.sum()
    return (left / total if total > 0 else left)[:-1]


def fed_back_payoffs(first_votes: npt.ArrayLike, belief: npt.ArrayLike) -> FloatArray:
    """Return the payoff of each arm in a task with feedback, `[A]` in [0, 1]; NaN for an arm without a valid sample.

    The share of an arm's samples that were right, as far as is known. What counts is what it said at first, before it
    heard of the others.

    Args:
        first_votes: `[A, K + 1]`, first-round samples of each arm for each answer, >= 0; the last column for answers
            that were given up since, which count as wrong.
        belief: `[K]` in [0, 1], how likely each answer is to be right: 1 for each right answer and 0 for the others
            where they are known (not the target, which is less than 1 where two are right), else as of
            `belief_after_wrong`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    votes, likely = non_negative("first_votes", first_votes, ndim=2), non_negative("belief", belief, ndim=1)
    same_length("belief", likely, votes.shape[1] - 1)
    if (likely > 1).any():
        raise ValueError(f"belief: got {likely.max()!s}, allowed are numbers in [0, 1]")
    samples = votes.sum(axis=1)
    none = np.full(len(votes), np.nan)
    paid: FloatArray = np.divide(votes[:, :-1] @ likely, samples, where=samples > 0, out=none)
    return paid
