"""Log loss over the tasks with feedback: of the decisions, and of rules that never learn.

Such a rule is a fixed weight for every arm. The best one is judged on the policies that the games ended with, as the
decisions are. The plain vote and an agent alone know of no principal: they are judged on the votes, at the one weight
that suits them best in hindsight, so that what is compared is who is listened to, not how loudly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from aligngraph.learning.evidence import Evidence
from aligngraph.policy import (
    LEARNER_PRIOR,
    LEARNERS,
    JudgedTask,
    fixed_loss,
    gradient_increment,
    gradient_posterior,
    gradient_weights,
    hindsight,
    log_loss,
    loss_gradient,
    realised_gradient_regret_bound,
)
from aligngraph.policy.checks import FloatArray
from aligngraph.report.alignment import agent_of
from aligngraph.report.game import replayed_steps
from aligngraph.report.timeline import Point
from aligngraph.report.wording import spread

MOST_TASKS: Final = 2000  # each is played again
_BOUNDS: Final = 100


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule and its log loss in each task, `[T]`, in nats."""

    name: str
    losses: FloatArray

    @property
    def total(self) -> float:
        """Its cumulative log loss."""
        return float(self.losses.sum())


@dataclass(frozen=True, eq=False)
class LossRecord:
    """The T tasks whose right answer is known, in the order of the log.

    Attributes:
        numbers: `[T]`, of the tasks among all.
        decisions: as they were made.
        vote: all votes with one common weight.
        agents: each alone; where one has no vote it guesses evenly.
        best: the best fixed weights in hindsight.
        best_weights: by arm.
        learner: exponentiated gradient, had feedback come right after each task.
        bounds: how far that learner, mixed with the others, can be behind the best fixed weights after some of the tasks.
    """

    numbers: FloatArray
    decisions: Rule
    vote: Rule
    agents: tuple[Rule, ...]
    best: Rule
    best_weights: dict[str, float]
    learner: Rule
    bounds: tuple["Bound", ...]


@dataclass(frozen=True)
class Bound:
    """A bound on the regret after the task of this number, in nats."""

    number: float
    nats: float


@dataclass(frozen=True, eq=False)
class _Judged:
    """A task with feedback over all arms of the record: as its game ended, and as its votes were."""

    evidence: Evidence
    task: JudgedTask
    votes: JudgedTask


def record_losses(points: Sequence[Point]) -> LossRecord | None:
    """Return the losses over the latest 2,000 tasks whose right answer is known, None if there is no such task."""
    told = [point for point in points if _is_told(point)][-MOST_TASKS:]
    if not told:
        return None
    arms = list(dict.fromkeys(arm for point in told if point.evidence for arm in point.evidence.arms))
    judged = [_judge(point, arms) for point in told]
    tasks, votes = [one.task for one in judged], [one.votes for one in judged]
    best = hindsight(tasks)
    agents = list(dict.fromkeys(map(agent_of, arms)))
    numbers = [float(point.number) for point in told]
    learner, bounds = _learn_at_once(judged, best.weights, numbers)
    return LossRecord(
        numbers=np.array(numbers),
        decisions=Rule("decisions", np.array([log_loss(one.evidence.posterior, one.task.target) for one in judged])),
        vote=_best_common("plain vote", votes, range(len(arms))),
        agents=tuple(
            _best_common(f"{agent} alone", votes, [place for place, arm in enumerate(arms) if agent_of(arm) == agent])
            for agent in agents
        ),
        best=Rule("best fixed weights", _fixed_losses(best.weights, tasks)),
        best_weights=dict(zip(arms, best.weights.tolist(), strict=True)),
        learner=learner,
        bounds=bounds,
    )


def _is_told(point: Point) -> bool:
    return point.target is not None and point.evidence is not None and bool(point.evidence.players)


def _judge(point: Point, arms: Sequence[str]) -> _Judged:
    """Return the task with a row for every arm; one without a vote has no sample, and any policy."""
    evidence = point.evidence
    if evidence is None or point.target is None:
        raise ValueError(f"task {point.number} of run {point.run_id!r}: no right answer or no evidence is known")
    places = [arms.index(evidence.arms[player]) for player in evidence.players]
    samples, steps = np.zeros(len(arms)), replayed_steps(evidence)
    samples[places] = [sum(evidence.counts[player]) for player in evidence.players]
    ends = np.full((2, len(arms), evidence.answers), 1 / evidence.answers)
    ends[:, places] = steps[[0, -1]]
    votes, policy = ends
    return _Judged(evidence, JudgedTask(samples, policy, point.target), JudgedTask(samples, votes, point.target))


def _best_common(name: str, tasks: Sequence[JudgedTask], arms: Sequence[int]) -> Rule:
    """Return the rule that listens to these arms alone, each of their samples with one weight, the best in hindsight."""
    pooled = [_pool(task, list(arms)) for task in tasks]
    return Rule(name, _fixed_losses(hindsight(pooled).weights, pooled))


def _pool(task: JudgedTask, arms: list[int]) -> JudgedTask:
    samples, policy = np.asarray(task.samples)[arms], np.asarray(task.policy)[arms]
    drawn = samples.sum()
    mean = samples @ policy / drawn if drawn else policy.mean(axis=0)
    return JudgedTask([drawn], [mean], task.target)


def _fixed_losses(weights: FloatArray, tasks: Sequence[JudgedTask]) -> FloatArray:
    return np.array([fixed_loss(weights, [task]) for task in tasks])


def _learn_at_once(
    judged: Sequence[_Judged], best: FloatArray, numbers: Sequence[float]
) -> tuple[Rule, tuple[Bound, ...]]:
    """Return exponentiated gradient as it goes when every feedback comes at once, with its bound."""
    sums, held, slopes, losses = np.zeros(len(best)), [], [], []
    for turn, one in enumerate(judged, 1):
        task = one.task
        weights = gradient_weights(sums, one.evidence.planned)
        losses.append(log_loss(gradient_posterior(weights, task.samples, task.policy), task.target))
        held.append(weights)
        slopes.append(loss_gradient(weights, task.samples, task.policy, task.target))
        sums = sums + gradient_increment(weights, task.samples, task.policy, task.target, turn)
    bounds = [
        Bound(numbers[last], _bound(best, np.array(held[: last + 1]), np.array(slopes[: last + 1]), judged[: last + 1]))
        for last in spread(len(held), _BOUNDS)
    ]
    return Rule("exponentiated gradient", np.array(losses)), tuple(bounds)


def _bound(best: FloatArray, held: FloatArray, slopes: FloatArray, judged: Sequence[_Judged]) -> float:
    """Return the bound, with the nats that mixing the learners and the floor of their posteriors may add."""
    floors = sum(_floor_loss(one.evidence.answers) for one in judged)
    return (
        realised_gradient_regret_bound(best, held, slopes)
        - math.log(LEARNER_PRIOR[LEARNERS.index("gradient")])
        + floors
    )


def _floor_loss(answers: int) -> float:
    """Return the most that the floor of a posterior can cost: what one loses that is certain and right."""
    certain = np.eye(answers)[0]
    return log_loss(certain, certain)
