"""What the learners together believe: one posterior over the answers, from the players' votes and policies."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray, non_negative, same_length, simplex_rows
from aligngraph.policy.competence import posterior, weight
from aligngraph.policy.gradient import gradient_posterior, gradient_weights
from aligngraph.policy.mixture import mix, mixture_shares

LEARNERS: Final = ("competence", "gradient", "hedge")
"""The learners of the mixture, in the order of its losses."""

LEARNER_PRIOR: Final = (0.45, 0.45, 0.1)
"""Their shares before any feedback. Hedge follows one arm, which pays only where one is better than the vote of all."""

DECIDES_ALONE: Final = (1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Learners:
    """What the learners know of A players.

    Attributes:
        competence: `[A]`, in (0, 1).
        gradient: `[A]`, sums of exponentiated gradient; zeros without feedback.
        shares: `[A]`, > 0, of the samples that each has earned; they need not sum to 1.
        team_samples: that the whole team draws in a task, > 0.
        losses: `[L]`, cumulative log loss of each learner in nats, in the order of `LEARNERS`.
        fed_back: tasks with feedback, over which the losses are summed, >= 0.
    """

    competence: npt.ArrayLike
    gradient: npt.ArrayLike
    shares: npt.ArrayLike
    team_samples: float
    losses: npt.ArrayLike = (0.0, 0.0, 0.0)
    fed_back: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """A posterior, and how it came about; K answers.

    Attributes:
        posterior: `[K]`, on the simplex.
        by_learner: `[L, K]`, that of each learner, in the order of `LEARNERS`.
        shares: `[L]`, what each has in the mixture, on the simplex.
        weights: `[A]`, what a sample of each player weighs in nats for the competence learner.
    """

    posterior: FloatArray
    by_learner: FloatArray
    shares: FloatArray
    weights: FloatArray


def believe(learners: Learners, samples: npt.ArrayLike, policy: npt.ArrayLike, votes: npt.ArrayLike) -> Belief:
    """Return what the learners believe. Without any feedback the competence learner decides alone.

    Args:
        learners: of the A players.
        samples: `[A]`, valid samples of each, >= 0, with sum > 0.
        policy: `[A, K]`, rows on the simplex.
        votes: `[A, K]`, rows on the simplex; what Hedge goes by, which follows arms and not the principal.

    Raises:
        ValueError: a shape or value is not as above.
    """
    weights = weight(learners.competence, np.asarray(policy).shape[1])
    moved = gradient_weights(learners.gradient, learners.team_samples)
    rows = np.array(
        [
            posterior(weights, samples, policy),
            gradient_posterior(moved, samples, policy),
            hedge_posterior(learners.shares, votes),
        ]
    )
    if learners.fed_back == 0:
        return Belief(rows[0], rows, np.array(DECIDES_ALONE), weights)
    mixed = mix(rows, learners.losses, LEARNER_PRIOR)
    return Belief(mixed, rows, mixture_shares(learners.losses, LEARNER_PRIOR), weights)


def hedge_posterior(shares: npt.ArrayLike, votes: npt.ArrayLike) -> FloatArray:
    """Return the votes of the arms, each with the share that Hedge gives it, `[K]` on the simplex.

    It follows the best arm, and falls behind the vote where several are alike. [FreundSchapire1997]

    Args:
        shares: `[A]`, >= 0 with sum > 0.
        votes: `[A, K]`, rows on the simplex.

    Raises:
        ValueError: a shape or value is not as above.
    """
    rows, held = simplex_rows("votes", votes), non_negative("shares", shares, ndim=1)
    same_length("shares", held, len(rows))
    if not held.any():
        raise ValueError(f"shares: got {held.tolist()!r}, allowed is a sum > 0")
    voted: FloatArray = held / held.sum() @ rows
    return voted
