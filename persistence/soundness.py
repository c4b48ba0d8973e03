"""Which sums are believed: what stands in a database may have been written by anybody (F18)."""

from collections.abc import Mapping
from typing import Any, cast, get_args

from aligngraph.persistence.learned_records import ArmKind, ArmSums

SLACK = 1e-6  # what adding and taking back in floating point may leave over
_LARGEST = 10**15
_NUMBERS = ("total", "count", "failures", "gradient", "loss")
_PANEL = "principal/"
_NEVER_NEGATIVE = ("total", "count", "failures", "loss")


def find_fault(row: Mapping[str, Any]) -> str | None:
    """Return why sums as they are stored make no sense, None if they do."""
    if row["kind"] not in get_args(ArmKind):
        return f"its kind is {row['kind']!r}, none of {', '.join(get_args(ArmKind))}"
    if not fits(row["kind"], row["arm"]):
        return f"no {row['kind']} can have that name"
    return _find_wrong_number(row)


def fits(kind: ArmKind, arm: str) -> bool:
    """Return whether an arm of this kind can have that name."""
    named = "principal" if arm == "principal" or arm.startswith(_PANEL) else "agent" if "/" in arm else "learner"
    return kind == named


def read_arm_sums(row: Mapping[str, Any]) -> ArmSums:
    """Return sound sums within their ranges: rounding may have left them a little outside."""
    count = max(0.0, float(row["count"]))
    return ArmSums(
        kind=cast("ArmKind", row["kind"]),
        total=min(max(0.0, float(row["total"])), count),
        count=count,
        failures=int(row["failures"]),
        gradient=float(row["gradient"]),
        loss=max(0.0, float(row["loss"])),
        changed_at=row.get("changed_at"),
    )


def _find_wrong_number(row: Mapping[str, Any]) -> str | None:
    for name in _NUMBERS:
        if not _is_number(row[name]):
            return f"its {name} is {row[name]!r}, no finite number below {_LARGEST:.0e}"
    if negative := [name for name in _NEVER_NEGATIVE if row[name] < -SLACK]:
        return f"its {negative[0]} is negative: {row[negative[0]]!r}"
    if row["total"] > row["count"] + SLACK:
        return f"its total of {row['total']!r} is more than its {row['count']!r} tasks can pay"
    if row["failures"] != int(row["failures"]):
        return f"its failures are no whole number: {row['failures']!r}"
    return None


def _is_number(value: object) -> bool:
    """Return whether it is a number of a size that sums can have, which leaves out NaN too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
