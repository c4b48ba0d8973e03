"""The sums of arms as they are stored: read with what makes no sense set apart, and added to in SQL."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from aligngraph.persistence.database import Insert
from aligngraph.persistence.learned_records import (
    ArmKey,
    Arms,
    ArmSums,
    DomainSummary,
    Increment,
    Sums,
)
from aligngraph.persistence.soundness import find_fault, fits, read_arm_sums
from aligngraph.persistence.tables import ARMS, QUARANTINE, UPDATES

_NAMES = ("domain", "arm", "made_of")
SUMMED = ("total", "count", "failures", "gradient", "loss")

# Built once: building a statement costs more than SQLite needs to run it.
_EVERYWHERE = select(ARMS)
_HERE = select(ARMS).where(ARMS.c.domain == bindparam("domain"))


@dataclass(frozen=True)
class UnsoundRow:
    """A stored row that makes no sense, and why."""

    row: dict[str, Any]
    reason: str

    @property
    def key(self) -> ArmKey:
        """Whose sums it was to be."""
        return ArmKey(self.row["arm"], self.row["made_of"])

    def __str__(self) -> str:
        return say_unsound(self.row["domain"], self.row["arm"], self.reason)


@dataclass(frozen=True)
class StoredArms:
    """The sound rows of some domains, by domain, and the others."""

    sound: dict[str, dict[ArmKey, ArmSums]]
    unsound: tuple[UnsoundRow, ...]


def say_unsound(domain: str, arm: str, reason: str) -> str:
    """Return the line that warns of a row that is not believed."""
    return f"arm {arm!r} in domain {domain!r} counts as unseen: {reason}"


def read_arms(connection: Connection, domain: str | None = None) -> StoredArms:
    """Return the rows of `domain`, of every domain if it is None."""
    sound: dict[str, dict[ArmKey, ArmSums]] = defaultdict(dict)
    unsound = []
    rows = connection.execute(_EVERYWHERE) if domain is None else connection.execute(_HERE, {"domain": domain})
    for row in (one._asdict() for one in rows):
        if not all(isinstance(row[name], str) for name in _NAMES):  # SQLite takes anything: nobody bears such a name
            continue
        if reason := find_fault(row):
            unsound.append(UnsoundRow(row, reason))
        else:
            sound[row["domain"]][ArmKey(row["arm"], row["made_of"])] = read_arm_sums(row)
    return StoredArms(sound, tuple(unsound))


def sums_of(stored: StoredArms, domain: str) -> Sums:
    """Return the sums of `domain` and of all others, out of the rows of every domain."""
    others = [arms for name, arms in stored.sound.items() if name != domain]
    return Sums(
        here=stored.sound.get(domain, {}),
        elsewhere=_add_up(others),
        quarantined=tuple(map(str, stored.unsound)),
    )


def _add_up(domains: Iterable[Arms]) -> Arms:
    found: dict[ArmKey, list[ArmSums]] = defaultdict(list)
    for arms in domains:
        for key, sums in arms.items():
            found[key].append(sums)
    return {key: reduce(add, known) for key, known in found.items()}


def summarise(connection: Connection) -> list[DomainSummary]:
    """Return what each domain has learned, domains and arms in alphabetical order."""
    stored, updated = read_arms(connection), _read_updated(connection)
    lines: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(QUARANTINE).order_by(QUARANTINE.c.number)):
        lines[row.domain].append(f"{say_unsound(row.domain, row.arm, row.reason)} (set aside {row.quarantined_at})")
    for unsound in stored.unsound:
        lines[unsound.row["domain"]].append(str(unsound))
    return [
        DomainSummary(
            domain=domain,
            tasks=updated[domain][0] if domain in updated else 0,
            changed_at=updated[domain][1] if domain in updated else None,
            arms=dict(sorted(stored.sound.get(domain, {}).items())),
            quarantined=tuple(lines.get(domain, ())),
        )
        for domain in sorted({*updated, *stored.sound, *lines})
    ]


def _read_updated(connection: Connection) -> dict[str, tuple[int, str]]:
    """Return tasks and time of the last update of each domain."""
    tasks = func.count(UPDATES.c.run_id.distinct()).filter(UPDATES.c.kind == "task").label("tasks")
    query = select(UPDATES.c.domain, tasks, func.max(UPDATES.c.at).label("at")).group_by(UPDATES.c.domain)
    return {row.domain: (row.tasks, row.at) for row in connection.execute(query)}


def increment_statement(insert: Insert) -> Insert:
    """Return what adds the rows of `increment_rows` to their sums."""
    changed = {name: ARMS.c[name] + insert.excluded[name] for name in SUMMED}
    changed |= {"kind": insert.excluded.kind, "changed_at": insert.excluded.changed_at}
    return insert.on_conflict_do_update(index_elements=[ARMS.c.domain, ARMS.c.arm, ARMS.c.made_of], set_=changed)


def increment_rows(domain: str, increments: Sequence[Increment], at: str) -> list[dict[str, Any]]:
    """Return a row of the table of arms for each increment.

    Raises:
        ValueError: no arm of its kind can have an increment's name: it would be quarantined.
    """
    for increment in increments:
        if not fits(increment.kind, increment.arm):
            raise ValueError(
                f"arm {increment.arm!r} of kind {increment.kind!r}: agents' arms are named agent/strategy,"
                " principals' principal or principal/..., learners' without a slash"
            )
    return [
        {
            "domain": domain,
            "arm": increment.arm,
            "made_of": increment.made_of,
            "kind": increment.kind,
            "total": increment.payoff,
            "count": increment.count,
            "failures": increment.failures,
            "gradient": increment.gradient,
            "loss": increment.loss,
            "changed_at": at,
        }
        for increment in increments
    ]
