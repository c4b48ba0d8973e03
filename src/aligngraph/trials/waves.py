"""Recorded tasks played again by a team drawn at random: each decided on all samples, and in waves with early stop."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from aligngraph.policy import (
    DEFAULT_SMOOTHING,
    DEFAULT_THRESHOLD,
    StopReason,
    asking_order,
    choose,
    competence,
    early_stop,
    initial_policy,
    pooled_majority,
    posterior,
    self_assessed_payoff,
    stopped_payoffs,
    vote_shares,
    wave_sizes,
    weight,
)
from aligngraph.randomness import generator
from aligngraph.trials.panel import Panel, RecordedSample, RecordedTask

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReplaySetting:
    """How a panel is played again.

    Attributes:
        agents: most agents of a team, drawn at random from those of the panel.
        samples: most samples of one agent in a task, drawn at random from those recorded.
        tasks: most tasks of one team, drawn at random, in random order.
        draws: teams.
        threshold: of the posterior, in [0, 1].
    """

    agents: int = 8
    samples: int = 8
    tasks: int = 300
    draws: int = 5
    seed: int = 0
    threshold: float = DEFAULT_THRESHOLD


@dataclass(frozen=True)
class Decided:
    """One task, decided twice.

    Attributes:
        full: whether the decision on all samples is right.
        early: whether the decision of early stop is right.
        vote: whether the plain vote over all samples is right.
        reachable: whether any sample is right.
        same: whether both decisions are one.
        reason: why the rest was left out; None where all samples were drawn.
    """

    task: str
    full: bool
    early: bool
    vote: bool
    reachable: bool
    same: bool
    samples: int
    samples_full: int
    tokens: int
    tokens_full: int
    waves: int
    reason: StopReason | None


def replay(panel: Panel, setting: ReplaySetting, draw: int) -> Iterator[Decided]:
    """Yield the tasks of one team in order, those left out that one of its agents was not asked.

    Two learners start from nothing and see no right answer: one lives with all samples, the other with what early stop
    draws.
    """
    rng = generator(setting.seed, panel.name, draw)
    team = rng.permutation(len(panel.agents))[: setting.agents].tolist()
    known = [task for task in panel.tasks if all(task.samples[agent] for agent in team)]
    whole, frugal = _History(len(team)), _History(len(team))
    for place in rng.permutation(len(known))[: setting.tasks].tolist():
        drawn = _Candidates.of(known[place], team, setting.samples, rng)
        yield _decide_twice(drawn, whole, frugal, setting.threshold, rng)


@dataclass(frozen=True)
class _Candidates:
    """The samples that one team may draw for one task, in seed order: by arm, then as they were drawn at random."""

    task: RecordedTask
    arms: tuple[int, ...]
    samples: tuple[RecordedSample, ...]

    @classmethod
    def of(cls, task: RecordedTask, team: Sequence[int], most: int, rng: np.random.Generator) -> "_Candidates":
        chosen = [
            (arm, task.samples[agent][place])
            for arm, agent in enumerate(team)
            for place in rng.permutation(len(task.samples[agent]))[:most].tolist()
        ]
        return cls(task, tuple(arm for arm, _ in chosen), tuple(sample for _, sample in chosen))

    def first(self, turns: Sequence[int]) -> "_Candidates":
        """Return those drawn once every arm in `turns` has had its turn, in seed order."""
        wanted = Counter(turns)
        kept = [place for place, arm in enumerate(self.arms) if self.arms[:place].count(arm) < wanted[arm]]
        return _Candidates(
            self.task, tuple(self.arms[place] for place in kept), tuple(self.samples[place] for place in kept)
        )

    @property
    def answers(self) -> list[int]:
        """The distinct answers as first seen in seed order."""
        return list(dict.fromkeys(sample.answer for sample in self.samples if sample.answer is not None))

    def drawn(self, team: int) -> npt.NDArray[np.int64]:
        """Return how many samples each of the `team` arms has here, `[A]`."""
        return np.bincount(self.arms, minlength=team)

    def counts(self, team: int) -> Numbers:
        """Return the votes of each of the `team` arms for each answer, `[A, K]`."""
        column = {answer: number for number, answer in enumerate(self.answers)}
        votes = np.zeros((team, len(column)))
        for arm, sample in zip(self.arms, self.samples, strict=True):
            if sample.answer is not None:
                votes[arm, column[sample.answer]] += 1
        return votes


@dataclass
class _History:
    """What one learner knows: by domain the sum of payoffs and the tasks of every arm."""

    team: int
    sums: dict[str, tuple[Numbers, Numbers]] = field(default_factory=dict)

    def known(self, domain: str) -> tuple[Numbers, Numbers]:
        """Return the competence of every arm, and its tasks in this domain."""
        nothing = (np.zeros(self.team), np.zeros(self.team))
        total, count = self.sums.get(domain, nothing)
        others = [sums for name, sums in self.sums.items() if name != domain] or [nothing]
        other_total, other_count = (np.sum(parts, axis=0) for parts in zip(*others, strict=True))
        return competence(total, count, other_total, other_count), count

    def learn(self, domain: str, payoffs: Numbers) -> None:
        """Pay every arm its payoff; NaN is none."""
        total, count = self.sums.get(domain, (np.zeros(self.team), np.zeros(self.team)))
        self.sums[domain] = (total + np.nan_to_num(payoffs), count + ~np.isnan(payoffs))


def _decide_twice(
    drawn: _Candidates, whole: _History, frugal: _History, threshold: float, rng: np.random.Generator
) -> Decided:
    task = drawn.task
    full = _decide(drawn, whole, stopped=False)
    asked = _ask_in_waves(drawn, frugal, threshold, rng)
    early = _decide(asked.candidates, frugal, stopped=asked.reason is not None)
    answers = drawn.answers
    vote = answers[pooled_majority(drawn.counts(whole.team), np.arange(len(answers)))] if answers else None
    return Decided(
        task.id,
        full=_is_right(task, full),
        early=_is_right(task, early),
        vote=_is_right(task, vote),
        reachable=any(task.right[answer] for answer in answers),
        same=full == early,
        samples=len(asked.candidates.samples),
        samples_full=len(drawn.samples),
        tokens=sum(sample.tokens for sample in asked.candidates.samples),
        tokens_full=sum(sample.tokens for sample in drawn.samples),
        waves=asked.waves,
        reason=asked.reason,
    )


@dataclass(frozen=True)
class _Asked:
    candidates: _Candidates
    waves: int
    reason: StopReason | None


def _ask_in_waves(drawn: _Candidates, history: _History, threshold: float, rng: np.random.Generator) -> _Asked:
    """Return the samples that early stop draws, in how many waves, and why it left out the rest."""
    means, tasks = history.known(drawn.task.domain)
    samples = drawn.drawn(history.team)
    order = asking_order(samples, means, tasks, rng).tolist()
    sizes = wave_sizes(len(order))
    for wave, number in enumerate(accumulate(sizes[:-1]), start=1):
        asked = drawn.first(order[:number])
        stop = early_stop(asked.counts(history.team), samples - asked.drawn(history.team), means, threshold=threshold)
        if stop:
            return _Asked(asked, wave, stop.reason)
    return _Asked(drawn, len(sizes), None)


def _decide(drawn: _Candidates, history: _History, *, stopped: bool) -> int | None:
    """Return the answer that the weighted vote chooses, having learned from it; None where there is none."""
    votes, answers, domain = drawn.counts(history.team), drawn.answers, drawn.task.domain
    if not answers:
        return None
    means, _ = history.known(domain)
    voted = votes.sum(axis=1) > 0
    shares = vote_shares(votes[voted])
    weights, samples = weight(means[voted], len(answers)), votes[voted].sum(axis=1)
    belief = posterior(weights, samples, initial_policy(shares, DEFAULT_SMOOTHING))
    if stopped:
        history.learn(domain, stopped_payoffs(votes, drawn.drawn(history.team), means))
    else:
        paid = np.full(history.team, np.nan)
        paid[voted] = self_assessed_payoff(shares, belief)
        history.learn(domain, paid)
    return answers[choose(belief, None, np.arange(len(answers)))]


def _is_right(task: RecordedTask, answer: int | None) -> bool:
    return answer is not None and task.right[answer]
