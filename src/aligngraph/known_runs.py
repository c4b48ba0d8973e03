"""Runs that a database holds: found again, refused where they were asked otherwise, recalled with their decision."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import ValidationError

from aligngraph.decision import Decision
from aligngraph.errors import StoreError, UsageError
from aligngraph.nodes.answer import failure_of
from aligngraph.nodes.intake import describe_run, differences
from aligngraph.persistence import PolicyStore, Run, prune_checkpoints
from aligngraph.state import TaskInput
from aligngraph.team import Team

_RUN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


@dataclass(frozen=True)
class KnownRuns:
    """The runs of one database, as one team sees them."""

    team: Team
    store: PolicyStore
    checkpointer: BaseCheckpointSaver[str]

    async def find(self, run_id: str, given: TaskInput) -> Run | None:
        """Return the run of that id; of one that never began nothing is left behind, and None returned.

        Raises:
            UsageError: no run may have that id, or it belongs to another task, domain, seed or team.
        """
        refuse_strange_name(run_id)
        stored = await self.store.read_run(run_id)
        if stored is None:
            await self.checkpointer.adelete_thread(run_id)
            return None
        options = given["options"]
        asked = describe_run(run_id, given["messages"], given["domain"], options, self.team, seed=stored.seed)
        if stored.ended and stored.decision is None:
            raise UsageError(f"run {run_id!r} has ended and its texts were not kept: leave the run id out to ask again")
        if others := differences(asked, stored, options):
            raise UsageError(
                f"run {run_id!r} belongs to another {' and '.join(others)}: leave the run id out to get a new one"
            )
        return stored

    async def find_own(self, run_id: str) -> Run:
        """Return the run of that id.

        Raises:
            UsageError: there is none, or it belongs to another team.
        """
        refuse_strange_name(run_id)
        stored = await self.store.read_run(run_id)
        if stored is None:
            raise unknown_run(run_id)
        if stored.team != self.team.describe():
            raise UsageError(f"run {run_id!r} belongs to another team: name the one that it was asked with")
        return stored

    async def recall(self, run_id: str, audit: Mapping[str, Any]) -> Decision:
        """Return the decision of a run that has ended.

        Raises:
            DelegationFailedError: it ended without an answer.
            StoreError: it cannot be read.
        """
        await prune_checkpoints(self.checkpointer, run_id)  # which a crash may have prevented
        try:
            decision = Decision.model_validate(audit)
        except ValidationError as error:
            raise StoreError(
                f"run {run_id!r} is stored in a form that this version cannot read: ask without --run"
            ) from error
        if decision.status == "failed":
            raise failure_of(decision)
        return decision


def refuse_strange_name(run_id: str) -> None:
    """Return if a run may have that id.

    Raises:
        UsageError: it may not.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"run id {run_id[:80]!r}: use up to 128 letters, digits, '_', '-', '.' and ':'")


def unknown_run(run_id: str) -> UsageError:
    """Return the error of a run id that the database does not hold."""
    return UsageError(f"no run {run_id!r} in this database: name the one that it was asked with")
