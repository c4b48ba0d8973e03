"""One round of delegation: level 1 plays the game over the answers, level 2 weighs its players into a decision."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aligngraph.policy.belief import Belief, Learners, believe
from aligngraph.policy.checks import FloatArray
from aligngraph.policy.decision import choose, pooled_majority
from aligngraph.policy.game import GameOutcome, initial_policy, play, vote_shares


@dataclass(frozen=True, slots=True)
class GameRules:
    """How a game is played: step size > 0, anchor >= 0, smoothing > 0, most steps >= 1."""

    step_size: float
    anchor: float
    smoothing: float
    max_steps: int


@dataclass(frozen=True, slots=True, eq=False)
class RoundOutcome:
    """What a round came to; A players (arms with a valid sample), K answers.

    Attributes:
        game: the game's outcome, policies `[A, K]`.
        anchor: what the game was anchored with.
        belief: what the learners make of the final policies.
        unranked_posterior: `[K]`, the posterior of the votes alone, as if the principal had said nothing.
        chosen: column of the decision.
        majority: column of the pooled majority vote.
    """

    game: GameOutcome
    anchor: float
    belief: Belief
    unranked_posterior: FloatArray
    chosen: int
    majority: int

    @property
    def posterior(self) -> FloatArray:
        """The posterior over the answers, `[K]`, on the simplex."""
        return self.belief.posterior


def play_round(
    counts: npt.ArrayLike,
    preference: npt.ArrayLike,
    learners: Learners,
    rules: GameRules,
    *,
    principal_order: npt.ArrayLike | None = None,
) -> RoundOutcome:
    """Return the outcome of one round.

    Args:
        counts: `[A, K]` valid samples of each arm for each answer, each row with at least one; columns in the order in
            which the answers were first seen.
        preference: `[K, K]`, the probability that the principal prefers row to column.
        learners: what they know of the arms.
        rules: of the game.
        principal_order: `[K]`, the principal's rank of each answer, low is good; None where it gave none.

    Raises:
        ValueError: a shape or value is not as above.
    """
    counted = np.asarray(counts, dtype=np.float64)
    votes = vote_shares(counted)
    start = initial_policy(votes, rules.smoothing)
    game = play(start, preference, step_size=rules.step_size, anchor=rules.anchor, max_steps=rules.max_steps)
    samples, seen = counted.sum(axis=1), np.arange(counted.shape[1])
    belief = believe(learners, samples, game.policy, votes)
    return RoundOutcome(
        game=game,
        anchor=rules.anchor,
        belief=belief,
        unranked_posterior=believe(learners, samples, start, votes).posterior,
        chosen=choose(belief.posterior, principal_order, seen),
        majority=pooled_majority(counted, seen),
    )
