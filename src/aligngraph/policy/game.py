"""The delegation game of one task: agents propose answers, the principal's preference pays them, policies move.

Rows are players, that is agents (or arms) with at least one valid sample; the caller leaves the others out, since a
failure is no answer. Columns are distinct answers. [ALIGN2026]
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from aligngraph.policy.checks import (
    FloatArray,
    non_negative,
    non_negative_number,
    positive_number,
    preference_matrix,
    simplex_rows,
)
from aligngraph.policy.regret import anchored_nash_gap, external_regret, nash_gap, regret_bound

DEFAULT_ANCHOR: Final = 0.3
DEFAULT_SMOOTHING: Final = 0.5

Schedule = Callable[[int], float]


@dataclass(frozen=True, slots=True, eq=False)
class GameOutcome:
    """What a game ended with; N players, K answers, payoffs in [0, 1].

    Attributes:
        policy: `[N, K]`, the last policies, rows on the simplex.
        payoff: `[N, K]`, against the last policies.
        steps: updates made, >= 1.
        settled: the last update changed no entry by the tolerance or more.
        regret: `[N]`, external regret over the steps played.
        regret_bound: `[N]`, its bound (see the function of this name); None under a step size schedule.
        nash_gap: `[N]`, gain of a best response to the last policies.
        nash_conv: sum of `nash_gap`.
        anchored_nash_conv: the same sum in the game that charges anchor * KL(policy || initial).
    """

    policy: FloatArray
    payoff: FloatArray
    steps: int
    settled: bool
    regret: FloatArray
    regret_bound: FloatArray | None
    nash_gap: FloatArray
    nash_conv: float
    anchored_nash_conv: float


def vote_shares(counts: npt.ArrayLike) -> FloatArray:
    """Return the share of each agent's valid samples that gave each answer, `[N, K]`.

    Rows sum to 1, or are 0 for an agent without a valid sample, which cannot play. [Wang2023]

    Args:
        counts: `[N, K]` samples, >= 0; fractions are allowed, for samples weighted by their confidence.

    Raises:
        ValueError: counts are not `[N, K]`, or not finite and >= 0.
    """
    counted = non_negative("counts", counts, ndim=2)
    samples = counted.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(counted, samples, where=samples > 0, out=np.zeros_like(counted))
    return shares


def initial_policy(votes: npt.ArrayLike, smoothing: float = DEFAULT_SMOOTHING) -> FloatArray:
    """Return the policies of step 1, `[N, K]`: vote shares mixed with `smoothing` pseudo-votes spread over the answers.

    No entry is 0, since an entropic update never revives one.

    Args:
        votes: `[N, K]`, rows on the simplex.
        smoothing: weight of the uniform part relative to the votes, > 0.

    Raises:
        ValueError: a row is not on the simplex (an agent without a valid sample does not play), or smoothing <= 0.
    """
    shares = simplex_rows("votes", votes)
    added = positive_number("smoothing", smoothing)
    policy: FloatArray = (shares + added / shares.shape[1]) / (1 + added)
    return policy


def payoff(policy: FloatArray, preference: FloatArray, opponent: FloatArray | None = None) -> FloatArray:
    """Return what each answer pays each player, `[N, K]` in [0, 1]: how often it beats the others' current proposals.

    This is the expected normalised Borda score of a proposal among the players' proposals. Values are not checked,
    `play` does so once.

    Args:
        policy: `[N, K]`, rows on the simplex.
        preference: `[K, K]`, the probability that the principal prefers row to column.
        opponent: `[K]`, whom a lone player meets: its own initial policy. Of no effect from two players on.

    Raises:
        ValueError: one player and no opponent.
    """
    players = len(policy)
    if players > 1:
        others = policy.sum(axis=0) - policy
        others *= 1 / (players - 1)
    elif opponent is not None:
        others = opponent[np.newaxis]
    else:
        raise ValueError("payoff: got one player and no opponent, allowed is its own initial policy as opponent")
    paid: FloatArray = others @ preference.T
    return paid


def mirror_step(tilt: FloatArray, payoff: FloatArray, *, step_size: float, anchor: float) -> FloatArray:
    """Return the next tilt: the dual coordinate of a policy, seen from the initial policy.

    One step of magnetic mirror descent, `log policy' ~ (log policy + eta anchor log initial + eta payoff) / (1 + eta
    anchor)`, less log initial on both sides, by which the anchor becomes a discount. Entropic mirror descent (Hedge)
    for anchor 0. [Sokota2023]

    Args:
        tilt: `[N, K]`, zeros at step 1.
        payoff: `[N, K]`, what the policies of this step are paid.
        step_size: eta, > 0.
        anchor: lambda, >= 0.
    """
    moved = step_size * payoff
    moved += tilt
    moved *= 1 / (1 + step_size * anchor)
    return moved


def tilted(log_initial: FloatArray, tilt: FloatArray) -> FloatArray:
    """Return the policies `initial * exp(tilt)`, rows normalised, `[N, K]`."""
    policy = log_initial + tilt
    policy -= policy.max(axis=1, keepdims=True)
    np.exp(policy, out=policy)
    policy /= policy.sum(axis=1, keepdims=True)
    return policy


def play(
    initial: npt.ArrayLike,
    preference: npt.ArrayLike,
    *,
    step_size: float | Schedule = 1.0,
    anchor: float = DEFAULT_ANCHOR,
    max_steps: int = 200,
    tolerance: float = 1e-8,
) -> GameOutcome:
    """Return the outcome of the game from `initial`, all players moving at once.

    Args:
        initial: `[N, K]`, policies of step 1 and anchors, rows on the simplex, all entries > 0.
        preference: `[K, K]`, the probability that the principal prefers row to column; 1/2 where it abstained.
        step_size: > 0, or a schedule of the step 1, 2, ...
        anchor: >= 0, the payoff per nat that a player asks for leaving its initial policy.
        max_steps: >= 1.
        tolerance: >= 0; play stops when no entry of a policy changes by this much, never for 0.

    Raises:
        ValueError: a shape or value is not as above; the message says what was got and what is allowed.
    """
    start, preferred = _opening(initial, preference)
    held = non_negative_number("anchor", anchor)
    course = _run(start, preferred, _schedule(step_size), held, _stop(max_steps, tolerance))
    constant = None if callable(step_size) else float(step_size)
    return _outcome(start, preferred, course, held, constant)


def trace(
    initial: npt.ArrayLike,
    preference: npt.ArrayLike,
    *,
    step_size: float | Schedule = 1.0,
    anchor: float = DEFAULT_ANCHOR,
    max_steps: int = 200,
    tolerance: float = 1e-8,
) -> FloatArray:
    """Return the policies of every step of the game that `play` plays, `[T + 1, N, K]`: the initial ones first.

    Args:
        initial: as for `play`.
        preference: as for `play`.
        step_size: as for `play`.
        anchor: as for `play`.
        max_steps: as for `play`.
        tolerance: as for `play`.

    Raises:
        ValueError: a shape or value is not as above.
    """
    start, preferred = _opening(initial, preference)
    held = non_negative_number("anchor", anchor)
    policies = [start]
    _run(start, preferred, _schedule(step_size), held, _stop(max_steps, tolerance), policies)
    return np.stack(policies)


@dataclass(frozen=True, slots=True)
class _Stop:
    steps: int
    tolerance: float


@dataclass(frozen=True, slots=True, eq=False)
class _Course:
    policy: FloatArray
    answer_totals: FloatArray
    earned: FloatArray
    steps: int
    settled: bool


def _run(
    start: FloatArray,
    preference: FloatArray,
    step_size: Schedule,
    anchor: float,
    stop: _Stop,
    policies: list[FloatArray] | None = None,
) -> _Course:
    """Return the course of the game, and add the policies after each step to `policies`."""
    log_start, policy = np.log(start), start
    tilt, answer_totals, earned = np.zeros_like(start), np.zeros_like(start), np.zeros(len(start))
    step, settled = 0, False
    while step < stop.steps and not settled:
        step += 1
        current = payoff(policy, preference, start[0])
        answer_totals += current
        earned += np.vecdot(policy, current)
        tilt = mirror_step(tilt, current, step_size=step_size(step), anchor=anchor)
        last, policy = policy, tilted(log_start, tilt)
        if policies is not None:
            policies.append(policy)
        settled = stop.tolerance > 0 and bool(np.abs(policy - last).max() < stop.tolerance)
    return _Course(policy, answer_totals, earned, step, settled)


def _outcome(
    start: FloatArray, preference: FloatArray, course: _Course, anchor: float, step_size: float | None
) -> GameOutcome:
    paid = payoff(course.policy, preference, start[0])
    gap = nash_gap(course.policy, paid)
    bound = None
    if step_size is not None:
        bound = regret_bound(start, course.answer_totals, step_size=step_size, steps=course.steps, anchor=anchor)
    return GameOutcome(
        policy=course.policy,
        payoff=paid,
        steps=course.steps,
        settled=course.settled,
        regret=external_regret(course.answer_totals, course.earned),
        regret_bound=bound,
        nash_gap=gap,
        nash_conv=float(gap.sum()),
        anchored_nash_conv=float(anchored_nash_gap(course.policy, paid, start, anchor).sum()),
    )


def _schedule(step_size: float | Schedule) -> Schedule:
    if not callable(step_size):
        constant = positive_number("step_size", step_size)
        return lambda _: constant
    return lambda step: positive_number(f"step_size({step})", step_size(step))


def _opening(initial: npt.ArrayLike, preference: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    start = simplex_rows("initial", initial)
    if not start.all():
        raise ValueError(f"initial: got a 0 in shape {start.shape}, allowed are entries > 0, as smoothing makes them")
    return start, preference_matrix(preference, answers=start.shape[1])


def _stop(max_steps: int, tolerance: float) -> _Stop:
    if max_steps < 1:
        raise ValueError(f"max_steps: got {max_steps!r}, allowed is an integer >= 1")
    return _Stop(max_steps, non_negative_number("tolerance", tolerance))
