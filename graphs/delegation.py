"""The delegation graph: START -> intake -> every agent (-> settle -> agents again) -> principal -> policy_update -> (agents again | answer) -> END."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph_sdk.runtime import ServerRuntime

from aligngraph.context import DelegationContext, StudioContext
from aligngraph.errors import UsageError
from aligngraph.models import RunnableModel, model_label
from aligngraph.nodes import (
    Resources,
    deliver_answer,
    open_task,
    propose_candidates,
    rank_answers,
    settle_round,
    update_policy,
)
from aligngraph.persistence import Location
from aligngraph.roles import Agent, Principal
from aligngraph.state import DelegationState, TaskInput
from aligngraph.team import Team

DelegationGraph = CompiledStateGraph[DelegationState, DelegationContext, TaskInput, DelegationState]


def build_delegation(
    team: Team | None = None,
    *,
    db: str | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> DelegationGraph:
    """Return the compiled graph of a team, the built-in one by default.

    Args:
        team: who proposes and who ranks.
        db: folder or PostgreSQL URL of the policy store; ALIGNGRAPH_DB, else the user's data folder, by default.
        checkpointer: LangGraph's; none is needed, a server brings its own.
    """
    return wire_delegation(Resources.at(team or Team.load(), Location.find(db)), DelegationContext, checkpointer)


def make_graph(config: RunnableConfig, runtime: ServerRuntime[StudioContext] | None = None) -> DelegationGraph:
    """Return the graph that LangGraph Studio draws and runs: that of the team which the run configuration names.

    Raises:
        UsageError: the run configuration, the team file or the database's address cannot be used, or the team keeps no
            texts, which a server does.
    """
    context = StudioContext.read(_configuration(config, runtime))
    team = Team.load(context.team)
    if not team.privacy.store_texts:
        raise UsageError(
            "privacy.store_texts = false: a server keeps every text in checkpoints of its own; ask without one"
        )
    return wire_delegation(Resources.at(team, Location.find(context.db)), StudioContext, None)


def wire_delegation(
    resources: Resources, context: type[DelegationContext], checkpointer: BaseCheckpointSaver[Any] | None
) -> DelegationGraph:
    """Return the compiled graph. All agents of a round run in one superstep, so the principal sees them together."""
    agents = resources.team.agents
    names = [agent.name for agent in agents]
    graph = StateGraph(DelegationState, input_schema=TaskInput, context_schema=context)

    graph.add_node("intake", partial(open_task, resources=resources))
    for agent in agents:
        graph.add_node(
            agent.name, partial(propose_candidates, agent=agent, resources=resources), metadata=_label(agent)
        )
    graph.add_node(
        "principal", partial(rank_answers, resources=resources), metadata=_label_principal(resources.team.principal)
    )
    graph.add_node("policy_update", partial(update_policy, resources=resources), destinations=(*names, "answer"))
    graph.add_node("answer", partial(deliver_answer, resources=resources))

    graph.add_edge(START, "intake")
    if resources.team.budget.stop == "settled":
        graph.add_node("settle", partial(settle_round, resources=resources), destinations=(*names, "principal"))
    after_agents = "settle" if "settle" in graph.nodes else "principal"
    for name in names:
        graph.add_edge("intake", name)
        graph.add_edge(name, after_agents)
    graph.add_edge("principal", "policy_update")
    graph.add_edge("answer", END)
    compiled = graph.compile(checkpointer=checkpointer, name="delegation")
    # LangGraph looks for a node's subgraph in the closure of its function; ours are partial applications of one.
    for agent in agents:
        compiled.nodes[agent.name].subgraphs = _subgraphs(agent)
    return compiled


def _configuration(config: RunnableConfig, runtime: ServerRuntime[StudioContext] | None) -> Mapping[str, Any]:
    """Return what the request set: for a run all of it, since the server drops unknown names without telling anyone."""
    running = runtime.execution_runtime if runtime else None
    if running is not None and isinstance(running.context, Mapping):
        return running.context
    chosen = config.get("configurable", {})  # among names of the server's own
    return {name: chosen[name] for name in StudioContext.model_fields if name in chosen}


def _subgraphs(agent: Agent) -> list[Pregel[Any, Any, Any, Any]]:
    """Return the graph that is drawn within the agent's node. A remote one is not: each drawing would ask its server."""
    graph = agent.model.graph if isinstance(agent.model, RunnableModel) else None
    return [graph] if isinstance(graph, Pregel) and graph.checkpointer is not False else []


def _label(agent: Agent) -> dict[str, Any]:
    """Return what Studio shows beside an agent's node."""
    strategies = [strategy.name for strategy in agent.strategies]
    return {"model": model_label(agent.model), "strategies": strategies, "samples": agent.samples}


def _label_principal(principal: Principal) -> dict[str, Any]:
    """Return what Studio shows beside the principal's node."""
    return {"judges": [{"model": judge.label, "ranker": judge.ranker.name} for judge in principal.judges]}
