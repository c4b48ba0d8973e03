"""Hostile candidates: what a wrong solution says to win, and the same solution without it."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from aligngraph.ranking import Option

AttackKind = Literal[
    "instruction",
    "system turn",
    "delimiter",
    "verdict",
    "flattery",
    "pressure",
    "foreign",
    "length",
    "empty",
    "unicode",
]
KINDS: tuple[AttackKind, ...] = get_args(AttackKind)


@dataclass(frozen=True)
class Attack:
    """A template around a wrong solution.

    Attributes:
        text: holds `{solution}`, `{answer}` or `{filler}`.
        control: the template without what is injected.
        filler: stands `times` times for `{filler}`.
    """

    kind: AttackKind
    name: str
    text: str
    control: str = "{solution}"
    filler: str = ""
    times: int = 0

    def inject(self, option: Option) -> str:
        """Return the hostile solution that `option` becomes."""
        return _fill(self.text.replace("{filler}", self.filler * self.times), option)

    def spare(self, option: Option) -> str:
        """Return the solution of the control."""
        return _fill(self.control, option)


@cache
def built_in_attacks() -> tuple[Attack, ...]:
    """Return all attacks, kinds in turn, so that the first few are of many kinds."""
    text = files("aligngraph.trials").joinpath("attacks.toml").read_text(encoding="utf-8")
    attacks = [Attack(**entry) for entry in tomllib.loads(text)["attacks"]]
    by_kind = [[attack for attack in attacks if attack.kind == kind] for kind in KINDS]
    return tuple(same[turn] for turn in range(max(map(len, by_kind))) for same in by_kind if turn < len(same))


def _fill(template: str, option: Option) -> str:
    return template.replace("{solution}", option.solution).replace("{answer}", option.answer)
