"""Reading runs inside a transaction."""

from sqlalchemy import Connection, bindparam, select

from aligngraph.persistence.records import Run
from aligngraph.persistence.tables import RUNS

# Built once: building a statement costs more than SQLite needs to run it.
_FIND = select(RUNS).where(RUNS.c.run_id == bindparam("run_id"))


def find_run(connection: Connection, run_id: str) -> Run | None:
    """Return the run, None if there is none."""
    return _read(connection, run_id, locked=False)


def lock_run(connection: Connection, run_id: str) -> Run | None:
    """Return the run as `find_run` does; nobody else changes it until the transaction ends."""
    return _read(connection, run_id, locked=True)


def _read(connection: Connection, run_id: str, *, locked: bool) -> Run | None:
    row = connection.execute(_FIND.with_for_update() if locked else _FIND, {"run_id": run_id}).first()
    return Run(**row._asdict()) if row else None
