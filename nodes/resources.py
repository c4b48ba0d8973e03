"""What the nodes of one graph share beside the state."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel

from aligngraph.calling.budget import Ledger
from aligngraph.calling.circuit import Circuit
from aligngraph.calling.lane import Lane
from aligngraph.models import ModelSpec, RunnableModel, model_label, open_model
from aligngraph.persistence import Location, PolicyStore
from aligngraph.roles import Model
from aligngraph.team import Team

MOST_LEDGERS = 10_000


@dataclass(frozen=True)
class Resources:
    """The team, a way to its policy store, and its models, each opened once.

    Attributes:
        open_store: enters the store. A session lends the one it keeps open; a graph on a server opens it anew for each
            node, so that no connection outlives the event loop that made it.
    """

    team: Team
    open_store: Callable[[], AbstractAsyncContextManager[PolicyStore]]
    _opened: dict[tuple[ModelSpec, float, float], BaseChatModel] = field(default_factory=dict, init=False, repr=False)
    _circuits: dict[str, Circuit] = field(default_factory=dict, init=False, repr=False)
    _programs: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = field(default_factory=dict, init=False, repr=False)
    _lanes: dict[str, Lane] = field(default_factory=dict, init=False, repr=False)
    _ledgers: dict[str, Ledger] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def at(cls, team: Team, location: Location) -> "Resources":
        """Return resources that open the store at `location` anew each time."""
        return cls(team, partial(_open_store, location))

    @classmethod
    def sharing(cls, team: Team, store: PolicyStore) -> "Resources":
        """Return resources that hand out a store that somebody else opened and will close."""
        return cls(team, partial(_lend_store, store))

    async def open_model(self, model: Model, *, temperature: float, timeout_s: float) -> BaseChatModel:
        """Return the open model, the same for all calls; an embedded one anew, since its server may have ended.

        Raises:
            ModelError: it cannot be opened.
        """
        if not isinstance(model, ModelSpec) or model.provider == "embedded":
            return await open_model(model, temperature=temperature, timeout_s=timeout_s)
        key = (model, temperature, timeout_s)
        if key not in self._opened:
            self._opened[key] = await open_model(model, temperature=temperature, timeout_s=timeout_s)
        return self._opened[key]

    def lane_of(self, model: Model) -> Lane:
        """Return what all calls of `model` share, whoever makes them."""
        name = model.place if isinstance(model, ModelSpec | RunnableModel) else model_label(model)
        if name not in self._lanes:
            same = [
                one for one in _specs_of(self.team) if one.place == name
            ]  # one table may have a limit, another none
            self._lanes[name] = Lane(
                name,
                self.team.circuit,
                min((one.max_concurrency for one in same if one.max_concurrency is not None), default=None),
                min((one.requests_per_minute for one in same if one.requests_per_minute is not None), default=None),
                self._circuits.get(name, Circuit()),
            )
        return self._lanes[name]

    def learn_circuits(self, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Take over what all processes know of models that failed; return what is stored and makes no sense."""
        problems = []
        self._circuits.clear()
        for model, row in rows.items():
            try:
                self._circuits[model] = Circuit.from_json(row)
            except ValueError as error:
                problems.append(f"the circuit of {model!r} counts as closed: {error}")
        for lane in self._lanes.values():
            lane.known = self._circuits.get(lane.model, Circuit())
        return problems

    @asynccontextmanager
    async def program_turn(self) -> AsyncIterator[None]:
        """Enter when it is this program's turn to run: no more at once than there are processors."""
        loop = asyncio.get_running_loop()
        if loop not in self._programs:  # a semaphore belongs to one event loop
            self._programs.clear()
            self._programs[loop] = asyncio.Semaphore(os.cpu_count() or 1)
        async with self._programs[loop]:
            yield

    def ledger_of(self, run_id: str) -> Ledger:
        """Return the run's ledger, opened now if there is none."""
        if run_id not in self._ledgers:
            self._ledgers[run_id] = Ledger(self.team.budget.caps)
            for oldest in list(self._ledgers)[:-MOST_LEDGERS]:  # of runs that were stopped and never taken up again
                del self._ledgers[oldest]
        return self._ledgers[run_id]

    def close_ledger(self, run_id: str) -> None:
        """Forget the ledger of a run that has ended or is opened anew."""
        self._ledgers.pop(run_id, None)


def _specs_of(team: Team) -> Iterator[ModelSpec]:
    agents = (model for agent in team.agents for model in (agent.model, *agent.fallback))
    return (model for model in (*agents, *team.judging_models) if isinstance(model, ModelSpec))


@asynccontextmanager
async def _open_store(location: Location) -> AsyncIterator[PolicyStore]:
    async with await PolicyStore.open(location) as store:
        yield store


@asynccontextmanager
async def _lend_store(store: PolicyStore) -> AsyncIterator[PolicyStore]:
    yield store
