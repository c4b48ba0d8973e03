"""Several learners, one posterior: each weighs as much as its forecasts of the tasks with feedback were worth."""

from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray, finite_array, non_negative, same_length, simplex_rows

POSTERIOR_FLOOR: Final = 0.001


def softmax(scores: FloatArray) -> FloatArray:
    """Return `exp(scores)`, normalised along the last axis, without overflow."""
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: FloatArray = odds / odds.sum(axis=-1, keepdims=True)
    return shares


def mixture_shares(losses: npt.ArrayLike, prior: npt.ArrayLike | None = None) -> FloatArray:
    """Return the share of each learner, `[L]` on the simplex: Bayes from a prior, that is `softmax(log prior - losses)`.

    Args:
        losses: `[L]`, cumulative log loss of each learner in nats, all over the same tasks with feedback; zeros without
            any.
        prior: `[L]` on the simplex, all > 0; even by default.

    Raises:
        ValueError: the losses are not `[L]`, or not finite, or the prior is not as above.
    """
    lost = finite_array("losses", losses, ndim=1)
    if prior is None:
        return softmax(-lost)
    believed = simplex_rows("prior", prior, ndim=1)
    same_length("prior", believed, len(lost))
    if not believed.all():
        raise ValueError(f"prior: got {believed.tolist()!r}, allowed are shares > 0")
    return softmax(np.log(believed) - lost)


def mix(posteriors: npt.ArrayLike, losses: npt.ArrayLike, prior: npt.ArrayLike | None = None) -> FloatArray:
    """Return the mixture of the learners' posteriors, `[K]` on the simplex.

    Its cumulative log loss is never more than -log prior nats above any learner's, log L for an even one, whatever the
    tasks. [Vovk1998]

    Args:
        posteriors: `[L, K]`, rows on the simplex.
        losses: `[L]`, as for `mixture_shares`.
        prior: `[L]`, as for `mixture_shares`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    rows, shares = simplex_rows("posteriors", posteriors), mixture_shares(losses, prior)
    same_length("losses", shares, len(rows))
    mixed: FloatArray = shares @ rows
    return mixed


def log_loss(posterior: npt.ArrayLike, target: npt.ArrayLike) -> float:
    """Return the log loss of a posterior in nats, in [0, -log 0.001]: `-sum target log floored`.

    `floored = f + (1 - K f) posterior` with f = 0.001, or 1 / (2 K) from 501 answers on, is again on the simplex. A
    floor by maximum would not keep the promise of `mix`; this one is affine, so that the floored mixture is the mixture
    of the floored posteriors.

    Args:
        posterior: `[K]`, on the simplex.
        target: `[K]`, >= 0, spread evenly over the right answers with sum 1; zeros where none is right, which no
            posterior could have foretold, so that the loss is 0.

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief, wanted = simplex_rows("posterior", posterior, ndim=1), target_row(target)
    same_length("target", wanted, len(belief))
    floor = min(POSTERIOR_FLOOR, 1 / (2 * len(belief)))
    return max(0.0, -float(wanted @ np.log(floor + (1 - len(belief) * floor) * belief)))


def target_row(target: npt.ArrayLike) -> FloatArray:
    """Return `target` as `[K]` on the simplex, or zeros."""
    wanted = non_negative("target", target, ndim=1)
    return simplex_rows("target", wanted, ndim=1) if wanted.any() else wanted
