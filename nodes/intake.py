"""intake: from a chat to one task of one run, refused before any call where no model could read it."""

import time
from collections.abc import Sequence
from hashlib import blake2b
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from aligngraph.context import DelegationContext
from aligngraph.errors import TaskError
from aligngraph.models import estimate_tokens, input_limit, model_label, open_model
from aligngraph.nodes.arms import read_learned, weigh_arms
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import NOTHING
from aligngraph.persistence import Run
from aligngraph.randomness import fresh_seed
from aligngraph.state import DEFAULT_DOMAIN, DelegationState, RunState, StateUpdate
from aligngraph.team import Team


async def open_task(
    state: DelegationState, runtime: Runtime[DelegationContext], *, resources: Resources
) -> StateUpdate:
    """Return the state at the start of a task: the run, what earlier tasks taught, everything of the last task cleared."""
    team, domain = resources.team, state.get("domain") or DEFAULT_DOMAIN
    task = _read_task(state["messages"])
    _refuse_long_task(state["messages"], team)
    await _open_models(team)
    run = _name_run(state, runtime, task)
    async with resources.open_store() as store:
        stored = await store.start_run(_describe_run(run, domain, team))
        sums = await store.read_sums(domain)
    learned = read_learned(sums, team)
    weights = weigh_arms(learned, answers=2)
    return StateUpdate(
        domain=domain,
        run=RunState(**{**run, "seed": stored.seed}),
        round=1,
        learned=learned,
        candidates=Overwrite([]),
        answers=[],
        ranking=None,
        principal_usage=NOTHING,
        outcome=None,
        weights={"before": weights, "after": weights},
        problems=Overwrite([f"policy store: {line}" for line in sums.quarantined]),
        decision=None,
    )


def _read_task(messages: Sequence[AnyMessage]) -> str:
    humans = [message for message in messages if isinstance(message, HumanMessage)]
    task = str(humans[-1].text).strip() if humans else ""
    if not task:
        raise TaskError("the task is empty: give a question or an instruction in words")
    return task


def _refuse_long_task(messages: Sequence[AnyMessage], team: Team) -> None:
    characters = sum(len(str(message.text)) for message in messages)
    tokens = sum(estimate_tokens(str(message.text)) for message in messages)
    for model in (*(agent.model for agent in team.agents), team.principal.model):
        if tokens > (limit := input_limit(model)):
            raise TaskError(
                f"task of {characters:,} characters (about {tokens:,} tokens) is too long: "
                f"{model_label(model)} reads at most {limit:,} tokens"
            )


async def _open_models(team: Team) -> None:
    """Open every model of the team, so that a missing key or package is told before any call is paid for."""
    for agent in team.agents:
        await open_model(agent.model, temperature=agent.temperature, timeout_s=agent.timeout_s)
    for model in (team.principal.model, *team.principal.fallback):
        await open_model(model, temperature=0.0, timeout_s=team.principal.timeout_s)


def _name_run(state: DelegationState, runtime: Runtime[DelegationContext], task: str) -> RunState:
    """Return the run's header. The first task of a thread has the thread's id, the next ones a number behind it."""
    execution, options = runtime.execution_info, state.get("options") or {}
    thread_id = (execution.thread_id if execution else None) or uuid4().hex
    number = state["run"]["number"] + 1 if "run" in state else 1
    return RunState(
        run_id=thread_id if number == 1 else f"{thread_id}.{number}",
        number=number,
        task=task,
        task_id=options.get("task_id") or blake2b(task.encode(), digest_size=8).hexdigest(),
        seed=options.get("seed", fresh_seed()),
        started_at=time.time(),
    )


def _describe_run(run: RunState, domain: str, team: Team) -> Run:
    return Run(
        run_id=run["run_id"],
        domain=domain,
        task=run["task"],
        task_id=run["task_id"],
        seed=run["seed"],
        team=team.describe(),
    )
