"""The store as the commands on what was learned open it: one that is there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aligngraph.errors import UsageError
from aligngraph.persistence import Location, PolicyStore


def holds_nothing(location: Location) -> bool:
    """Return whether no store was ever made at `location`."""
    return isinstance(location.policy, Path) and not location.policy.exists()


@asynccontextmanager
async def open_known(db: str | None) -> AsyncIterator[PolicyStore]:
    """Yield the store.

    Raises:
        UsageError: there is none, and a mistyped folder must not make one.
        StoreError: it cannot be used.
    """
    location = Location.find(db)
    if holds_nothing(location):
        raise UsageError(f"nothing was learned at {location}: --db names another place")
    async with await PolicyStore.open(location) as store:
        yield store
