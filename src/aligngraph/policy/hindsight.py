"""What fixed weights would have lost over the tasks with feedback, and how far a learner may be behind the best.

All losses are in nats and without a floor: `-sum target log softmax(sum w n policy)`, summed over the tasks. They are
convex in the weights, so that the best weights can be found, and be seen to be the best.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import FloatArray, finite_array, non_negative, same_length, simplex_rows
from aligngraph.policy.gradient import FIRST_STEP_SIZE, WEIGHT_RANGE
from aligngraph.policy.mixture import softmax, target_row

GAP: Final = 1e-6  # nats, over all tasks together
CLOSED: Final = -1e9  # score of an answer that a task does not have; its exponential is 0
NEWTON_STEPS: Final = 60
HALVINGS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTask:
    """A task with feedback, as all arms of the team saw it.

    Attributes:
        samples: `[A]`, valid samples of each arm, >= 0.
        policy: `[A, K]`, rows on the simplex; of no effect for an arm without a sample.
        target: `[K]`, spread evenly over the right answers with sum 1; zeros where none is right.
    """

    samples: npt.ArrayLike
    policy: npt.ArrayLike
    target: npt.ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class Hindsight:
    """What fixed weights would have lost, in nats.

    Attributes:
        weights: `[A]`, the best fixed weights, in [0.001, 15].
        loss: of these weights.
        gap: what is certain: no fixed weights in the range lose less than `loss - gap`.
        vote_loss: of the pooled vote, all arms with one common weight, the best in the range.
        arm_losses: `[A]`, of each arm alone at its best weight in the range, the others at 0.001.
    """

    weights: FloatArray
    loss: float
    gap: float
    vote_loss: float
    arm_losses: FloatArray


def hindsight(tasks: Sequence[JudgedTask]) -> Hindsight:
    """Return the best fixed weights over the tasks, next to the pooled vote and each arm alone.

    Args:
        tasks: one or more, all of the same arms.

    Raises:
        ValueError: there is no task, or a shape or value is not as above.
    """
    record, low = _record(tasks), WEIGHT_RANGE[0]
    weights = _best(record)
    vote = _Record(record.votes.sum(axis=0, keepdims=True), record.offset, record.target)
    floor = low * record.votes.sum(axis=0)
    alone = [_Record(votes[np.newaxis], record.offset + floor - low * votes, record.target) for votes in record.votes]
    return Hindsight(
        weights=weights,
        loss=record.loss(weights),
        gap=_gap(weights, record.slope(weights)[0]),
        vote_loss=vote.loss(_best(vote)),
        arm_losses=np.array([arm.loss(_best(arm)) for arm in alone]),
    )


def fixed_loss(weights: npt.ArrayLike, tasks: Sequence[JudgedTask]) -> float:
    """Return what these weights would have lost over the tasks, in nats, >= 0.

    Args:
        weights: `[A]`, finite.
        tasks: as for `hindsight`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    held, record = finite_array("weights", weights, ndim=1), _record(tasks)
    same_length("weights", held, len(record.votes))
    return record.loss(held)


def gradient_regret_bound(best: npt.ArrayLike, samples: npt.ArrayLike) -> float:
    """Return how far exponentiated gradient may lose more than fixed weights, in nats, whatever the tasks.

    By convexity the regret is at most sum_t <g_t, w_t - u>, with |g| <= n for an arm with n samples. A step with its cut
    is one of mirror descent: in every coordinate, step g (w - u) <= D(u, w) - D(u, w') + rest, where D(u, w) = u log(u /
    w) - u + w, and rest = w (exp(-step g) - 1 + step g), or step |g| (15 - 0.001) if that is less. Divided by the step
    and summed, the D come to at most max D / last step, since steps only shrink. [KivinenWarmuth1997] [CesaBianchi2006]
    With steps of 1.5 / sqrt(t) and n never above a constant all of it grows like sqrt(T).

    Args:
        best: `[A]`, the fixed weights u, in [0.001, 15].
        samples: `[T, A]`, valid samples of each arm in each task, >= 0, in the order of the tasks.

    Raises:
        ValueError: a shape or value is not as above.
    """
    drawn = non_negative("samples", samples, ndim=2)
    fixed = _fixed_weights(best, arms=drawn.shape[1])
    low, high = WEIGHT_RANGE
    farthest = np.maximum(_divergence(fixed, np.array(low)), _divergence(fixed, np.array(high)))
    return float(farthest.sum() / _step_sizes(len(drawn))[-1] + _rest(np.array(high), -drawn))


def realised_gradient_regret_bound(best: npt.ArrayLike, weights: npt.ArrayLike, gradients: npt.ArrayLike) -> float:
    """Return the bound of `gradient_regret_bound` for the weights and gradients that came about, in nats; far tighter.

    It holds for steps that were taken one after the other, each from the weights of the last.

    Args:
        best: `[A]`, as for `gradient_regret_bound`.
        weights: `[T, A]`, the weights of each task, in [0.001, 15], in the order of the tasks.
        gradients: `[T, A]`, as of `loss_gradient`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    slopes, held = finite_array("gradients", gradients, ndim=2), non_negative("weights", weights, ndim=2)
    same_length("weights", held, len(slopes))
    fixed = _fixed_weights(best, arms=slopes.shape[1])
    growth = np.diff(1 / _step_sizes(len(slopes)), prepend=0.0)
    return float(growth @ _divergence(fixed, held).sum(axis=1) + _rest(held, slopes))


def _step_sizes(tasks: int) -> FloatArray:
    return np.asarray(FIRST_STEP_SIZE / np.sqrt(np.arange(1, tasks + 1)))


def _divergence(fixed: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(fixed * np.log(fixed / weights) - fixed + weights)


def _rest(weights: FloatArray, gradients: FloatArray) -> float:
    step_sizes = _step_sizes(len(gradients))[:, np.newaxis]
    moved = np.minimum(-step_sizes * gradients, 50.0)  # beyond it the other term is the lesser by far
    free = weights * (np.expm1(moved) - moved) / step_sizes
    return float(np.minimum(free, np.abs(gradients) * (WEIGHT_RANGE[1] - WEIGHT_RANGE[0])).sum())


def _fixed_weights(best: npt.ArrayLike, *, arms: int) -> FloatArray:
    fixed = finite_array("best", best, ndim=1)
    same_length("best", fixed, arms)
    low, high = WEIGHT_RANGE
    if fixed.min() < low or fixed.max() > high:
        raise ValueError(f"best: got {fixed.tolist()!r}, allowed are weights from {low} to {high}")
    return fixed


@dataclass(frozen=True, slots=True, eq=False)
class _Record:
    """T tasks with K answers at most: scores of the answers are `offset + weights @ votes`.

    Attributes:
        votes: `[A, T, K]`, samples times policy.
        offset: `[T, K]`.
        target: `[T, K]`, rows on the simplex.
    """

    votes: FloatArray
    offset: FloatArray
    target: FloatArray

    def loss(self, weights: FloatArray) -> float:
        scores = self.offset + np.tensordot(weights, self.votes, 1)
        highest = scores.max(axis=1)
        partition = highest + np.log(np.exp(scores - highest[:, np.newaxis]).sum(axis=1))
        return max(0.0, float((partition - np.vecdot(self.target, scores)).sum()))

    def slope(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient `[A]` and Hessian `[A, A]` of the loss."""
        belief = softmax(self.offset + np.tensordot(weights, self.votes, 1))
        flat, weighed = self.votes.reshape(len(weights), -1), self.votes * belief
        mean = weighed.sum(axis=2)
        return flat @ (belief - self.target).ravel(), weighed.reshape(flat.shape) @ flat.T - mean @ mean.T


def _record(tasks: Sequence[JudgedTask]) -> _Record:
    if not tasks:
        raise ValueError("tasks: got none, allowed are one or more tasks with feedback")
    arms, answers = len(np.asarray(tasks[0].samples)), max(np.asarray(task.target).size for task in tasks)
    votes = np.zeros((arms, len(tasks), answers))
    offset, target = np.full((len(tasks), answers), CLOSED), np.zeros((len(tasks), answers))
    for number, task in enumerate(tasks):
        cast, wanted = _votes(task, arms=arms), target_row(task.target)
        same_length("target", wanted, cast.shape[1])
        votes[:, number, : len(wanted)], offset[number, : len(wanted)], target[number, : len(wanted)] = cast, 0, wanted
    told = target.any(axis=1)
    return _Record(np.ascontiguousarray(votes[:, told]), offset[told], target[told])


def _votes(task: JudgedTask, *, arms: int) -> FloatArray:
    samples, policy = non_negative("samples", task.samples, ndim=1), finite_array("policy", task.policy, ndim=2)
    same_length("samples", samples, arms)
    same_length("policy", policy, arms)
    playing = samples > 0
    votes = np.zeros(policy.shape)
    if playing.any():
        votes[playing] = samples[playing, np.newaxis] * simplex_rows("policy", policy[playing])
    return votes


def _best(record: _Record) -> FloatArray:
    """Return the weights of least loss in the range: Newton's method inside a barrier, lowered until the gap closes.

    [Boyd2004]
    """
    weights, barrier = np.ones(len(record.votes)), 1.0
    while _gap(weights, record.slope(weights)[0]) > GAP and barrier > GAP / (100 * len(weights)):
        weights = _centre(record, weights, barrier)
        barrier /= 10
    return weights


def _centre(record: _Record, weights: FloatArray, barrier: float) -> FloatArray:
    low, high = WEIGHT_RANGE
    for _ in range(NEWTON_STEPS):
        slope, curvature = record.slope(weights)
        below, above = 1 / (weights - low), 1 / (high - weights)
        slope = slope - barrier * (below - above)
        bent = curvature + barrier * np.diag(below**2 + above**2)
        step = np.asarray(np.linalg.solve(bent, -slope), dtype=np.float64)
        fall = -float(slope @ step)
        if fall < barrier / 10:
            break
        weights = weights + _length(record, weights, step, barrier, fall) * step
    return weights


def _length(record: _Record, weights: FloatArray, step: FloatArray, barrier: float, fall: float) -> float:
    """Return which part of a Newton step to take: inside the range, and halved until the loss falls enough."""
    low, high = WEIGHT_RANGE
    room = np.where(step < 0, weights - low, high - weights)
    length = min(1.0, 0.99 / float((np.abs(step) / room).max()))
    before = _held_loss(record, weights, barrier)
    for _ in range(HALVINGS):
        if _held_loss(record, weights + length * step, barrier) <= before - length * fall / 4:
            break
        length /= 2
    return length


def _held_loss(record: _Record, weights: FloatArray, barrier: float) -> float:
    low, high = WEIGHT_RANGE
    return record.loss(weights) - barrier * float((np.log(weights - low) + np.log(high - weights)).sum())


def _gap(weights: FloatArray, slope: FloatArray) -> float:
    """Return by how much, at most, the loss exceeds that of any weights in the range, by its convexity."""
    low, high = WEIGHT_RANGE
    return float(np.maximum(slope * (weights - low), slope * (weights - high)).sum())
