"""The one place where a database's errors become ours."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

from sqlalchemy.exc import StatementError
from sqlalchemy.exc import TimeoutError as NoFreeConnectionError

from aligngraph.errors import AlignGraphError, StoreError
from aligngraph.persistence.location import Address, shown

_EXPECTED: tuple[type[Exception], ...] = (
    NoFreeConnectionError,
    sqlite3.Error,
    OSError,
    JSONDecodeError,  # a value that somebody edited by hand
)

_DAMAGED = ("malformed", "not a database", "disk I/O error")


@contextmanager
def reported(address: Address, *drivers: type[Exception]) -> Iterator[None]:
    """Raise what goes wrong inside as an error that names the database and says what to do.

    Args:
        address: the database in use.
        drivers: errors of drivers beyond SQLAlchemy, sqlite3 and the operating system.

    Raises:
        StoreError: with the driver's error as its cause.
    """
    try:
        yield
    except StatementError as error:
        if isinstance(error.orig, AlignGraphError):  # a value could not be read or written, and says itself why
            raise error.orig from error
        raise _explained(address, error) from error
    except (*_EXPECTED, *drivers) as error:
        raise _explained(address, error) from error


def _explained(address: Address, error: Exception) -> StoreError:
    cause = error.orig if isinstance(error, StatementError) else error
    line = " ".join(str(cause).split())
    return StoreError(f"cannot use {shown(address)}: {line}; {_remedy(address, line)}")


def _remedy(address: Address, cause: str) -> str:
    if not isinstance(address, Path):
        return "check that the server runs and lets you in, or name another database with --db"
    if "locked" in cause:
        return "another process holds it: try again, or name another folder with --db"
    if any(sign in cause for sign in _DAMAGED):
        return (
            "it is damaged and was left as it is: move it away to begin anew, from a copy or with `aligngraph policy import`"
            " of an export, or name another folder with --db"
        )
    return "move it away, make it writable, or name another folder with --db"
