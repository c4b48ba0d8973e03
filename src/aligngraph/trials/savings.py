"""What early stop saves on recorded panels, and what it costs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from aligngraph.errors import UsageError
from aligngraph.policy import StopReason
from aligngraph.randomness import generator
from aligngraph.trials.panel import Panel
from aligngraph.trials.resampling import mean_difference
from aligngraph.trials.shares import Estimate
from aligngraph.trials.waves import Decided, ReplaySetting, replay


@dataclass(frozen=True)
class Savings:
    """What one line of the table says; accuracies and shares in [0, 1].

    Attributes:
        tasks: decided tasks, of all teams together.
        agents: of each team.
        difference: accuracy of early stop less that of all samples.
        samples: share of the samples drawn.
        tokens: share of the tokens spent; None where they were not recorded.
        waves: mean number.
        stopped: share of the tasks stopped for each reason.
        same: share of the tasks whose decision is the same.
    """

    panel: str
    tasks: int
    agents: int
    full: float
    early: float
    difference: Estimate
    vote: float
    oracle: float
    samples: float
    tokens: float | None
    waves: float
    stopped: dict[StopReason, float]
    same: float

    @classmethod
    def of(cls, panel: str, agents: int, rows: Sequence[Decided], seed: int) -> "Savings":
        """Return the line that follows from all decided tasks, at least one.

        Raises:
            MissingExtraError: scipy is not installed.
        """
        spent, whole = sum(row.tokens for row in rows), sum(row.tokens_full for row in rows)
        reasons: tuple[StopReason, ...] = ("unchangeable", "confident")
        return cls(
            panel,
            len(rows),
            agents,
            full=fmean(row.full for row in rows),
            early=fmean(row.early for row in rows),
            difference=mean_difference(
                [(row.task, row.early, row.full) for row in rows], generator(seed, "resampling")
            ),
            vote=fmean(row.vote for row in rows),
            oracle=fmean(row.reachable for row in rows),
            samples=sum(row.samples for row in rows) / sum(row.samples_full for row in rows),
            tokens=spent / whole if whole else None,
            waves=fmean(row.waves for row in rows),
            stopped={reason: fmean(row.reason == reason for row in rows) for reason in reasons},
            same=fmean(row.same for row in rows),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the line in plain JSON types."""
        return asdict(self)


def measure_savings(panel: Panel, setting: ReplaySetting) -> Savings:
    """Return what early stop saves on `panel`, all teams together.

    Raises:
        UsageError: there is no task that a whole team was asked.
        MissingExtraError: scipy is not installed.
    """
    rows = [row for draw in range(setting.draws) for row in replay(panel, setting, draw)]
    if not rows:
        raise UsageError(f"panel {panel.name}: no task was put to all agents of a team; name fewer with --agents")
    return Savings.of(panel.name, min(setting.agents, len(panel.agents)), rows, setting.seed)
