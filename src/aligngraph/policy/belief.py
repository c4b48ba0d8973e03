"""What the learners together believe: one posterior over the answers, from the players' policies."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray
from aligngraph.policy.competence import posterior, weight
from aligngraph.policy.gradient import gradient_posterior, gradient_weights
from aligngraph.policy.mixture import mix, mixture_shares

LEARNERS: Final = ("competence", "gradient")
"""The learners of the mixture, in the order of its losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Learners:
    """What the learners know of A players.

    Attributes:
        competence: `[A]`, in (0, 1).
        gradient: `[A]`, sums of exponentiated gradient; zeros without feedback.
        team_samples: that the whole team draws in a task, > 0.
        losses: `[L]`, cumulative log loss of each learner in nats, in the order of `LEARNERS`.
        fed_back: tasks with feedback, over which the losses are summed, >= 0.
    """

    competence: npt.ArrayLike
    gradient: npt.ArrayLike
    team_samples: float
    losses: npt.ArrayLike = (0.0, 0.0)
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


def believe(learners: Learners, samples: npt.ArrayLike, policy: npt.ArrayLike) -> Belief:
    """Return what the learners believe. Without any feedback the competence learner decides alone.

    Args:
        learners: of the A players.
        samples: `[A]`, valid samples of each, >= 0, with sum > 0.
        policy: `[A, K]`, rows on the simplex.

    Raises:
        ValueError: a shape or value is not as above.
    """
    weights = weight(learners.competence, np.asarray(policy).shape[1])
    moved = gradient_weights(learners.gradient, learners.team_samples)
    rows = np.array([posterior(weights, samples, policy), gradient_posterior(moved, samples, policy)])
    if learners.fed_back == 0:
        return Belief(rows[0], rows, np.array([1.0, 0.0]), weights)
    return Belief(mix(rows, learners.losses), rows, mixture_shares(learners.losses), weights)
