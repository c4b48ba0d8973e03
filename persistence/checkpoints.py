"""LangGraph's checkpoints: opened strictly, pruned when a run is over.

The savers rebuild plain values and LangChain's messages only. LangGraph's default imports and calls whatever a
checkpoint names (CVE-2026-28277) unless LANGGRAPH_STRICT_MSGPACK is set before its first import.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aligngraph.persistence.database import require_psycopg
from aligngraph.persistence.location import Location
from aligngraph.persistence.sqlite_file import shrink

if TYPE_CHECKING:  # half a second, which commands that need no checkpoints do not pay
    from langgraph.checkpoint.base import BaseCheckpointSaver

    Opener = Callable[[], AbstractAsyncContextManager[BaseCheckpointSaver[str]]]


@asynccontextmanager
async def open_checkpointer(
    location: Location, *, keeps: bool = True, seals: bool = False
) -> AsyncIterator["BaseCheckpointSaver[str]"]:
    """Yield the checkpointer at `location`, set up; open one for the whole process.

    Args:
        location: where checkpoints are kept.
        keeps: whether they are; else they are in memory and end with it.
        seals: whether they are encrypted, with the key that the policy store uses.

    Raises:
        StoreError: it cannot be read or written, or is not ours; or there is no key.
        MissingExtraError: a PostgreSQL URL without psycopg installed, or encryption without pycryptodome.
    """
    opener = await asyncio.to_thread(_find_opener, location, keeps=keeps, seals=seals)  # importing reads files
    async with opener() as saver:
        yield saver


async def prune_checkpoints(saver: "BaseCheckpointSaver[str]", thread_id: str) -> None:
    """Keep only the last checkpoint of a thread whose run is over: every step has left the whole state behind.

    Args:
        saver: from `open_checkpointer`.
        thread_id: whose graph must not use LangGraph's DeltaChannel: its values hang on earlier checkpoints.
    """
    await saver.aprune([thread_id], strategy="keep_latest")


async def forget_checkpoints(location: Location, thread_ids: Sequence[str]) -> None:
    """Delete all checkpoints of threads whose runs are over; a SQLite file then shrinks.

    Raises:
        StoreError: they cannot be deleted.
    """
    address = location.checkpoints
    if not thread_ids or (isinstance(address, Path) and not await asyncio.to_thread(address.exists)):
        return
    async with open_checkpointer(location) as saver:
        for thread_id in thread_ids:
            await saver.adelete_thread(thread_id)
    if isinstance(address, Path):
        await asyncio.to_thread(shrink, address)


def _find_opener(location: Location, *, keeps: bool, seals: bool) -> "Opener":
    address = location.checkpoints
    if not keeps:
        from aligngraph.persistence.memory_checkpoints import open_memory_saver  # noqa: PLC0415 - see TYPE_CHECKING

        return open_memory_saver
    if isinstance(address, Path):
        from aligngraph.persistence.sqlite_checkpoints import open_sqlite_saver  # noqa: PLC0415 - see TYPE_CHECKING

        return lambda: open_sqlite_saver(address, seals=seals)
    require_psycopg()
    from aligngraph.persistence.postgres_checkpoints import open_postgres_saver  # noqa: PLC0415 - an extra

    return lambda: open_postgres_saver(address, seals=seals)
