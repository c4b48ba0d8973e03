"""When to stop asking: whose samples are drawn first, in which waves, and when the rest can no longer matter.

Everything here is about the votes. What a principal will say is not known while agents are asked, so that a verdict of
this module holds for the vote by learned weights, with which the game starts.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray, IntArray, finite_array, non_negative, same_length
from aligngraph.policy.competence import PRIOR_TASKS, posterior, self_assessed_payoff, weight
from aligngraph.policy.decision import TIE
from aligngraph.policy.game import DEFAULT_SMOOTHING, initial_policy, vote_shares

DEFAULT_THRESHOLD: Final = 0.9
DEFAULT_WAVES: Final = 4
LEAST_WAVE: Final = 2  # one sample alone agrees with nobody

StopReason = Literal["unchangeable", "confident"]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no more samples are needed.

    Attributes:
        reason: `unchangeable` if nothing that the remaining samples may say changes the leading answer, `confident` if
            the posterior of the leading answer exceeds the threshold.
        leader: column of the leading answer.
        posterior: of the leading answer, in (0, 1), as `open_posterior` has it.
    """

    reason: StopReason
    leader: int
    posterior: float


def early_stop(
    counts: npt.ArrayLike,
    remaining: npt.ArrayLike,
    competence: npt.ArrayLike,
    *,
    smoothing: float = DEFAULT_SMOOTHING,
    threshold: float = DEFAULT_THRESHOLD,
) -> Stop | None:
    """Return why the remaining samples can be left out, None if they should be drawn.

    Nobody is confident of fewer than two votes, whoever cast them.

    Args:
        counts: `[A, K]` valid samples so far of every arm of the team for each answer, arms without one included.
        remaining: `[A]`, samples of each arm that are not drawn yet.
        competence: `[A]`, in (0, 1).
        smoothing: of the initial policies, > 0.
        threshold: of the posterior, in [0, 1]; from 1 on only what is unchangeable stops.

    Raises:
        ValueError: a shape or value is not as above.
    """
    votes = np.asarray(counts, dtype=np.float64)
    if not votes.sum():
        return None
    belief = open_posterior(votes, competence, smoothing)
    leader = int(belief[:-1].argmax())
    if is_unchangeable(votes, remaining, competence):
        return Stop("unchangeable", leader, float(belief[leader]))
    if votes.sum() >= LEAST_WAVE and belief[leader] > threshold:
        return Stop("confident", leader, float(belief[leader]))
    return None


def is_unchangeable(counts: npt.ArrayLike, remaining: npt.ArrayLike, competence: npt.ArrayLike) -> bool:
    """Return whether the leader of the weighted vote stays ahead whatever the remaining samples say.

    They may back any answer, bring up new ones, or hold none. New answers make all weights grow alike, so that each
    number of them is looked at; a rival then has all other remaining samples, the new answers those that weigh least.
    A tie counts as changeable.

    Args:
        counts: `[A, K]`, as for `early_stop`.
        remaining: `[A]`, whole numbers >= 0.
        competence: `[A]`, in (0, 1).

    Raises:
        ValueError: a shape or value is not as above.
    """
    votes = non_negative("counts", counts, ndim=2)
    left = _whole(remaining, arms=len(votes))
    means = finite_array("competence", competence, ndim=1)
    same_length("competence", means, len(votes))
    answers, open_samples = votes.shape[1], int(left.sum())
    leader = int((weight(means, answers) @ votes).argmax())
    return all(
        _lead(votes, left, weight(means, answers + new), leader, new) > TIE * (1 + votes.sum() + open_samples)
        for new in range(open_samples + 1)
    )


def open_posterior(
    counts: npt.ArrayLike, competence: npt.ArrayLike, smoothing: float = DEFAULT_SMOOTHING
) -> FloatArray:
    """Return the posterior over the answers so far and, in a last column, one that nobody has given yet, `[K + 1]`.

    The posterior of the votes as in a decision, with room for what the samples not drawn might say: the first few
    samples often agree, and their answer alone would have posterior 1.

    Args:
        counts: `[A, K]`, with at least one sample; arms without one are left out.
        competence: `[A]`, in (0, 1).
        smoothing: of the initial policies, > 0.

    Raises:
        ValueError: a shape or value is not as above.
    """
    votes = non_negative("counts", counts, ndim=2)
    means = finite_array("competence", competence, ndim=1)
    same_length("competence", means, len(votes))
    samples = votes.sum(axis=1)
    playing = samples > 0
    opened = np.pad(votes[playing], ((0, 0), (0, 1)))
    policy = initial_policy(vote_shares(opened), smoothing)
    return posterior(weight(means[playing], opened.shape[1]), samples[playing], policy)


def stopped_payoffs(
    counts: npt.ArrayLike, asked: npt.ArrayLike, competence: npt.ArrayLike, smoothing: float = DEFAULT_SMOOTHING
) -> FloatArray:
    """Return the payoff of each arm in a task that was stopped early, `[A]` in [0, 1]; NaN for one that has none.

    An arm that voted is paid the open posterior at its votes: paid by the plain one, arms that are asked first and agree
    would learn that they are always right. An arm that was not asked is paid its competence, plus what those that voted
    earned above theirs on average. It has to be paid, since a task is stopped when it is easy: an arm that is paid only
    for hard tasks would seem worse than one that is always asked. An arm that was asked and failed has no payoff.

    Args:
        counts: `[A, K]`, as for `early_stop`, with at least one sample.
        asked: `[A]`, samples drawn of each arm, those without an answer included.
        competence: `[A]`, in (0, 1).
        smoothing: of the initial policies, > 0.

    Raises:
        ValueError: a shape or value is not as above.
    """
    belief = open_posterior(counts, competence, smoothing)
    votes, means = np.asarray(counts, dtype=np.float64), np.asarray(competence, dtype=np.float64)
    skipped = _whole(asked, arms=len(votes)) == 0
    voted = votes.sum(axis=1) > 0
    paid = np.full(len(votes), np.nan)
    paid[voted] = self_assessed_payoff(vote_shares(np.pad(votes[voted], ((0, 0), (0, 1)))), belief)
    surplus = (paid[voted] - means[voted]).mean()
    paid[skipped & ~voted] = np.clip(means + surplus, 0.0, 1.0)[skipped & ~voted]
    return paid


def asking_order(
    samples: npt.ArrayLike, competence: npt.ArrayLike, tasks: npt.ArrayLike, rng: np.random.Generator
) -> IntArray:
    """Return the arms in the order in which their samples are drawn, `[S]`: an arm stands there once for each sample.

    All first samples come before any second one. Among them goes first whose competence, drawn at random from what is
    known of it, is higher: mostly the best arm, now and then one that is little known. Best first without chance never
    learns about the arms that it does not ask. [Thompson1933]

    Args:
        samples: `[A]`, samples of each arm, whole numbers >= 0.
        competence: `[A]`, in (0, 1).
        tasks: `[A]`, tasks of each arm in this domain, >= 0; those borrowed from others tell little of this one.
        rng: draws one number an arm.

    Raises:
        ValueError: a shape or value is not as above.
    """
    means, known = finite_array("competence", competence, ndim=1), non_negative("tasks", tasks, ndim=1)
    same_length("tasks", known, len(means))
    wanted = _whole(samples, arms=len(means))
    drawn = rng.beta(means * (PRIOR_TASKS + known), (1 - means) * (PRIOR_TASKS + known))
    arms = np.repeat(np.arange(len(means)), wanted)
    turns = np.concatenate([np.arange(number) for number in wanted])
    return arms[np.lexsort((arms, -drawn[arms], turns))]


def wave_sizes(samples: int, waves: int = DEFAULT_WAVES) -> tuple[int, ...]:
    """Return how many samples are drawn at once: equal waves, the last one maybe smaller, none but that below two.

    Args:
        samples: S, of the whole team, >= 0.
        waves: most waves, >= 1.

    Raises:
        ValueError: samples < 0 or waves < 1.
    """
    if samples < 0 or waves < 1:
        raise ValueError(f"wave_sizes: got {samples!r} samples in {waves!r} waves, allowed are >= 0 in >= 1")
    size = max(LEAST_WAVE, -(-samples // waves))
    return tuple(min(size, samples - begun) for begun in range(0, samples, size))


def _lead(votes: FloatArray, left: IntArray, weights: FloatArray, leader: int, new: int) -> float:
    """Return by how much the leader is ahead of its strongest rival once `new` new answers came up, at the worst."""
    scores = weights @ votes
    heaviest = np.sort(np.repeat(weights, left))[::-1]
    rivals = [*np.delete(scores, leader) + heaviest[: len(heaviest) - new].sum()]
    if new:
        rivals.append(heaviest[: len(heaviest) - new + 1].sum())
    return float(scores[leader] - max(rivals, default=0.0))


def _whole(values: npt.ArrayLike, *, arms: int) -> IntArray:
    array = non_negative("samples", values, ndim=1)
    same_length("samples", array, arms)
    if (array != np.round(array)).any():
        raise ValueError(f"samples: got {array.tolist()!r}, allowed are whole numbers >= 0")
    return array.astype(np.int64)
