"""What the nodes of one graph share beside the state."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

from langchain_core.language_models import BaseChatModel

from aligngraph.calling.budget import Ledger
from aligngraph.calling.circuit import Circuit
from aligngraph.calling.gates import PerLoop
from aligngraph.calling.lane import Lane
from aligngraph.models import ModelSpec, RunnableModel, model_label, open_model
from aligngraph.persistence import KeptTexts, Location, PolicyStore, TextlessStore
from aligngraph.roles import Model
from aligngraph.settings import Privacy
from aligngraph.team import Team

MOST_LEDGERS = 10_000
_PROGRAMS = PerLoop(lambda: asyncio.Semaphore(os.cpu_count() or 1))  # of all teams and tasks


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
    _programs: PerLoop[asyncio.Semaphore] = field(default=_PROGRAMS, init=False, repr=False)
    _lanes: dict[str, Lane] = field(default_factory=dict, init=False, repr=False)
    _ledgers: dict[str, Ledger] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def at(cls, team: Team, location: Location) -> "Resources":
        """Return resources that open the store at `location` anew each time."""
        return cls(team, partial(_open_store, location, team.privacy, {}))

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
        name = _account_of(model)
        if name not in self._lanes:
            # A team may name one model in several tables; the narrowest limit is everybody's.
            same = [one for one in _specs_of(self.team) if one.account == name]
            self._lanes[name] = Lane(
                name,
                self.team.circuit,
                min((one.max_concurrency for one in same if one.max_concurrency is not None), default=None),
                min((one.requests_per_minute for one in same if one.requests_per_minute is not None), default=None),
                self._circuits.get(name, Circuit()),
            )
        return self._lanes[name]

    async def learn_circuits(self, store: PolicyStore) -> list[str]:
        """Take over what all processes know of models that failed; return what is stored and makes no sense."""
        problems, read_at = [], time.monotonic()
        rows = await store.calls.read_circuits()
        self._circuits.clear()
        for model, row in rows.items():
            try:
                self._circuits[model] = Circuit.from_json(row)
            except (ValueError, RecursionError) as error:
                problems.append(f"the circuit of {model!r} counts as closed: {error}")
        for lane in self._lanes.values():
            lane.learn(self._circuits.get(lane.model, Circuit()), read_at)
        return problems

    def program_turn(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered when it is a program's turn: no more run at once than there are processors."""
        return self._programs.get()

    def ledger_of(self, run_id: str) -> Ledger:
        """Return the run's ledger, opened now if there is none."""
        if run_id not in self._ledgers:
            self._ledgers[run_id] = Ledger(self.team.budget.caps)
            for oldest in list(self._ledgers)[:-MOST_LEDGERS]:  # of runs that were stopped and never taken up again
                del self._ledgers[oldest]
        return self._ledgers[run_id]

    def has_ledger(self, run_id: str) -> bool:
        """Return whether this process has the run under way."""
        return run_id in self._ledgers

    def open_anew(self, run_id: str) -> None:
        """Open the ledger of a run that begins, or begins again."""
        self.close_ledger(run_id)
        self.ledger_of(run_id)

    @contextmanager
    def at_work(self, run_id: str) -> Iterator[None]:
        """Forget the run's ledger when it stops, for whatever reason: its seconds count anew when it goes on."""
        try:
            yield
        finally:
            self.close_ledger(run_id)

    def close_ledger(self, run_id: str) -> None:
        """Forget the ledger of a run that has ended or stands still."""
        self._ledgers.pop(run_id, None)


def _account_of(model: Model) -> str:
    """Return what a model's limits and failures are counted under: an open one by its class, name and server."""
    if isinstance(model, ModelSpec):
        return model.account
    if isinstance(model, RunnableModel):
        return model.place
    server = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None)
    return f"{model_label(model)}@{server}" if server else model_label(model)


def _specs_of(team: Team) -> Iterator[ModelSpec]:
    return (model for model in (*team.proposing_models, *team.judging_models) if isinstance(model, ModelSpec))


@asynccontextmanager
async def _open_store(location: Location, privacy: Privacy, texts: KeptTexts) -> AsyncIterator[PolicyStore]:
    async with await open_store(location, privacy, texts) as store:
        yield store


async def open_store(location: Location, privacy: Privacy, texts: KeptTexts) -> PolicyStore:
    """Return the store at `location`, which keeps the texts that it may; `texts` are those in memory.

    Raises:
        StoreError: it cannot be used, or there is no key to encrypt with.
        MissingExtraError: a package is missing.
    """
    if privacy.store_texts:
        return await PolicyStore.open(location, seals=privacy.encrypt)
    return await TextlessStore.open(location, texts, seals=privacy.encrypt)


@asynccontextmanager
async def _lend_store(store: PolicyStore) -> AsyncIterator[PolicyStore]:
    yield store
