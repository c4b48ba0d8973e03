"""The tree that an answer is read into: values at its leaves, and what is made of them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from aligngraph.answers.numbers import Number, Percent, Quantity
from aligngraph.answers.units import Unit

SeriesKind = Literal["()", "[]", "(]", "[)", "row", "matrix", "ratio", "set", "list"]


@dataclass(frozen=True)
class Expression:
    """A mathematical expression in the one notation; of an equation, its left side less its right side."""

    latex: str
    is_equation: bool = False


@dataclass(frozen=True)
class Opaque:
    """What is compared by its key alone."""

    key: Hashable


@dataclass(frozen=True)
class Series:
    """Several values. The brackets of an interval say which of its ends belong to it; `()` is a tuple as well."""

    kind: SeriesKind
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Assignment:
    r"""A named value, or values: `x = 5`, `x \in [0, 1]`, `x > 3`."""

    name: str
    value: "Node"


@dataclass(frozen=True)
class Measured:
    """An expression with a unit that is known."""

    value: Expression
    unit: Unit


Leaf = Number | Expression | Opaque
Node = Leaf | Percent | Quantity | Measured | Series | Assignment
EMPTY_SET = Opaque("empty set")
