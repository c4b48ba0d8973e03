"""Sessions: a team at work on one policy store, from Python. The async functions are the core, `ask` their sync door."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver

from aligngraph.context import DelegationContext
from aligngraph.decision import Decision
from aligngraph.errors import DelegationFailedError, UsageError
from aligngraph.graphs.delegation import DelegationGraph, wire_delegation
from aligngraph.nodes import Resources
from aligngraph.persistence import Location, PolicyStore, Run, open_checkpointer, prune_checkpoints
from aligngraph.state import DEFAULT_DOMAIN, TaskInput, TaskOptions
from aligngraph.sync_door import run_blocking
from aligngraph.team import Team

Task = str | Sequence[AnyMessage]
Event = Mapping[str, Any]
SUPERSTEPS_PER_ROUND, OTHER_SUPERSTEPS = 3, 5


@dataclass(frozen=True)
class Session:
    """A team with its policy store and checkpoints open; made by `open_session`. Tasks may run side by side."""

    team: Team
    graph: DelegationGraph
    store: PolicyStore
    checkpointer: BaseCheckpointSaver[str]

    async def ask(
        self,
        task: Task,
        *,
        domain: str = DEFAULT_DOMAIN,
        options: TaskOptions | None = None,
        run_id: str | None = None,
        context: DelegationContext | None = None,
        on_event: Callable[[Event], None] | None = None,
        config: RunnableConfig | None = None,
    ) -> Decision:
        """Return the decision on one task.

        Args:
            task: a text, or a chat whose last human message is the task.
            domain: the kind of task, under which competence is learned.
            options: the run's seed and the task's own name.
            run_id: of a run that was interrupted, to take it up where it stopped without asking any model again, or of
                a finished one, to get its decision. By default a new one.
            context: what this run sets differently from the team file.
            on_event: called with each candidate, ranking and round as it comes.
            config: LangChain configuration: callbacks, tags, metadata.

        Raises:
            TaskError: the task is empty or longer than a model of the team reads.
            UsageError: a model cannot be opened, or the run id belongs to another task.
            DelegationFailedError: no agent gave an answer; carries every cause and the audit.
        """
        messages: list[AnyMessage] = [HumanMessage(task)] if isinstance(task, str) else list(task)
        stored = await self.store.read_run(run_id) if run_id else None
        if stored is not None:
            _refuse_other_task(stored, messages)
            if stored.decision is not None:
                return _recall(stored.decision)
        given = TaskInput(messages=messages, domain=domain, options=options or TaskOptions())
        thread_id = run_id or secrets.token_hex(6)
        settings = merge_configs(config, self._settings(thread_id, context))
        under_way = bool(run_id and (await self.graph.aget_state(settings)).next)
        try:
            return await self._run(None if under_way else given, settings, context, on_event)
        except asyncio.CancelledError:
            await asyncio.shield(self.store.mark_interrupted(thread_id))
            raise

    async def _run(
        self,
        given: TaskInput | None,
        settings: RunnableConfig,
        context: DelegationContext | None,
        on_event: Callable[[Event], None] | None,
    ) -> Decision:
        """Return the decision on `given`, or on the task under way in the thread where it is None."""
        audit: dict[str, Any] = {}
        async for part in self.graph.astream(
            given,
            settings,
            context=DelegationContext.of(context),
            stream_mode=["values"] if on_event is None else ["custom", "values"],
            durability="sync",
            version="v2",
        ):
            if part["type"] == "values":
                audit = part["data"].get("decision") or audit
            elif part["type"] == "custom" and on_event is not None:
                on_event(part["data"])
        await prune_checkpoints(self.checkpointer, settings["configurable"]["thread_id"])
        return Decision.model_validate(audit)

    def _settings(self, run_id: str, context: DelegationContext | None) -> RunnableConfig:
        rounds = DelegationContext.of(context).game(self.team).max_rounds
        limit = SUPERSTEPS_PER_ROUND * rounds + OTHER_SUPERSTEPS
        return RunnableConfig(configurable={"thread_id": run_id}, recursion_limit=limit)


@asynccontextmanager
async def open_session(
    team: Team | str | os.PathLike[str] | None = None, *, db: str | None = None
) -> AsyncIterator[Session]:
    """Open a session: the policy store and the checkpoints stay open for as many tasks as wanted.

    Args:
        team: a team, or the path of a team file; by default ALIGNGRAPH_TEAM, else the built-in team.
        db: folder or PostgreSQL URL of what lasts; by default ALIGNGRAPH_DB, else the user's data folder.

    Raises:
        TeamError: the team file cannot be used.
        StoreError: the database cannot be used.
    """
    members = team if isinstance(team, Team) else Team.load(team)
    location = Location.find(db)
    async with await PolicyStore.open(location) as store, open_checkpointer(location) as checkpointer:
        graph = wire_delegation(Resources.sharing(members, store), DelegationContext, checkpointer)
        yield Session(members, graph, store, checkpointer)


async def aask(
    task: Task, *, team: Team | str | os.PathLike[str] | None = None, db: str | None = None, **arguments: Any
) -> Decision:
    """Return the decision on one task; opens and closes a session for it. Arguments are those of `Session.ask`."""
    async with open_session(team, db=db) as session:
        return await session.ask(task, **arguments)


def ask(
    task: Task, *, team: Team | str | os.PathLike[str] | None = None, db: str | None = None, **arguments: Any
) -> Decision:
    """Return the decision on one task, as `aask` does, from code that is not async; a running event loop is no matter."""
    return run_blocking(aask(task, team=team, db=db, **arguments))


def _refuse_other_task(stored: Run, messages: Sequence[AnyMessage]) -> None:
    asked = next((str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    if asked.strip() != stored.task:
        raise UsageError(f"run {stored.run_id!r} belongs to another task: leave the run id out to get a new one")


def _recall(audit: Mapping[str, Any]) -> Decision:
    decision = Decision.model_validate(audit)
    if decision.status == "failed":
        causes = [f"{candidate.id}: {candidate.error}" for candidate in decision.candidates]
        raise DelegationFailedError("no agent gave an answer", causes, audit)
    return decision
