"""The log played again: sums out of updates, and what of an update is still in the sums."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aligngraph.persistence.learned_records import ArmKey, ArmSums, Counted, Increment, Update


def replayed(updates: Iterable[Update]) -> dict[ArmKey, ArmSums]:
    """Return the sums that the updates of one domain make, in order of sequence, from nothing."""
    arms: dict[ArmKey, ArmSums] = {}
    for update in updates:
        advance(arms, update)
    return arms


def advance(arms: dict[ArmKey, ArmSums], update: Update) -> None:
    """Change the sums of a domain as the update does: those of cleared arms go, all but failures shrink, increments come."""
    for key in update.cleared:
        arms.pop(key, None)
    if update.decay != 1:
        for key, sums in arms.items():
            arms[key] = _shrink(sums, update.decay)
    for increment in update.increments:
        arms[increment.key] = _grow(arms.get(increment.key), increment, update.at)


@dataclass(frozen=True)
class Turn:
    """What an update did to what was learned before it.

    Attributes:
        sequence: of the update.
        decay: what is left of every sum.
        cleared: arms of which nothing is.
        undone_to: of a rollback, the sequence up to which what was learned came back; None of any other.
    """

    sequence: int
    decay: float = 1.0
    cleared: frozenset[ArmKey] = frozenset()
    undone_to: int | None = None


def turn_of(update: Update) -> Turn:
    """Return what the stored update did to what was learned before it."""
    undone_to = update.result.get("to") if update.kind == "rollback" else None
    return Turn(update.sequence or 0, update.decay, frozenset(update.cleared), undone_to)


@dataclass(frozen=True)
class _Point:
    """What is left of whatever came before an update, the turns from it on taken together."""

    sequence: int
    age: float
    gone: frozenset[ArmKey]


class Aftermath:
    """What later updates left of earlier ones, in one domain.

    Args:
        turns: at least all those after the updates that will be asked about which did anything to earlier sums.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._undone: list[tuple[int, int]] = []  # the sequences after the first, up to the second
        points: list[_Point] = []
        latest = _Point(0, 1.0, frozenset())
        for turn in sorted(turns, key=lambda turn: -turn.sequence):
            if self._is_undone(turn.sequence):
                continue
            # After a rollback the sums are those of then, with what had cleared and shrunk them until then.
            if turn.undone_to is not None:
                self._undone.append((turn.undone_to, turn.sequence - 1))
                continue
            gone = latest.gone | turn.cleared if turn.cleared else latest.gone
            latest = _Point(turn.sequence, latest.age * turn.decay, gone)
            points.append(latest)
        self._points = points[::-1]

    def count(self, update: Update) -> Counted:
        """Return what is left of a stored update of the domain."""
        sequence = update.sequence or 0
        if self._is_undone(sequence):
            return Counted(update, 0.0, ())
        place = bisect_right(self._points, sequence, key=lambda point: point.sequence)
        point = self._points[place] if place < len(self._points) else _Point(0, 1.0, frozenset())
        left = tuple(one.scaled(point.age) for one in update.increments if one.key not in point.gone)
        return Counted(update, point.age, left)

    def _is_undone(self, sequence: int) -> bool:
        return any(first < sequence <= last for first, last in self._undone)


def differing(before: Mapping[ArmKey, ArmSums], after: Mapping[ArmKey, ArmSums]) -> list[ArmKey]:
    """Return the arms that are not the same in both, sorted; one that is nowhere but zero is as one that is not there."""
    return sorted(key for key in {*before, *after} if not _alike(before.get(key), after.get(key)))


def _alike(before: ArmSums | None, after: ArmSums | None) -> bool:
    kind = (before or after or ArmSums("agent")).kind
    return (before or ArmSums(kind)) == (after or ArmSums(kind))


def _shrink(sums: ArmSums, decay: float) -> ArmSums:
    return replace(
        sums,
        total=sums.total * decay,
        count=sums.count * decay,
        gradient=sums.gradient * decay,
        loss=sums.loss * decay,
    )


def _grow(sums: ArmSums | None, increment: Increment, at: str) -> ArmSums:
    return replace((sums or ArmSums(increment.kind)) + increment.sums, kind=increment.kind, changed_at=at)
