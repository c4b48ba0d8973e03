"""How good the play of a game was: external regret in hindsight, and the incentive to deviate that is left at its end.

Regret belongs to a trajectory, a Nash gap to one profile; neither is the other, and neither is exploitability, which
is a Nash gap of two-player zero-sum games only.
"""

import numpy as np

from aligngraph.policy.checks import FloatArray


def external_regret(answer_totals: FloatArray, earned: FloatArray) -> FloatArray:
    """Return each agent's external regret, `[N]`, of either sign: what its best fixed answer would have earned more.

    Args:
        answer_totals: `[N, K]`, the payoff that each answer would have earned if proposed at every step.
        earned: `[N]`, the payoff that the policies earned, summed over the same steps.
    """
    best: FloatArray = answer_totals.max(axis=1)
    return best - earned


def regret_bound(
    initial: FloatArray, answer_totals: FloatArray, *, step_size: float, steps: int, anchor: float = 0.0
) -> FloatArray:
    """Return the bound on each agent's external regret, `[N]`, whatever the payoffs in [0, 1].

    KL(best || initial) (1 / step_size + anchor T) + step_size T / 8. For anchor 0 this is the bound of Hedge, sublinear
    in T for a step size of 1 / sqrt(T) [FreundSchapire1997] [CesaBianchi2006]; an anchor holds a policy back from its
    best answer at up to anchor * KL(best || initial) a step, as composite mirror descent counts it [Duchi2010].

    Args:
        initial: `[N, K]`, the policies of step 1, all entries > 0.
        answer_totals: `[N, K]`, as for `external_regret`; the best answer is the one with the highest total.
        step_size: eta, > 0, the same at every step.
        steps: T, >= 1.
        anchor: lambda, >= 0.
    """
    best = answer_totals.argmax(axis=1)
    divergence = -np.log(initial[np.arange(len(initial)), best])
    bound: FloatArray = divergence * (1 / step_size + anchor * steps) + step_size * steps / 8
    return bound


def nash_gap(policy: FloatArray, payoff: FloatArray) -> FloatArray:
    """Return what each agent would gain by its best response to the profile, `[N]`, >= 0.

    Their sum is the NashConv of the profile. [Lanctot2019]

    Args:
        policy: `[N, K]`, rows on the simplex.
        payoff: `[N, K]` in [0, 1], against this same profile.
    """
    return _without_rounding(payoff.max(axis=1) - np.vecdot(policy, payoff))


def anchored_nash_gap(policy: FloatArray, payoff: FloatArray, initial: FloatArray, anchor: float) -> FloatArray:
    """Return what each agent would gain by its best response in the anchored game, `[N]`, >= 0.

    There an agent is paid <policy, payoff> - anchor * KL(policy || initial); the best response `initial *
    exp(payoff / anchor)` is worth anchor * log-sum-exp(log initial + payoff / anchor). 0 at the fixed point of
    magnetic mirror descent, and equal to `nash_gap` for anchor 0. [Sokota2023]
    """
    if anchor == 0:
        return nash_gap(policy, payoff)
    shift = payoff.max(axis=1, keepdims=True)
    partition = np.vecdot(initial, np.exp((payoff - shift) / anchor))
    best = shift[:, 0] + anchor * np.log(partition)
    return _without_rounding(best - np.vecdot(policy, payoff) + anchor * _divergence(policy, initial))


def _divergence(policy: FloatArray, initial: FloatArray) -> FloatArray:
    played = policy > 0  # a policy may underflow to 0, where p log p is 0
    ratio = np.divide(policy, initial, where=played, out=np.ones_like(policy))
    divergence: FloatArray = np.vecdot(policy, np.log(ratio))
    return divergence


def _without_rounding(gap: FloatArray) -> FloatArray:
    """Return `gap` with the -1e-17 of a best response that is already played as 0."""
    return np.maximum(gap, 0.0)
