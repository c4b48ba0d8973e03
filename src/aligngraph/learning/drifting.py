"""Drift: arms that are paid otherwise of late than before."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aligngraph.learning.known import UNSEEN
from aligngraph.persistence import ArmKey, Counted, PolicyStore
from aligngraph.persistence.replay import Aftermath, turn_of
from aligngraph.policy import has_drifted
from aligngraph.state import LearnedState

RECENT_UPDATES: Final = 60
"""How far back is looked: what is read does not grow with the number of tasks."""

LEAST_COUNT: Final = 1e-9  # a task that was taken back leaves as much to rounding
LESSONS: Final = {"task", "feedback", "learn"}


async def find_drift(store: PolicyStore, domain: str, learned: LearnedState) -> list[str]:
    """Return a line for each arm of `learned` whose latest payoffs differ from those before by more than chance."""
    latest = await store.log.read_latest(domain, RECENT_UPDATES)
    aftermath = Aftermath(map(turn_of, latest))
    lessons = [aftermath.count(update) for update in latest if update.kind in LESSONS]
    return [line for arm in learned["arms"] if (line := _describe(arm, learned, lessons))]


def _describe(arm: str, learned: LearnedState, lessons: Iterable[Counted]) -> str | None:
    record = learned["arms"].get(arm, UNSEEN)
    recent = _paid(ArmKey(arm, record["made_of"]), lessons)
    total = record["total"] - sum(one.payoff for one in recent)
    count = record["count"] - sum(one.count for one in recent)
    means = [min(max(one.payoff / one.count, 0.0), 1.0) for one in recent]
    if count <= 0 or not 0 <= total <= count or not has_drifted(total, count, means):
        return None
    before, now = total / count, sum(means) / len(means)
    return f"{arm} was paid {now:.2f} a task of late, {before:.2f} before: it may have changed"


@dataclass
class _Paid:
    """What is left in the sums of what an arm was paid in one task, feedback on it included, and of the task's count."""

    payoff: float = 0.0
    count: float = 0.0


def _paid(key: ArmKey, lessons: Iterable[Counted]) -> list[_Paid]:
    """Return what the arm was paid in each task that still counts."""
    paid: dict[str, _Paid] = defaultdict(_Paid)
    for lesson in lessons:
        for part in lesson.left:
            if part.key == key:
                paid[lesson.update.run_id].payoff += part.payoff
                paid[lesson.update.run_id].count += part.count
    return [one for one in paid.values() if one.count > LEAST_COUNT]
