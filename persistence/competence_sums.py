"""The sums that competence is computed from: added up in SQL, and checked before they are believed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from sqlalchemy import Connection, and_, bindparam, case, func, or_, select

from aligngraph.persistence.database import Insert
from aligngraph.persistence.records import ArmKind, ArmSums, DomainSummary, Increment, Sums
from aligngraph.persistence.tables import COMPETENCE, UPDATES

_ARM = COMPETENCE.c
_SLACK = 1e-6  # what adding and taking back in floating point may leave over
_LARGEST = 10**15
_SOUND = and_(
    _ARM.total >= -_SLACK,
    _ARM.total <= _ARM.count + _SLACK,
    _ARM.count >= -_SLACK,
    _ARM.count < float(_LARGEST),
    _ARM.failures >= 0,
    _ARM.failures < _LARGEST,
    or_(*(_ARM.kind == kind for kind in get_args(ArmKind))),
)
_SUMMED = ("total", "count", "failures")
_ADDED_UP = [func.sum(_ARM[name]).label(name) for name in _SUMMED]

# Built once: building a statement costs more than SQLite needs to run it.
_HERE = select(COMPETENCE).where(_SOUND, _ARM.domain == bindparam("domain"))
_ELSEWHERE = (
    select(_ARM.arm, func.max(_ARM.kind).label("kind"), *_ADDED_UP)
    .where(_SOUND, _ARM.domain != bindparam("domain"))
    .group_by(_ARM.arm)
)
_QUARANTINED = select(COMPETENCE).where(case((_SOUND, 0), else_=1) == 1).order_by(_ARM.domain, _ARM.arm)


def read_sums(connection: Connection, domain: str) -> Sums:
    """Return the sums of `domain` and of all others, in time that does not depend on how many tasks they saw."""
    asked = {"domain": domain}
    broken = _read_quarantined(connection)
    return Sums(
        here={row.arm: _arm_sums(row._asdict()) for row in connection.execute(_HERE, asked)},
        elsewhere={row.arm: _arm_sums(row._asdict()) for row in connection.execute(_ELSEWHERE, asked)},
        quarantined=tuple(line for lines in broken.values() for line in lines),
    )


def summarise(connection: Connection) -> list[DomainSummary]:
    """Return what each domain has learned, domains and arms in alphabetical order."""
    tasks = func.count(UPDATES.c.run_id.distinct()).label("tasks")
    query = select(UPDATES.c.domain, tasks, func.max(UPDATES.c.at).label("changed_at")).group_by(UPDATES.c.domain)
    updated = {row.domain: row for row in connection.execute(query)}
    arms: dict[str, dict[str, ArmSums]] = defaultdict(dict)
    for row in connection.execute(select(COMPETENCE).where(_SOUND).order_by(_ARM.arm)):
        arms[row.domain][row.arm] = _arm_sums(row._asdict())
    broken = _read_quarantined(connection)
    return [
        DomainSummary(
            domain=domain,
            tasks=updated[domain].tasks if domain in updated else 0,
            changed_at=updated[domain].changed_at if domain in updated else None,
            arms=arms[domain],
            quarantined=tuple(broken.get(domain, ())),
        )
        for domain in sorted({*updated, *arms, *broken})
    ]


def increment_statement(insert: Insert) -> Insert:
    """Return what adds the rows of `increment_rows` to their sums; a row that makes no sense starts again from zero."""
    changed = {name: case((_SOUND, _ARM[name]), else_=0) + insert.excluded[name] for name in _SUMMED}
    changed["kind"] = insert.excluded.kind
    return insert.on_conflict_do_update(index_elements=[_ARM.domain, _ARM.arm], set_=changed)


def increment_rows(domain: str, increments: Sequence[Increment]) -> list[dict[str, Any]]:
    """Return a row of the competence table for each increment, in one order: no two transactions can deadlock."""
    return [
        {
            "domain": domain,
            "arm": increment.arm,
            "kind": increment.kind,
            "total": increment.payoff,
            "count": increment.count,
            "failures": increment.failures,
        }
        for increment in sorted(increments, key=lambda increment: increment.arm)
    ]


def _read_quarantined(connection: Connection) -> Mapping[str, Sequence[str]]:
    broken: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(_QUARANTINED):
        values = row._asdict()
        sums = ", ".join(f"{name} {values[name]!r}" for name in ("kind", *_SUMMED))
        broken[row.domain].append(f"arm {row.arm!r} in domain {row.domain!r} counts as unseen: {sums}")
    return broken


def _arm_sums(row: Mapping[str, Any]) -> ArmSums:
    count = max(0.0, float(row["count"]))
    total = min(max(0.0, float(row["total"])), count)
    return ArmSums(kind=row["kind"], total=total, count=count, failures=int(row["failures"]))
