"""The evidence of a task: the votes and the ranking as numbers. It names no answer, so that it outlives the texts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from aligngraph.errors import StoreError

Row = tuple[float, ...]


@dataclass(frozen=True)
class Rules:
    """How the game of the task was played; `trusted` where its anchor was learned and not set."""

    step_size: float
    anchor: float
    smoothing: float
    max_steps: int
    trusted: bool = True


@dataclass(frozen=True)
class Judged:
    """What a principal or judge was paid for its ranking, and how much of its skill could be seen; both in [0, 1]."""

    payoff: float
    clarity: float = 1.0


@dataclass(frozen=True)
class Evidence:
    """All that can be learned of one task; A arms of the team, K answers as first seen in seed order.

    Attributes:
        arms: `[A]`, names.
        made_of: `[A]`, digests of model and strategy.
        asked: `[A]`, samples drawn in the first round.
        failed: `[A]`, calls that failed, of all rounds.
        first: `[A][K + 1]`, votes of the first round; the last column counts answers that were given up since.
        counts: `[A][K]`, votes at the end.
        rules: of the game.
        chosen: number of the answer that was given, None where there was none.
        majority: that of the plain vote.
        posterior: `[K]`, on the simplex.
        planned: samples of the whole team in a round, > 0, if none is left out.
        preference: `[K][K]`, the probability that the principal prefers row to column; None where it was not asked.
        tiers: numbers of answers in the principal's order, those of one tier tied.
        judges: by arm, the answers that the principal and each of its judges like best; a stand-in's are left out.
        agreed: by arm, what the votes of the first round made of the ranking of the principal and of its judges.
        principals: by arm, digests of what the principal and its judges are made of.
        stopped: whether the last samples of the first round were left out.
        chances: `[A]`, how likely each arm was to be asked at all, where samples were dealt by chance; else all were sure.
        rounds: of proposals.
    """

    arms: tuple[str, ...]
    made_of: tuple[str, ...]
    asked: tuple[int, ...]
    failed: tuple[int, ...]
    first: tuple[Row, ...]
    counts: tuple[Row, ...]
    rules: Rules
    chosen: int | None
    majority: int | None
    posterior: Row
    planned: int
    preference: tuple[Row, ...] | None = None
    tiers: tuple[tuple[int, ...], ...] = ()
    judges: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    agreed: Mapping[str, Judged] = field(default_factory=dict)
    principals: Mapping[str, str] = field(default_factory=dict)
    stopped: bool = False
    chances: Row = ()
    rounds: int = 1

    def __post_init__(self) -> None:
        lengths = {len(rows) for rows in (self.arms, self.made_of, self.asked, self.failed, self.first, self.counts)}
        widths = {len(self.posterior)} | {len(row) for row in self.counts} | {len(row) - 1 for row in self.first}
        if len(lengths) > 1 or len(widths) > 1:
            raise ValueError(f"evidence of {lengths!r} arms and {widths!r} answers: one number of each is allowed")

    @property
    def players(self) -> list[int]:
        """The numbers of the arms that have a vote at the end."""
        return [number for number, row in enumerate(self.counts) if any(row)]

    @property
    def answers(self) -> int:
        """K, the number of distinct answers."""
        return len(self.posterior)

    def as_json(self) -> dict[str, Any]:
        """Return the evidence in plain JSON types; votes at the end only where they are not those of the first round."""
        plain = asdict(self)
        if all(first == (*row, 0) for first, row in zip(self.first, self.counts, strict=True)):
            del plain["counts"]
        return plain

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Return the evidence that `as_json` has written.

        Raises:
            StoreError: it is none.
        """
        try:
            first = stored["first"]
            return _ADAPTER.validate_python({"counts": [row[:-1] for row in first], **stored})  # type: ignore[return-value]
        except (ValidationError, KeyError, TypeError) as error:
            raise StoreError(f"the stored evidence of a task cannot be read: {error}") from error


_ADAPTER = TypeAdapter(Evidence)
