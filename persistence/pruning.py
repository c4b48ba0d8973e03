"""Dropping the texts of old runs; what they taught stays."""

from collections.abc import Sequence
from typing import get_args

from sqlalchemy import Connection, select

from aligngraph.persistence.records import FinalStatus, utc_now
from aligngraph.persistence.tables import CANDIDATES, RANKINGS, RESPONSES, RUNS, UPDATES

_UNPRUNED = RUNS.c.pruned_at.is_(None)


def find_prunable(connection: Connection, before: str) -> Sequence[str]:
    """Return the runs that ended before that time and still have their texts, sorted."""
    ended = (RUNS.c.status.in_(get_args(FinalStatus)), RUNS.c.finished_at < before)
    return connection.scalars(select(RUNS.c.run_id).where(_UNPRUNED, *ended).order_by(RUNS.c.run_id)).all()


def prune_runs(connection: Connection, run_ids: Sequence[str]) -> int:
    """Drop texts, team and decision of these runs, and return how many still had them."""
    wanted = select(RUNS.c.run_id).where(_UNPRUNED, RUNS.c.run_id.in_(run_ids))
    chosen = connection.scalars(wanted.order_by(RUNS.c.run_id).with_for_update()).all()  # in order: no deadlock
    for table in (CANDIDATES, RANKINGS, RESPONSES):
        connection.execute(table.delete().where(table.c.run_id.in_(chosen)))
    own_tasks = (UPDATES.c.run_id.in_(chosen), UPDATES.c.kind == "task")
    connection.execute(UPDATES.update().where(*own_tasks).values(result={}))
    own = RUNS.update().where(RUNS.c.run_id.in_(chosen))
    connection.execute(own.values(task="", team={}, decision=None, pruned_at=utc_now()))
    return len(chosen)
