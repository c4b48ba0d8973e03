"""Drift: arms that are paid otherwise of late than before."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from aligngraph.learning.known import UNSEEN
from aligngraph.persistence import PolicyStore, Update
from aligngraph.policy import has_drifted
from aligngraph.state import LearnedState

RECENT_UPDATES: Final = 60
"""How far back is looked: what is read does not grow with the number of tasks."""


async def find_drift(store: PolicyStore, domain: str, learned: LearnedState) -> list[str]:
    """Return a line for each arm of `learned` whose latest payoffs differ from those before by more than chance."""
    latest = await store.log.read_latest(domain, RECENT_UPDATES)
    return [line for arm in learned["arms"] if (line := _describe(arm, learned, latest))]


def _describe(arm: str, learned: LearnedState, latest: Sequence[Update]) -> str | None:
    record = learned["arms"].get(arm, UNSEEN)
    recent = _payoffs(arm, record["made_of"], latest)
    older_total, older_count = record["total"] - sum(recent), record["count"] - len(recent)
    if older_count <= 0 or not 0 <= older_total <= older_count or not has_drifted(older_total, older_count, recent):
        return None
    before, now = older_total / older_count, sum(recent) / len(recent)
    return f"{arm} was paid {now:.2f} a task of late, {before:.2f} before: it may have changed"


def _payoffs(arm: str, made_of: str, latest: Sequence[Update]) -> list[float]:
    """Return what the arm was paid in each task of these updates, feedback on it included."""
    paid: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for update in latest:
        for part in update.increments:
            if (part.arm, part.made_of) == (arm, made_of) and not update.cleared:
                paid[update.run_id][0] += part.payoff
                paid[update.run_id][1] += part.count
    return [min(max(total, 0.0), 1.0) for total, count in paid.values() if count == 1]
