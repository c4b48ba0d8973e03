"""Writing to the log: one row and the sums that it changes, in a transaction that has the domain to itself."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, select

from aligngraph.errors import StoreError
from aligngraph.persistence import arm_sums
from aligngraph.persistence.database import Database
from aligngraph.persistence.learned_records import ArmKey, Increment, Update
from aligngraph.persistence.tables import ARMS, DOMAINS, UPDATES

_DEFAULTS = {one.name: one.default for one in fields(Increment)}
_SHRUNK = ("total", "count", "gradient", "loss")

# Built once: building a statement costs more than SQLite needs to run it.
_SET_LAST = DOMAINS.update().where(DOMAINS.c.domain == bindparam("of")).values(updates=bindparam("last"))
_CLEAR = ARMS.delete().where(
    ARMS.c.domain == bindparam("of"), ARMS.c.arm == bindparam("whose"), ARMS.c.made_of == bindparam("digest")
)
_SHRINK = (
    ARMS.update()
    .where(ARMS.c.domain == bindparam("of"))
    .values({name: ARMS.c[name] * bindparam("decay") for name in _SHRUNK})
)
_OF_RUN = select(UPDATES).where(UPDATES.c.run_id == bindparam("run_id")).order_by(UPDATES.c.round)
_OF_ROUND = select(UPDATES).where(UPDATES.c.run_id == bindparam("run_id"), UPDATES.c.round == bindparam("number"))


class UpdateWriter:
    """Appends to the logs of a database, within transactions that write."""

    def __init__(self, database: Database) -> None:
        lock = database.insert(DOMAINS).values(updates=0)
        self._lock = lock.on_conflict_do_update(
            index_elements=[DOMAINS.c.domain], set_={"updates": DOMAINS.c.updates}
        ).returning(DOMAINS.c.updates)
        self._insert = database.insert(UPDATES).on_conflict_do_nothing().returning(UPDATES.c.run_id)
        self._increment = arm_sums.increment_statement(database.insert(ARMS))

    def lock(self, connection: Connection, domain: str) -> int:
        """Return the sequence of the domain's last update; nobody else writes to the domain until the transaction ends.

        A row of its own is locked, since PostgreSQL cannot lock sums that are not there yet.
        """
        last: int = connection.execute(self._lock, {"domain": domain}).scalar_one()
        return last

    def append(self, connection: Connection, update: Update, last: int) -> Update | None:
        """Return the update as it was stored after `last`, which `lock` returned; None if (run_id, round) was there before.

        Raises:
            ValueError: an increment's arm has a name that none of its kind can have.
        """
        rows = arm_sums.increment_rows(update.domain, update.increments, update.at)
        stored = replace(update, sequence=last + 1)
        if connection.scalar(self._insert, as_row(stored)) is None:
            return None
        connection.execute(_SET_LAST, {"of": update.domain, "last": stored.sequence})
        if update.cleared:
            whose = [{"of": update.domain, "whose": key.arm, "digest": key.made_of} for key in update.cleared]
            connection.execute(_CLEAR, whose)
        if update.decay != 1:
            connection.execute(_SHRINK, {"of": update.domain, "decay": update.decay})
        if rows:
            connection.execute(self._increment, rows)
        return stored


def read_updates(connection: Connection, run_id: str) -> list[Update]:
    """Return the updates of a run, by round."""
    return [read_row(row) for row in connection.execute(_OF_RUN, {"run_id": run_id}).mappings()]


def find_update(connection: Connection, run_id: str, round_number: int) -> Update | None:
    """Return the update, None if there is none."""
    row = connection.execute(_OF_ROUND, {"run_id": run_id, "number": round_number}).mappings().first()
    return read_row(row) if row else None


def as_row(update: Update) -> dict[str, Any]:
    """Return the update as a row of its table; what increments have by default is left out, since there may be many."""
    increments = [
        {name: value for name, value in vars(increment).items() if value != _DEFAULTS[name]}
        for increment in update.increments
    ]
    cleared = [[key.arm, key.made_of] for key in update.cleared] or None
    return {**vars(update), "increments": increments, "cleared": cleared}


def read_row(row: RowMapping | Mapping[str, Any]) -> Update:
    """Return the update that a row of its table stands for.

    Raises:
        StoreError: it stands for none, as when somebody edited it by hand.
    """
    try:
        increments = tuple(Increment(**increment) for increment in row["increments"])
        cleared = tuple(ArmKey(arm, made_of) for arm, made_of in row["cleared"] or ())
        return Update(**{**row, "increments": increments, "cleared": cleared})
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"update {row['run_id']!r}, round {row['round']!r}, cannot be read ({error}): restore the database from a copy, or"
            " move it away and take the sums over with `policy export` and `policy import`"
        ) from error
