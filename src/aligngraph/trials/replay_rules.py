"""The rules that decide replayed tasks: votes, a judge alone, learners with a game or none, with feedback or without.

A rule lives through a whole sequence from nothing. It decides a task before it learns from it.
"""

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from aligngraph.policy import (
    DEFAULT_SMOOTHING,
    LEARNERS,
    GameRules,
    Learners,
    RoundOutcome,
    choose,
    competence,
    fed_back_payoffs,
    gradient_increment,
    gradient_weights,
    log_loss,
    play_round,
    pooled_majority,
    right_target,
    sample_shares,
    self_assessed_payoff,
    trust,
    vote_shares,
    weight,
)
from aligngraph.policy.competence import ANCHOR_RANGE, BORROWED_TASKS
from aligngraph.policy.game import DEFAULT_ANCHOR
from aligngraph.policy.principal import PrincipalRecord, earned_anchor, posterior_clarity, principal_payoff
from aligngraph.trials.replay_tasks import Numbers, ReplayedTask

Anchor = float | Literal["trust", "duels"]
Choices = dict[str, int]
STEP_SIZE = 1.0
MOST_STEPS = 200
TASKS_BEFORE_TRUST = 10
PAYOFF_PER_TRUST = 0.5
NO_GAME = 1.0  # any anchor: where nothing is preferred to anything, policies stay as they are


class Rule(Protocol):
    """What decides tasks in sequence."""

    def decide(self, task: ReplayedTask) -> Choices:
        """Return the answer that each of its columns chooses, by its number in [0, K), having learned from the task."""


def vote(task: ReplayedTask) -> int:
    """Return the answer with most samples."""
    return pooled_majority(task.counts, np.arange(len(task.right)))


def judge_alone(task: ReplayedTask) -> int:
    """Return the answer that is preferred to most others, among equals the first seen."""
    return int(task.preference.sum(axis=1).argmax())


def anchor_from_trust(trust: float, tasks: float) -> float:
    """Return the anchor, in [0.1, 5], of a rule that weighs no arm: the less the judge is trusted, the firmer it is.

    Args:
        trust: in nats, > 0.
        tasks: seen with two answers or more, >= 0; below 10 the anchor is 0.3 whatever the trust.
    """
    if tasks < TASKS_BEFORE_TRUST:
        return DEFAULT_ANCHOR
    low, high = ANCHOR_RANGE
    return min(max(PAYOFF_PER_TRUST / trust, low), high)


def principal_anchor(
    total: float, count: float, answers: int, borrowed_total: float = 0.0, borrowed_count: float = 0.0
) -> float:
    """Return the anchor that a judge's first choices earn it in a game over this many answers, in [0.1, 5].

    Args:
        total: sum over this domain's tasks of the posterior at the judge's first choice, in [0, count].
        count: tasks in this domain with two answers or more, >= 0.
        answers: K, >= 1.
        borrowed_total: the same sum in all other domains, of which up to 8 tasks count, at their mean.
        borrowed_count: tasks in all other domains, >= 0.
    """
    share = min(1.0, BORROWED_TASKS / borrowed_count) if borrowed_count else 0.0
    tasks = count + share * borrowed_count
    mean = (total + share * borrowed_total) / tasks if tasks else 0.0
    return anchor_from_trust(trust(min(mean, 1.0), answers), tasks)


@dataclass
class SelfTaught:
    """A learner without feedback, the game anchored as said; without a game the judge is not heard.

    Attributes:
        name: of its column.
        arms: A, of the team.
        anchor: of the game; "trust" for what the judge's first choices earn it, "duels" for what its duels earn it next to
            the weight of the arms; None for no game.
    """

    name: str
    arms: int
    anchor: Anchor | None
    _agents: "_Record" = field(init=False)
    _judge: "_Record" = field(init=False)
    _duels: "_Record" = field(init=False)

    def __post_init__(self) -> None:
        self._agents, self._judge, self._duels = _Record(self.arms), _Record(1), _Record(2)

    def decide(self, task: ReplayedTask) -> Choices:
        """Return the choice of its one column."""
        players = _players(task)
        votes = task.counts[players]
        means = competence(*self._agents.known(task.domain))[players]
        learners = Learners(means, np.zeros(len(votes)), np.ones(len(votes)), task.samples)
        played = _play(task, learners, self._anchor(task, means), heard=self.anchor is not None)
        earned = np.full(self.arms, np.nan)
        earned[players] = self_assessed_payoff(vote_shares(votes), played.posterior)
        self._agents.add(task.domain, earned)
        if len(task.right) > 1:
            belief = played.unranked_posterior
            self._judge.add(task.domain, belief[[judge_alone(task)]])
            won = [principal_payoff(belief, task.preference), posterior_clarity(belief)]
            self._duels.add(task.domain, np.array(won))
        return {self.name: played.chosen}

    def _anchor(self, task: ReplayedTask, means: Numbers) -> float:
        answers = len(task.right)
        if self.anchor == "trust":
            total, count, lent, lent_count = (float(sums[0]) for sums in self._judge.known(task.domain))
            return principal_anchor(total, count, answers, lent, lent_count)
        if self.anchor == "duels":
            paid, tasks, lent_paid, lent_tasks = self._duels.known(task.domain).tolist()
            record = PrincipalRecord(paid[0], tasks[0], clarity=paid[1])
            elsewhere = PrincipalRecord(lent_paid[0], lent_tasks[0], clarity=lent_paid[1])
            return earned_anchor(record, weight(means, answers), answers, elsewhere)
        return NO_GAME if self.anchor is None else self.anchor


@dataclass
class FedBack:
    """The learners of the mixture, told the right answers after each task; no judge is heard.

    Attributes:
        arms: A, of the team.
    """

    arms: int
    _agents: "_Record" = field(init=False)
    _gradient: dict[str, Numbers] = field(default_factory=dict)
    _losses: dict[str, Numbers] = field(default_factory=dict)
    _tasks: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._agents = _Record(self.arms)

    def decide(self, task: ReplayedTask) -> Choices:
        """Return the choices of its four columns."""
        players, domain = _players(task), task.domain
        total, count, *lent = self._agents.known(domain)
        learners = Learners(
            competence=competence(total, count, *lent)[players],
            gradient=self._gradient.setdefault(domain, np.zeros(self.arms))[players],
            shares=sample_shares(count - total, float(count.max()))[players],
            team_samples=task.samples,
            losses=self._losses.setdefault(domain, np.zeros(len(LEARNERS))),
            fed_back=self._tasks.setdefault(domain, 0),
        )
        played = _play(task, learners, NO_GAME, heard=False)
        seen = np.arange(len(task.right))
        single = [choose(row, None, seen) for row in played.belief.by_learner]
        self._learn(task, learners, played)
        return {**dict(zip(LEARNERS, single, strict=True)), "mixture": played.chosen}

    def _learn(self, task: ReplayedTask, learners: Learners, played: RoundOutcome) -> None:
        domain, players = task.domain, _players(task)
        self._agents.add(domain, fed_back_payoffs(np.pad(task.counts, ((0, 0), (0, 1))), task.right))
        target = right_target(task.right)
        if not target.any():
            return
        self._tasks[domain] += 1
        weights = gradient_weights(learners.gradient, learners.team_samples)
        moved = gradient_increment(
            weights, task.counts[players].sum(axis=1), played.game.policy, target, self._tasks[domain]
        )
        self._gradient[domain][players] += moved
        self._losses[domain] += [log_loss(row, target) for row in played.belief.by_learner]


@dataclass
class _Record:
    """By domain the sum of payoffs and the tasks of every arm."""

    arms: int
    sums: dict[str, Numbers] = field(default_factory=dict)

    def known(self, domain: str) -> Numbers:
        """Return four rows: total and count in this domain, and in all others, `[4, A]`."""
        nothing = np.zeros((2, self.arms))
        others = [sums for name, sums in self.sums.items() if name != domain]
        return np.concatenate([self.sums.get(domain, nothing), np.sum([nothing, *others], axis=0)])

    def add(self, domain: str, payoffs: Numbers) -> None:
        """Pay every arm its payoff; NaN is none."""
        paid = np.stack([np.nan_to_num(payoffs), ~np.isnan(payoffs)])
        self.sums[domain] = self.sums.get(domain, np.zeros((2, self.arms))) + paid


def _players(task: ReplayedTask) -> Numbers:
    players: Numbers = task.counts.sum(axis=1) > 0
    return players


def _play(task: ReplayedTask, learners: Learners, anchor: float, *, heard: bool) -> RoundOutcome:
    """Return the outcome of the task's one round; a judge that is not heard prefers nothing."""
    preference = task.preference if heard else np.full_like(task.preference, 0.5)
    return play_round(
        task.counts[_players(task)],
        preference,
        learners,
        GameRules(STEP_SIZE, anchor, DEFAULT_SMOOTHING, MOST_STEPS),
        principal_order=-task.preference.sum(axis=1) if heard else None,
    )
