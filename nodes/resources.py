"""What the nodes of one graph share beside the state."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from langchain_core.language_models import BaseChatModel

from aligngraph.models import ModelSpec, open_model
from aligngraph.persistence import Location, PolicyStore
from aligngraph.roles import Model
from aligngraph.team import Team


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


@asynccontextmanager
async def _open_store(location: Location) -> AsyncIterator[PolicyStore]:
    async with await PolicyStore.open(location) as store:
        yield store


@asynccontextmanager
async def _lend_store(store: PolicyStore) -> AsyncIterator[PolicyStore]:
    yield store
