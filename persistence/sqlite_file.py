"""SQLite files: whose they are, and how they are opened."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from aligngraph.errors import StoreError
from aligngraph.persistence.store_errors import reported

BUSY_TIMEOUT_S = 30.0
SYNCHRONOUS = "PRAGMA synchronous=NORMAL"  # with WAL a crash of the machine loses the last updates, never the file

_POLL_S = 0.005
_CHECKPOINT_TIMEOUT_MS = 500  # which nobody can write in


def claim(file: Path, owned_table: str) -> None:
    """Make `file` exist and log ahead (WAL), its folder too. It blocks: call it in a thread.

    A file that holds tables but not `owned_table` is another program's and is left as it is.

    Raises:
        StoreError: the file cannot be written, is no database, or is not ours.
    """
    with reported(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and owned_table not in tables:
                raise StoreError(
                    f"{file} is another program's database: move it away or name another folder with --db",
                )
            deadline = time.monotonic() + BUSY_TIMEOUT_S
            while not _log_ahead(connection, last_try=time.monotonic() > deadline):
                time.sleep(_POLL_S)


def shrink(file: Path) -> None:
    """Write `file` anew without the space of what was deleted. It blocks: call it in a thread.

    Raises:
        StoreError: the file fails; nothing was changed.
    """
    with reported(file), closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as connection:
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA busy_timeout={_CHECKPOINT_TIMEOUT_MS}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # left to the next where somebody reads for longer


def _log_ahead(connection: sqlite3.Connection, *, last_try: bool) -> bool:
    """Return whether the file logs ahead now: SQLite refuses, without waiting, while another process asks the same."""
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if last_try or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
