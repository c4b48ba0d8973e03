"""The store as the commands on what was learned open it: one that is there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory

from aligngraph.errors import UsageError
from aligngraph.persistence import Location, PolicyStore


@asynccontextmanager
async def open_known(db: str | None) -> AsyncIterator[PolicyStore]:
    """Yield the store.

    Raises:
        UsageError: there is none, and a mistyped folder must not make one.
        StoreError: it cannot be used.
    """
    location = Location.find(db)
    if await asyncio.to_thread(location.is_new):
        raise UsageError(f"nothing was learned at {location}: --db names another place")
    async with await PolicyStore.open(location) as store:
        yield store


@asynccontextmanager
async def open_or_make(db: str | None, *, dry_run: bool) -> AsyncIterator[PolicyStore]:
    """Yield the store, a new one where there is none; that of a dry run goes as it came.

    Raises:
        StoreError: it cannot be used.
    """
    location = Location.find(db)
    with TemporaryDirectory() as nowhere:
        absent = dry_run and await asyncio.to_thread(location.is_new)
        async with await PolicyStore.open(Location.find(nowhere) if absent else location) as store:
            yield store
