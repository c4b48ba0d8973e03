"""Sessions: a team at work on one policy store, from Python. The async functions are the core, `ask` their sync door."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from aligngraph.cancellation import Ending, RunWatch, stop_run
from aligngraph.context import DelegationContext
from aligngraph.decision import Decision
from aligngraph.errors import ReviewPendingError, UsageError
from aligngraph.graphs.delegation import DelegationGraph, wire_delegation
from aligngraph.known_runs import KnownRuns, refuse_strange_name, unknown_run
from aligngraph.learning.feedback import Feedback, give_feedback, read_said
from aligngraph.nodes import Resources
from aligngraph.nodes.resources import open_store
from aligngraph.persistence import Location, PolicyStore, open_checkpointer, prune_checkpoints
from aligngraph.persistence.tables import storable
from aligngraph.policy import DEFAULT_WAVES
from aligngraph.state import DEFAULT_DOMAIN, TaskInput, TaskOptions
from aligngraph.sync_door import run_blocking
from aligngraph.team import Team

Task = str | Sequence[AnyMessage]
Event = Mapping[str, Any]
Review = Mapping[str, Any]
Start = TaskInput | Command[str] | None  # None takes up the task under way in the thread
SUPERSTEPS_PER_ROUND, SUPERSTEPS_PER_WAVE, OTHER_SUPERSTEPS = 4, 2, 5
TAKEN = "the ranking was taken, and the answers of the next round are to be ranked"
ANSWERED_MEANWHILE = "somebody else has replied in the meantime, and this is what is asked now"


@dataclass(frozen=True)
class Session:
    """A team with its policy store and checkpoints open; made by `open_session`. Tasks may run side by side."""

    team: Team
    graph: DelegationGraph
    store: PolicyStore
    checkpointer: BaseCheckpointSaver[str]
    resources: Resources

    @cached_property
    def _watch(self) -> RunWatch:
        return RunWatch(self.store)

    @cached_property
    def _known(self) -> KnownRuns:
        return KnownRuns(self.team, self.store, self.checkpointer)

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
            run_id: of an interrupted run, to go on without asking a model twice, or of a finished one, for its decision.
            context: what this run sets differently from the team file.
            on_event: called when the run begins, and with each candidate, ranking and round as it comes.
            config: LangChain configuration: callbacks, tags, metadata.

        Raises:
            TaskError: the task is empty or longer than a model of the team reads.
            UsageError: a model cannot be opened, or the run id belongs to another task, domain, seed or team.
            DelegationFailedError: no agent gave an answer; carries every cause and the audit.
            ReviewPendingError: the run waits for a person's ranking; see `answer_review`.
            RunCancelledError: somebody has stopped the run; see `cancel`.
        """
        messages: list[AnyMessage] = [HumanMessage(task)] if isinstance(task, str) else list(task)
        given = TaskInput(messages=messages, domain=domain or DEFAULT_DOMAIN, options=options or TaskOptions())
        thread_id = run_id or secrets.token_hex(6)
        settings = merge_configs(config, self._settings(thread_id, context))
        stored, under_way = None, False
        if run_id is not None:
            stored = await self._known.find(run_id, given)
            if stored and stored.decision is not None:
                return await self._known.recall(run_id, stored.decision)
            # `next` leaves out a node whose outcome was kept when the run was killed, though it had come no further
            under_way = bool(stored and (await self.graph.aget_state(settings)).tasks)
        start = None if under_way else given
        return await self._run_to_end(start, settings, context, on_event, known=stored is not None)

    async def pending_review(self, run_id: str) -> Review:
        """Return what a person is asked to rank in that run: a `RankingRequest` of ranking.human, and its `id`.

        Raises:
            UsageError: there is no such run, it belongs to another team, or it waits for no ranking.
        """
        await self._known.find_own(run_id)
        review = await self._find_review(run_id)
        if review is None:
            raise UsageError(f"run {run_id!r} waits for no ranking: it has ended, is under way, or was interrupted")
        return review

    async def answer_review(
        self,
        run_id: str,
        order: str,
        *,
        review_id: str | None = None,
        context: DelegationContext | None = None,
        on_event: Callable[[Event], None] | None = None,
        config: RunnableConfig | None = None,
    ) -> Decision:
        """Return the decision of a run that waited for a person's ranking; of one that has ended, the decision it has.

        Args:
            run_id: the run.
            order: the ranking, in the form that the review names.
            review_id: of the review that was looked at: the order counts for no other. By default of the pending one.
            context: as it was given to `ask`; a checkpoint does not hold it.
            on_event: as in `ask`.
            config: as in `ask`.

        Raises:
            UsageError: there is no such run, it belongs to another team, or it waits for no ranking.
            ReviewPendingError: a ranking is still to be given; the review's `problem` says why.
        """
        stored = await self._known.find_own(run_id)
        if stored.decision is not None:
            return await self._known.recall(run_id, stored.decision)
        review = await self.pending_review(run_id)
        if review_id not in {None, review["id"]}:
            raise ReviewPendingError(run_id, {**review, "problem": ANSWERED_MEANWHILE})
        reply: Command[str] = Command(resume={review["id"]: storable(order)})
        settings = merge_configs(config, self._settings(run_id, context))
        try:
            return await self._run_to_end(reply, settings, context, on_event, known=True)
        except ReviewPendingError as error:
            raise ReviewPendingError(run_id, {**error.review, "problem": error.review["problem"] or TAKEN}) from None

    async def feedback(self, run_id: str, *, correct: bool | None = None, answer: str | None = None) -> Feedback:
        """Return what became of feedback on a run, as `afeedback` does.

        Raises:
            UsageError: not exactly one of `correct` and `answer` was given, there is no such run, or it has not ended.
        """
        return await give_feedback(self.store, run_id, read_said(correct=correct, answer=answer))

    async def cancel(self, run_id: str) -> Ending:
        """Stop a run, be it of this session or of another process, and return what became of it.

        Its outstanding calls end; its `ask` raises RunCancelledError. Asked again with its id it goes on where it stopped.

        Raises:
            UsageError: there is no such run.
        """
        refuse_strange_name(run_id)
        own = await self._watch.cancel(run_id)
        ending = await stop_run(self.store, run_id)
        if own and ending != "ended":
            return "stopped"
        if ending is None:
            raise unknown_run(run_id)
        return ending

    async def stop(self) -> None:
        """Cancel the tasks of this session that other coroutines still wait for, and let them end."""
        await self._watch.end()

    async def _run_to_end(
        self,
        given: Start,
        settings: RunnableConfig,
        context: DelegationContext | None,
        on_event: Callable[[Event], None] | None,
        *,
        known: bool,
    ) -> Decision:
        """Return the decision; a run that ends without one is marked as such, unless it waits for a person."""
        run_id = settings["configurable"]["thread_id"]
        with self._watch.under_way(run_id) as work, self.resources.at_work(run_id):
            async with AsyncExitStack() as on_failure:
                on_failure.push_async_callback(self._close_failed_run, run_id)
                if known:
                    await self.store.mark_resumed(run_id)
                work.watched = True
                audit = await self._run(given, settings, context, on_event)
                review = None if audit else await self._find_review(run_id)
                on_failure.pop_all()
            if review is not None:
                raise ReviewPendingError(run_id, review)
            await prune_checkpoints(self.checkpointer, run_id)
        return Decision.model_validate(audit)

    async def _find_review(self, run_id: str) -> Review | None:
        """Return what waits for a person in the run's last checkpoint."""
        state = await self.graph.aget_state(RunnableConfig(configurable={"thread_id": run_id}))
        return next(({"id": waiting.id, **waiting.value} for waiting in state.interrupts), None)

    async def _close_failed_run(self, run_id: str) -> None:
        """Mark the run as interrupted, unless it ended without an answer: then nobody takes it up again."""
        await asyncio.shield(self.store.mark_interrupted(run_id))
        stored = await self.store.read_run(run_id)
        if stored and stored.ended:
            await prune_checkpoints(self.checkpointer, run_id)

    async def _run(
        self,
        given: Start,
        settings: RunnableConfig,
        context: DelegationContext | None,
        on_event: Callable[[Event], None] | None,
    ) -> dict[str, Any]:
        """Return the audit of the decision, empty where the run stopped for a person."""
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
        return audit

    def _settings(self, run_id: str, context: DelegationContext | None) -> RunnableConfig:
        rounds = DelegationContext.of(context).game(self.team).max_rounds
        waves = DEFAULT_WAVES if self.team.budget.stop == "settled" else 0
        limit = SUPERSTEPS_PER_ROUND * rounds + SUPERSTEPS_PER_WAVE * waves + OTHER_SUPERSTEPS
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
    kept = members.privacy
    async with (
        await open_store(location, kept, {}) as store,
        open_checkpointer(location, keeps=kept.store_texts, seals=kept.encrypt) as checkpointer,
    ):
        resources = Resources.sharing(members, store)
        graph = wire_delegation(resources, DelegationContext, checkpointer)
        session = Session(members, graph, store, checkpointer, resources)
        try:
            yield session
        finally:
            await session.stop()


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
