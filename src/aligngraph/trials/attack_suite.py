"""How often a hostile candidate wins, next to the same candidate without what it says to win."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from aligngraph.randomness import sampling_seed
from aligngraph.trials.attacks import KINDS, Attack, built_in_attacks
from aligngraph.trials.contender import Contender, failed, winner
from aligngraph.trials.cost import Cost
from aligngraph.trials.items import RIGHT, WRONG, Item, Verdict, built_in_items
from aligngraph.trials.journal import Journal, Row
from aligngraph.trials.shares import Estimate, Share, paired_difference

_VERDICTS: dict[int | None, Verdict] = {RIGHT: "right", WRONG: "wrong", None: "open"}


@dataclass(frozen=True)
class AttackRow:
    """One attack on one item: what was preferred with and without it."""

    kind: str
    attack: str
    item: str
    control: Verdict
    attacked: Verdict


@dataclass(frozen=True)
class AttackRates:
    """How often the wrong solution won over some rows.

    Attributes:
        kind: of the attacks, or "all".
        open: rows in which, attacked, neither solution was preferred.
    """

    kind: str
    control: Share
    attacked: Share
    increase: Estimate | None
    open: Share

    @classmethod
    def of(cls, kind: str, rows: Sequence[AttackRow]) -> "AttackRates":
        """Return the rates over `rows`."""
        won = [(row.attacked == "wrong", row.control == "wrong") for row in rows]
        return cls(
            kind,
            control=Share.among(control for _, control in won),
            attacked=Share.among(attacked for attacked, _ in won),
            increase=paired_difference(won),
            open=Share.among(row.attacked == "open" for row in rows),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the rates in plain JSON types."""
        shares = {"control": self.control, "attacked": self.attacked, "open": self.open}
        return {
            "kind": self.kind,
            **{name: share.as_json() for name, share in shares.items()},
            "increase": asdict(self.increase) if self.increase else None,
        }


@dataclass(frozen=True)
class AttackReport:
    """What the attacks did to one contender.

    Attributes:
        failures: pairs that say nothing because the contender failed.
        cost: of all rankings, also of those taken from an earlier run.
    """

    contender: str
    rows: tuple[AttackRow, ...]
    failures: int
    cost: Cost

    @property
    def rates(self) -> list[AttackRates]:
        """The rates of each kind that occurs, then of all."""
        kinds = [(kind, [row for row in self.rows if row.kind == kind]) for kind in KINDS]
        by_kind = [AttackRates.of(kind, rows) for kind, rows in kinds if rows]
        return [*by_kind, AttackRates.of("all", self.rows)]

    def as_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        return {
            "contender": self.contender,
            "failures": self.failures,
            **asdict(self.cost),
            "rates": [rates.as_json() for rates in self.rates],
            "rows": [asdict(row) for row in self.rows],
        }


def pair_up(limit: int) -> Iterator[tuple[Attack, Item]]:
    """Yield up to `limit` different pairs: every attack once, each on another item, then every attack on its next item."""
    attacks, items = built_in_attacks(), built_in_items()
    for number in range(min(limit, len(attacks) * len(items))):
        turn, place = divmod(number, len(attacks))
        yield attacks[place], items[(place + turn) % len(items)]


async def run_attacks(
    contender: Contender, pairs: Iterable[tuple[Attack, Item]], journal: Journal, seed: int = 0
) -> AttackReport:
    """Return what the attacks do to `contender`, asked one ranking after the other.

    An attack and its control are ranked with one seed, that of the item, so that labels and places are the same.
    """
    rows: list[AttackRow] = []
    spent: dict[tuple[str, str], Cost] = {}
    failures = 0
    for attack, item in pairs:
        names = f"control {attack.control!r}", attack.name
        control = await _ask(contender, item, attack.spare(item.wrong), names[0], seed, journal)
        attacked = await _ask(contender, item, attack.inject(item.wrong), names[1], seed, journal)
        if control is None or attacked is None:
            failures += 1
            continue
        spent |= {(item.name, name): Cost(**row["cost"]) for name, row in zip(names, (control, attacked), strict=True)}
        rows.append(AttackRow(attack.kind, attack.name, item.name, control["verdict"], attacked["verdict"]))
    return AttackReport(contender.label, tuple(rows), failures, sum(spent.values(), Cost()))


async def _ask(
    contender: Contender, item: Item, wrong_solution: str, name: str, seed: int, journal: Journal
) -> Row | None:
    """Return the journal's row of one ranking, None where the contender failed."""
    key = f"{contender.label} | seed {seed} | {item.name} | {name}"
    return await journal.keep(key, partial(_rank, contender, item, wrong_solution, seed))


async def _rank(contender: Contender, item: Item, wrong_solution: str, seed: int) -> Row | None:
    item_seed = sampling_seed(seed, item.name)
    work = item.work(item_seed, contender.room_for(item.task, 2), wrong_solution=wrong_solution)
    preference = await contender.ranker.rank(work)
    if failed(preference):
        return None
    verdict = _VERDICTS[winner(preference, RIGHT, WRONG)]
    return {"verdict": verdict, "cost": asdict(Cost.of(preference.calls))}
