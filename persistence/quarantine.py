"""Setting rows aside that make no sense, so that one warning is enough and the run goes on from the prior (F18)."""

import math
import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from aligngraph.persistence.arm_sums import UnsoundRow, read_arms
from aligngraph.persistence.learned_records import Update
from aligngraph.persistence.tables import QUARANTINE
from aligngraph.persistence.update_writer import UpdateWriter


def set_aside(connection: Connection, writer: UpdateWriter) -> tuple[UnsoundRow, ...]:
    """Return the rows that make no sense, of every domain, moved into the quarantine and cleared in the log."""
    domains = {unsound.row["domain"] for unsound in read_arms(connection).unsound}
    moved: list[UnsoundRow] = []
    for domain in sorted(domains):  # in one order: no two transactions can deadlock
        moved += _move(connection, writer, domain, writer.lock(connection, domain))
    return tuple(moved)


def set_aside_locked(connection: Connection, writer: UpdateWriter, domain: str, last: int) -> int:
    """Return the sequence of the last update of a domain that is locked, once its rows make sense."""
    return last + bool(_move(connection, writer, domain, last))


def _move(connection: Connection, writer: UpdateWriter, domain: str, last: int) -> Sequence[UnsoundRow]:
    unsound = read_arms(connection, domain).unsound  # another process may have been faster
    if unsound:
        update = Update(
            run_id=f"quarantine-{secrets.token_hex(8)}",
            round=1,
            domain=domain,
            increments=(),
            kind="quarantine",
            cleared=tuple(one.key for one in unsound),
        )
        connection.execute(QUARANTINE.insert(), [_as_row(one, update.at) for one in unsound])
        writer.append(connection, update, last)
    return unsound


def _as_row(unsound: UnsoundRow, at: str) -> dict[str, Any]:
    return {
        "quarantined_at": at,
        "domain": unsound.row["domain"],
        "arm": unsound.key.arm,
        "made_of": unsound.key.made_of,
        "reason": unsound.reason,
        "row": {name: _plain(value) for name, value in unsound.row.items()},
    }


def _plain(value: object) -> object:
    """Return the value as JSON can hold it."""
    is_plain = isinstance(value, str | int | None) or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else repr(value)
