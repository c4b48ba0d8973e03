"""Recorded panels played again in sequence: how often each rule of deciding is right, next to the plain vote."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from aligngraph.errors import UsageError
from aligngraph.randomness import generator
from aligngraph.trials.panel import Panel
from aligngraph.trials.replay_rules import FedBack, Rule, SelfTaught, judge_alone, vote
from aligngraph.trials.replay_tasks import ReplayedTask, ReplaySetting, replayed_tasks
from aligngraph.trials.resampling import mean_difference
from aligngraph.trials.shares import Estimate

VOTE = "majority"
SINGLE = "best single"
ORACLE = "oracle"
FIXED_ANCHOR = 0.3


@dataclass(frozen=True)
class ReplayedDecision:
    """One task of one team, and whether each column was right.

    Attributes:
        right: by column, in the order of the table.
        arms: of each arm, whether its own majority is right.
    """

    task: str
    right: dict[str, bool]
    arms: tuple[bool, ...]


@dataclass(frozen=True)
class ReplayColumn:
    """How one rule did.

    Attributes:
        accuracy: share of the tasks decided rightly, in [0, 1].
        beyond_vote: accuracy less that of the plain vote, with its interval over tasks.
        by_draw: accuracy of each team.
    """

    name: str
    accuracy: float
    beyond_vote: Estimate
    by_draw: tuple[float, ...]


@dataclass(frozen=True)
class ReplayRow:
    """One panel under one setting.

    Attributes:
        agents: of each team.
        tasks: decided tasks, of all teams together.
        columns: the best single agent is each team's best in hindsight.
    """

    panel: str
    agents: int
    tasks: int
    columns: tuple[ReplayColumn, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the row in plain JSON types."""
        return asdict(self)


def measure_replay(panel: Panel, setting: ReplaySetting) -> ReplayRow:
    """Return how each rule did on `panel`, all teams together.

    Raises:
        UsageError: there is no task that a whole team was asked.
        MissingExtraError: scipy is not installed.
    """
    draws = [_with_best_single(list(replayed_decisions(panel, setting, draw))) for draw in range(setting.draws)]
    decided = [draw for draw in draws if draw]
    if not decided:
        raise UsageError(f"panel {panel.name}: no task was put to all agents of a team; name fewer with --agents")
    rows = [row for draw in decided for row in draw]
    columns = tuple(_column(name, decided, setting.seed) for name in rows[0].right)
    return ReplayRow(panel.name, len(rows[0].arms), len(rows), columns)


def replayed_decisions(panel: Panel, setting: ReplaySetting, draw: int) -> Iterator[ReplayedDecision]:
    """Yield what every rule made of the tasks of one team, in order."""
    rules: Sequence[Rule] = ()
    for task in replayed_tasks(panel, setting, draw):
        rules = rules or rules_of(setting, len(task.counts))
        chosen = {VOTE: vote(task)}
        if setting.judge is not None:
            chosen["judge alone"] = judge_alone(task)
        for rule in rules:
            chosen |= rule.decide(task)
        right = {name: bool(task.right[answer]) for name, answer in chosen.items()}
        yield ReplayedDecision(task.id, right | {ORACLE: bool(task.right.any())}, _arms_right(task))


def rules_of(setting: ReplaySetting, arms: int) -> list[Rule]:
    """Return the rules that are tried under this setting, all new."""
    rules: list[Rule] = [SelfTaught("weights alone", arms, None)]
    if setting.judge is not None:
        rules += [
            SelfTaught(f"anchor {FIXED_ANCHOR:g}", arms, FIXED_ANCHOR),
            SelfTaught("anchor of trust", arms, "trust"),
            SelfTaught("anchor of duels", arms, "duels"),
        ]
    return [*rules, FedBack(arms)] if setting.feedback else rules


def _arms_right(task: ReplayedTask) -> tuple[bool, ...]:
    own = task.counts.argmax(axis=1)
    flags = task.right[own] & (task.counts.sum(axis=1) > 0)
    return tuple(flags.tolist())


def _with_best_single(rows: Sequence[ReplayedDecision]) -> list[ReplayedDecision]:
    """Return the rows with a first column for the arm that is right most often over all of them."""
    if not rows:
        return []
    best = int(np.array([row.arms for row in rows]).mean(axis=0).argmax())
    return [ReplayedDecision(row.task, {SINGLE: row.arms[best], **row.right}, row.arms) for row in rows]


def _column(name: str, draws: Sequence[Sequence[ReplayedDecision]], seed: int) -> ReplayColumn:
    rows = [row for draw in draws for row in draw]
    return ReplayColumn(
        name,
        fmean(row.right[name] for row in rows),
        mean_difference([(row.task, row.right[name], row.right[VOTE]) for row in rows], generator(seed, "resampling")),
        tuple(fmean(row.right[name] for row in draw) for draw in draws),
    )
