"""What the nodes of one graph share beside the state."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from aligngraph.persistence import Location, PolicyStore
from aligngraph.team import Team


@dataclass(frozen=True)
class Resources:
    """The team, and a way to its policy store.

    Attributes:
        open_store: enters the store. A session lends the one it keeps open; a graph on a server opens it anew for each
            node, so that no connection outlives the event loop that made it.
    """

    team: Team
    open_store: Callable[[], AbstractAsyncContextManager[PolicyStore]]

    @classmethod
    def at(cls, team: Team, location: Location) -> "Resources":
        """Return resources that open the store at `location` anew each time."""
        return cls(team, partial(_open_store, location))

    @classmethod
    def sharing(cls, team: Team, store: PolicyStore) -> "Resources":
        """Return resources that hand out a store that somebody else opened and will close."""
        return cls(team, partial(_lend_store, store))


@asynccontextmanager
async def _open_store(location: Location) -> AsyncIterator[PolicyStore]:
    async with await PolicyStore.open(location) as store:
        yield store


@asynccontextmanager
async def _lend_store(store: PolicyStore) -> AsyncIterator[PolicyStore]:
    yield store
