"""To which place of a domain's log to go back, and which sums it had there."""

import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from aligngraph.errors import StoreError
from aligngraph.persistence.learned_records import Arms
from aligngraph.persistence.replay import replayed
from aligngraph.persistence.soundness import find_fault
from aligngraph.persistence.tables import UPDATES
from aligngraph.persistence.update_writer import read_row

_ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class Place:
    """A place in the logs of all domains: a sequence in one, a time in the others."""

    domain: str | None = None
    sequence: int = 0
    time: str | None = None

    def find(self, connection: Connection, domain: str) -> float:
        """Return the sequence in the domain's log up to which all stays; infinity where all of it does.

        Raises:
            StoreError: the place is in another domain's log.
        """
        if domain == self.domain:
            return self.sequence
        if self.time is None:
            raise StoreError(
                f"a number names an update of one domain: name the domain, or a time instead of {self.sequence!r}"
            )
        later = select(func.min(UPDATES.c.sequence)).where(UPDATES.c.domain == domain, UPDATES.c.at > self.time)
        first = connection.scalar(later)
        return math.inf if first is None else first - 1


def find_place(connection: Connection, to: int | str, domain: str | None) -> Place:
    """Return the place that `to` names: a sequence in the log of `domain`, a run's first update, or a time.

    Raises:
        StoreError: it names nothing, or a run of another domain.
    """
    if isinstance(to, int):
        return Place(domain, max(0, to))
    first = select(UPDATES.c.domain, UPDATES.c.sequence, UPDATES.c.at).where(UPDATES.c.run_id == to)
    row = connection.execute(first.order_by(UPDATES.c.round)).first()
    if row is None:
        return Place(time=_read_time(to))
    if domain not in {None, row.domain}:
        raise StoreError(f"run {to!r} taught domain {row.domain!r}, not {domain!r}: name that domain, or a time")
    return Place(row.domain, row.sequence, row.at)


def replay_until(connection: Connection, domain: str, sequence: float) -> Arms:
    """Return the sums that the domain had after that update, without those that made no sense even then."""
    own = select(UPDATES).where(UPDATES.c.domain == domain, UPDATES.c.sequence <= sequence)
    rows = connection.execute(own.order_by(UPDATES.c.sequence), execution_options={"yield_per": _ROWS_AT_ONCE})
    arms = replayed(read_row(row) for row in rows.mappings())
    return {key: sums for key, sums in arms.items() if not find_fault({**asdict(key), **asdict(sums)})}


def _read_time(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise StoreError(
            f"cannot go back to {text!r}: a run that taught something, a time such as 2026-01-31T12:00 (UTC unless it says"
            " otherwise), or a number that `policy history` shows is allowed"
        ) from error
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds")
