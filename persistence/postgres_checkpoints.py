"""Checkpoints in PostgreSQL. Imported only when they are needed: psycopg is an extra."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from sqlalchemy.engine import URL

from aligngraph.persistence.database import within_timeout
from aligngraph.persistence.serializer import strict_serializer
from aligngraph.persistence.store_errors import reported

_ADVISORY_LOCK = 0x616C6968  # one beyond the policy store's
_LOCK_POLL_S = 0.05

_Connection = psycopg.AsyncConnection[DictRow]


@asynccontextmanager
async def open_postgres_saver(url: URL, *, seals: bool = False) -> AsyncIterator[AsyncPostgresSaver]:
    """Yield a saver on a pool of connections to `url`.

    Raises:
        StoreError: the server cannot be reached or does not let us in.
    """
    conninfo = within_timeout(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with reported(url, psycopg.Error):  # one connection first: a pool would retry for long and hide the cause
        await _set_up(conninfo)
    async with AsyncConnectionPool[_Connection](
        conninfo,
        min_size=1,
        max_size=1,  # the saver takes one step at a time; the pool is there to connect again
        check=AsyncConnectionPool.check_connection,
        open=False,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    ) as pool:
        yield AsyncPostgresSaver(pool, serde=strict_serializer(seals=seals))


async def _set_up(conninfo: str) -> None:
    """Make or migrate LangGraph's tables, one process at a time.

    They build indexes CONCURRENTLY, which waits for every statement under way: one that waited for the lock would
    wait for ever, so it is polled.
    """
    async with await psycopg.AsyncConnection.connect(
        conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row
    ) as connection:
        while not await _try_lock(connection):  # noqa: ASYNC110 - the other side may be another machine
            await asyncio.sleep(_LOCK_POLL_S)
        await AsyncPostgresSaver(connection).setup()  # closing the connection lets the lock go


async def _try_lock(connection: _Connection) -> bool:
    cursor = await connection.execute("SELECT pg_try_advisory_lock(%s) AS locked", (_ADVISORY_LOCK,))
    row = await cursor.fetchone()
    return bool(row and row["locked"])
