"""One open SQL database, SQLite or PostgreSQL, through one code path.

A transaction is a function that runs in a thread of the database's own. The event loop is never blocked, a transaction
that began also ends, and it costs one change of thread where an asynchronous driver makes several per statement (a
task's five transactions took half the time of aiosqlite's).
"""

import asyncio
import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from aligngraph.errors import MissingExtraError
from aligngraph.persistence.location import Address
from aligngraph.persistence.sqlite_file import BUSY_TIMEOUT_S, SYNCHRONOUS, claim, shrink
from aligngraph.persistence.store_errors import reported
from aligngraph.persistence.tables import SEALS

Result = TypeVar("Result")
Insert = sqlite.Insert | postgresql.Insert

_CONNECT_TIMEOUT_S = "10"
_POSTGRES_THREADS = 8
_SQLITE_THREADS = 1  # SQLite has one writer, and waiting for this thread is fair, for the file's lock it is not


class Database:
    """Short transactions on one database. Made by `open`, ended by `close`.

    Attributes:
        address: its file or URL.
    """

    def __init__(self, address: Address, engine: Engine) -> None:
        self.address = address
        self._reader = engine
        # A transaction that reads first and writes later could not wait for its turn: SQLite would refuse it.
        self._writer = engine.execution_options(begin="BEGIN IMMEDIATE")
        threads = _SQLITE_THREADS if isinstance(address, Path) else _POSTGRES_THREADS
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="aligngraph-store")

    @classmethod
    async def open(cls, address: Address, owned_table: str, *, seals: bool = False) -> "Database":
        """Return the database at `address`, a SQLite file made if there is none; one that seals encrypts secret texts.

        Raises:
            StoreError: it cannot be used, or holds tables but not `owned_table` (SQLite only).
            MissingExtraError: a PostgreSQL URL without psycopg installed.
        """
        engine = await asyncio.to_thread(_open_engine, address, owned_table)
        setattr(engine.dialect, SEALS, seals)
        return cls(address, engine)

    async def close(self) -> None:
        """End the transactions under way and close every connection; a second time is a no-op."""
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._reader.dispose)

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Return what `work` returns.

        Raises:
            StoreError: the database fails.
        """
        return await self._run(self._reader, work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Return what `work` returns, once all that it changed is committed together.

        Raises:
            StoreError: the database fails; nothing was changed.
        """
        return await self._run(self._writer, work)

    async def shrink(self) -> None:
        """Give the space of what was deleted back to the file system: a SQLite file; a PostgreSQL server does so itself.

        Others may read meanwhile, and wait to write.

        Raises:
            StoreError: the database fails; nothing was changed.
        """
        if isinstance(self.address, Path):
            await asyncio.get_running_loop().run_in_executor(self._threads, shrink, self.address)

    def insert(self, table: Table) -> Insert:
        """Return an INSERT that can say what to do on conflict."""
        return sqlite.insert(table) if isinstance(self.address, Path) else postgresql.insert(table)

    async def _run(self, engine: Engine, work: Callable[[Connection], Result]) -> Result:
        def transact() -> Result:
            with reported(self.address), engine.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._threads, transact)


def within_timeout(url: URL) -> URL:
    """Return `url`, given 10 s to connect unless it names a connect_timeout itself."""
    return url if "connect_timeout" in url.query else url.update_query_dict({"connect_timeout": _CONNECT_TIMEOUT_S})


def require_psycopg() -> None:
    """Return if psycopg is installed. It blocks: call it in a thread.

    Raises:
        MissingExtraError: it is not.
    """
    try:
        importlib.import_module("psycopg")
    except ImportError as error:
        message = f'a PostgreSQL URL needs psycopg ({error}): pip install "aligngraph[postgres]"'
        raise MissingExtraError(message) from error


def _open_engine(address: Address, owned_table: str) -> Engine:
    if not isinstance(address, Path):
        require_psycopg()
        return create_engine(within_timeout(address), pool_pre_ping=True)  # servers drop idle connections
    claim(address, owned_table)
    arguments = {"timeout": BUSY_TIMEOUT_S, "isolation_level": None}
    engine = create_engine(URL.create("sqlite", database=str(address)), connect_args=arguments)
    event.listen(engine, "connect", _set_synchronous)
    event.listen(engine, "begin", _begin)  # the sqlite3 module would begin late, and never before a SELECT or DDL
    return engine


def _set_synchronous(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute(SYNCHRONOUS)
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
