"""From a run and its team to a line: whom to call, within which budget, and what a call costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel

from aligngraph.calling.circuit import Circuit
from aligngraph.calling.lane import Change
from aligngraph.calling.line import Line
from aligngraph.calling.settings import RetrySettings
from aligngraph.calling.spending import PriceOf
from aligngraph.isolation import Attempt, attempt
from aligngraph.models import RunnableModel, model_label
from aligngraph.models.pricing import listed_price
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import as_spending
from aligngraph.persistence import PolicyStore
from aligngraph.ranking.specs import models_needed
from aligngraph.roles import Model, Price
from aligngraph.state import DelegationState
from aligngraph.team import Team

_ONCE = RetrySettings(attempts=1)  # the calls within a Runnable have retries of their own, and are paid for


@dataclass(frozen=True)
class Call:
    """How a model is to be called.

    Attributes:
        model: which.
        temperature: of its replies.
        timeout_s: of one call.
        price: as the team says; by default as the price table does.
        seed: of the waits between repeated calls.
        deadline: on the monotonic clock, of all calls together; None for none.
    """

    model: Model
    temperature: float
    timeout_s: float
    price: Price | None
    seed: int
    deadline: float | None = None


@dataclass(frozen=True)
class Connection:
    """An open model and the line to it."""

    model: BaseChatModel
    line: Line


async def connect(call: Call, state: DelegationState, resources: Resources) -> Attempt[Connection]:
    """Return the open model and the line to it, or why it cannot be opened."""
    opened = await attempt(
        resources.open_model(call.model, temperature=call.temperature, timeout_s=call.timeout_s), call.timeout_s
    )
    if opened.value is None:
        return Attempt(None, opened.cause, opened.error)
    line = Line(
        lane=resources.lane_of(call.model),
        records=partial(_change_circuit, resources),
        ledger=resources.ledger_of(state["run"]["run_id"]),
        timeout_s=call.timeout_s,
        retry=_ONCE if isinstance(call.model, RunnableModel) else resources.team.retry,
        seed=call.seed,
        price=price_of(call.model, call.price),
        deadline=call.deadline,
    )
    return Attempt(Connection(opened.value, line), None)


async def take_up(
    spent: Iterable[Mapping[str, Any]], state: DelegationState, resources: Resources, store: PolicyStore
) -> None:
    """Let this process know what the run has spent and which models rest, in case that another one began the run.

    Args:
        spent: usages of the candidates, those that no checkpoint tells of included.
        state: of the run.
        resources: which keep the run's ledger.
        store: where circuits last, and replies that the run paid for.
    """
    run_id = state["run"]["run_id"]
    if not resources.has_ledger(run_id):
        await resources.learn_circuits(store)
    kept = await store.calls.read_unfinished(run_id) if resources.team.cache.responses else []
    resources.ledger_of(run_id).acknowledge(*map(as_spending, [*spent, *kept, state["principal_usage"]]))


def price_of(model: Model, price: Price | None) -> PriceOf | None:
    """Return what a call of `model` costs by its tokens: as the team says, else as the price table does, else None."""
    return price.cost if price is not None else listed_price(model)


def unpriced_models(team: Team) -> list[str]:
    """Return the labels of the models whose price a cap on money would need, and nobody knows; none without a cap."""
    if team.budget.money is None:
        return []
    asked = [(agent.model, agent.price) for agent in team.agents]
    asked += [(model, None) for agent in team.agents for model in agent.fallback]
    asked += [(judge.model, judge.price) for judge in team.principal.judges if models_needed(judge.ranker)]
    asked += [(model, None) for model in team.principal.fallback]
    asked += [(team.answers.judge, team.answers.price)] if team.answers.judge is not None else []
    return sorted({model_label(model) for model, price in asked if price_of(model, price) is None})


async def _change_circuit(resources: Resources, model: str, change: Change) -> Circuit:
    async with resources.open_store() as store:
        row = await store.calls.change_circuit(model, lambda known: change(_read_circuit(known)).as_json())
    return _read_circuit(row)


def _read_circuit(row: Mapping[str, Any] | None) -> Circuit:
    try:
        return Circuit() if row is None else Circuit.from_json(row)
    except (ValueError, RecursionError):  # told when the run began
        return Circuit()
