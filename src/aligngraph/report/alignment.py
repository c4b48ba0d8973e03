"""Positive alignment: whether an agent is surer of the answers that the principal prefers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aligngraph.learning.evidence import Evidence
from aligngraph.policy.checks import FloatArray
from aligngraph.report.timeline import Point
from aligngraph.report.wilson import wilson


@dataclass(frozen=True)
class Alignment:
    """Kendall's tau-b of an agent, averaged over tasks, in [-1, 1].

    Attributes:
        agent: its name.
        tasks: in which it can be computed: the principal judged, and neither side holds all answers equal.
        tau: mean; None of no tasks.
        low: lower end of its 90 % interval.
        high: upper end.
    """

    agent: str
    tasks: int
    tau: float | None = None
    low: float | None = None
    high: float | None = None


def align_agents(points: Sequence[Point]) -> list[Alignment]:
    """Return the alignment of every agent that took part, as first seen."""
    known = [point.evidence for point in points if point.evidence is not None]
    agents = dict.fromkeys(agent_of(arm) for evidence in known for arm in evidence.arms)
    return [_summarise(agent, [task_tau(evidence, agent) for evidence in known]) for agent in agents]


def task_tau(evidence: Evidence, agent: str) -> float | None:
    """Return tau-b between the agent's shares of its own first votes and the principal's preference, over the answers.

    None where the principal was not asked or preferred nothing, where the agent has no vote, or where it was equally sure
    of all. A preference is the mean probability with which an answer is preferred to the others. [Kendall1938]
    """
    if evidence.preference is None or evidence.answers <= 1 or not evidence.judges:
        return None
    own: FloatArray = np.zeros(evidence.answers)
    for arm, row in zip(evidence.arms, evidence.first, strict=True):
        if agent_of(arm) == agent:
            own += row[:-1]
    if not own.any():
        return None
    return _tau(own, np.mean(evidence.preference, axis=1))


def agent_of(arm: str) -> str:
    """Return the agent of an arm."""
    return arm.split("/", 1)[0]


def _tau(confidence: FloatArray, preference: FloatArray) -> float | None:
    from scipy.stats import kendalltau  # noqa: PLC0415 - an extra, half a second

    shown = [np.round(side, 9) for side in (confidence, preference)]  # rounding makes no order
    if any(side.max() == side.min() for side in shown):
        return None
    tau = float(kendalltau(*shown, variant="b").statistic)
    return None if math.isnan(tau) else tau


def _summarise(agent: str, taus: Sequence[float | None]) -> Alignment:
    """Return the mean and Wilson's interval of (tau + 1) / 2: for numbers in [0, 1] it is never too narrow."""
    known = [tau for tau in taus if tau is not None]
    if not known:
        return Alignment(agent, 0)
    reach = wilson(sum((tau + 1) / 2 for tau in known), len(known))
    return Alignment(agent, len(known), sum(known) / len(known), 2 * reach.low - 1, 2 * reach.high - 1)
