"""Recorded tasks in the order in which a team drawn at random meets them, each with what a judge made up says of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aligngraph.randomness import generator
from aligngraph.trials.panel import Panel, RecordedTask

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ReplaySetting:
    """What is played again, and how.

    Attributes:
        judge: how often the judge prefers a right to a wrong answer, in [0, 1]; None for no judge.
        feedback: the right answers are told after each task.
        agents: most agents of a team, drawn at random from those of the panel; None for all.
        weaker_half: agents are drawn only from the half of the panel that is right less often.
        tasks: most tasks of one team, drawn at random, in random order; None for all.
        samples: most samples of one agent in a task, drawn at random from those recorded.
        draws: teams.
    """

    judge: float | None = None
    feedback: bool = False
    agents: int | None = 8
    weaker_half: bool = False
    tasks: int | None = 300
    samples: int = 8
    draws: int = 5
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ReplayedTask:
    """One task as a team of A arms answered it; K >= 1 distinct answers in the order in which they were first seen.

    Attributes:
        domain: the kind of task.
        samples: drawn of the whole team, those without an answer included.
        counts: `[A, K]`, valid samples of each arm for each answer.
        right: `[K]`.
        preference: `[K, K]`, whether the judge prefers row to column, 1/2 on the diagonal; 1/2 throughout without one.
    """

    id: str
    domain: str
    samples: int
    counts: Numbers
    right: Flags
    preference: Numbers


def replayed_tasks(panel: Panel, setting: ReplaySetting, draw: int) -> Iterator[ReplayedTask]:
    """Yield the tasks of one team in order; left out are those that not all were asked, or that none answered."""
    rng = generator(setting.seed, panel.name, draw)
    pool = weaker_half(panel) if setting.weaker_half else list(range(len(panel.agents)))
    team = [pool[place] for place in rng.permutation(len(pool))[: setting.agents].tolist()]
    known = [task for task in panel.tasks if all(task.samples[agent] for agent in team)]
    for place in rng.permutation(len(known))[: setting.tasks].tolist():
        drawn = [_drawn(known[place], agent, setting.samples, rng) for agent in team]
        answers = list(dict.fromkeys(answer for its in drawn for answer in its if answer is not None))
        if answers:
            right = np.array([known[place].right[answer] for answer in answers])
            counts = np.array([[its.count(answer) for answer in answers] for its in drawn], dtype=np.float64)
            preference = made_up_preference(right, setting.judge, rng)
            asked = sum(len(its) for its in drawn)
            yield ReplayedTask(known[place].id, known[place].domain, asked, counts, right, preference)


def weaker_half(panel: Panel) -> list[int]:
    """Return the agents, by number, whose samples are right less often than those of the other half; at least one."""
    shares = [_share_right(panel.tasks, agent) for agent in range(len(panel.agents))]
    ranked = sorted(range(len(shares)), key=lambda agent: shares[agent])
    return sorted(ranked[: max(1, len(ranked) // 2)])


def made_up_preference(right: Flags, judge: float | None, rng: np.random.Generator) -> Numbers:
    """Return a judge's preference, `[K, K]`: each pair is decided by itself, two right or two wrong ones by a coin.

    Args:
        right: `[K]`.
        judge: how often it prefers a right to a wrong answer, in [0, 1]; None for one that says nothing.
        rng: draws one number a pair, whether there is a judge or not: the tasks drawn next stay the same.
    """
    answers = len(right)
    luck = rng.random((answers, answers))
    if judge is None:
        return np.full((answers, answers), 0.5)
    chance = 0.5 + (judge - 0.5) * (right[:, np.newaxis].astype(np.float64) - right)
    upper = np.triu(luck < chance, 1)
    return np.where(np.eye(answers) > 0, 0.5, np.triu(upper, 1) + np.tril(~upper.T, -1))


def _drawn(task: RecordedTask, agent: int, most: int, rng: np.random.Generator) -> list[int | None]:
    """Return the answers of the samples of one agent that are drawn, None for those without."""
    its = task.samples[agent]
    return [its[place].answer for place in rng.permutation(len(its))[:most].tolist()]


def _share_right(tasks: Sequence[RecordedTask], agent: int) -> float:
    flags = [
        sample.answer is not None and task.right[sample.answer] for task in tasks for sample in task.samples[agent]
    ]
    return sum(flags) / max(1, len(flags))
