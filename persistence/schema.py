"""Which schema a database has, and bringing it to ours."""

import threading
from functools import partial

from sqlalchemy import Connection, column, func, inspect, select, table

from aligngraph.errors import StoreError
from aligngraph.persistence.database import Database
from aligngraph.persistence.location import Address, shown

VERSION_TABLE = "aligngraph_version"  # not alembic's default, which a shared PostgreSQL database may hold already
REVISIONS = ("policy_0001", "policy_0002", "policy_0003")
"""Of migrations/versions, oldest first: known here so that an up-to-date database costs no import of alembic."""

_ADVISORY_LOCK = 0x616C6967  # "alig"
_one_at_a_time = threading.Lock()  # alembic's context is global to the process


async def bring_up_to_date(database: Database) -> None:
    """Give the database our schema, unless it has it; safe when several processes do so at once.

    Raises:
        StoreError: its schema is newer than this version of aligngraph knows, or it cannot be changed.
    """
    if _is_outdated(await database.read(read_revision), database.address):
        await database.write(partial(upgrade, address=database.address))


def read_revision(connection: Connection) -> str | None:
    """Return the schema's revision, None for a database without one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision: str | None = connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))
    return revision


def upgrade(connection: Connection, address: Address, revision: str = REVISIONS[-1]) -> None:
    """Apply the migrations up to `revision`, all in the transaction of `connection`.

    Raises:
        StoreError: the schema of the database at `address` is newer than this version of aligngraph knows.
    """
    with _one_at_a_time:
        if connection.dialect.name == "postgresql":  # SQLite's transaction has locked the file already
            connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        if _is_outdated(read_revision(connection), address):  # another process may have been faster
            _migrate(connection, revision)


def _is_outdated(revision: str | None, address: Address) -> bool:
    if revision is None or revision in REVISIONS[:-1]:
        return True
    if revision == REVISIONS[-1]:
        return False
    raise StoreError(
        f"{shown(address)} was written by a newer aligngraph (schema {revision!r}, known up to {REVISIONS[-1]!r}): "
        "upgrade aligngraph, or move it away or name another place with --db",
    )


def _migrate(connection: Connection, revision: str) -> None:
    from alembic import command  # noqa: PLC0415 - half a second that only a new schema has to pay
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection, "version_table": VERSION_TABLE})
    config.set_main_option("script_location", "aligngraph.persistence:migrations")
    command.upgrade(config, revision)
