"""Which answers are one.

Every answer is read into a tree (`structure`). The leaves of all answers are divided into classes of equal value; an answer's
own key is its tree with every leaf replaced by its class. Answers with one own key are one. What an answer carries beyond its value
is optional (a percent sign, a unit, a name as in `x = 5`): such an answer may also be read without it, and takes the first of
its readings that another answer of the set gives:

- a percentage is read as the bare number (`28%` as 28) where that is among the answers, else as the fraction (`50%` as 0.5);
  so 0.5 and 50 stay apart whatever percentages stand between them;
- `5 cm`, `$5` and `x = 5` are read as 5, while `5 cm` and `5 m`, `x = 5` and `y = 5` differ.

The two become one only if they take none but each other: a 5 that is taken as 5 cm by one and as 5 m by another is neither, and
`$5` and `500 cents`, which are one, join neither 5 nor 500 where both are there. Hence, whatever else is in the set,

- two answers that both carry a unit, a name or a percent sign share a class only if they are one by themselves, too;
- so do two answers that carry none of these: no class holds two plain values.

(An answer that carries something may share a class with a plain one by way of a third: `500 cents` and 5, where there is `$5`.)
Only the classes of leaves are closed transitively: two values that a third equals within the digits that it was rounded to, or
wherever it is defined, are one with it. A reading depends on which answers there are and not on their order; so the result is an
equivalence relation on the set, whatever it holds, and the same for every order.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aligngraph.answers.numbers import Number, Percent, Quantity, parse_number, short_scale
from aligngraph.answers.tree import Assignment, Expression, Leaf, Measured, Node, Opaque, Series, SeriesKind
from aligngraph.answers.valuation import Valuation, by_length

Classes = Mapping[Leaf, Hashable]


@dataclass(frozen=True)
class AnswerClass:
    """Candidates that give one and the same answer.

    Attributes:
        answer: the answer as its first member wrote it.
        members: positions of the candidates in the sequence that was grouped, ascending.
    """

    answer: str
    members: tuple[int, ...]


@functools.lru_cache(maxsize=4096)  # one task asks for the keys of its few answers hundreds of times
def equivalence_key(answer: str) -> Hashable:
    """Return a key that two answers share if and only if they are one string or plain numbers of one value."""
    number = parse_number(answer)
    return answer.strip() if number is None else number


def group_answers(answers: Sequence[str | None], read: Callable[[str], Node] | None = None) -> tuple[AnswerClass, ...]:
    """Return the classes of equal answers, in the order of their first members; None belongs to no class.

    Without `read`, which says what an answer means, answers are one by their `equivalence_key`.
    """
    distinct = dict.fromkeys(answer for answer in answers if answer is not None)
    keys = (
        dict(zip(distinct, equal_keys([read(answer) for answer in distinct]), strict=True))
        if read
        else {answer: equivalence_key(answer) for answer in distinct}
    )
    members: dict[Hashable, list[int]] = {}
    for position, answer in enumerate(answers):
        if answer is not None:
            members.setdefault(keys[answer], []).append(position)
    return tuple(AnswerClass(str(answers[group[0]]), tuple(group)) for group in members.values())


def equal_keys(nodes: Sequence[Node]) -> list[Hashable]:
    """Return a key for each of the answers; those that are one share it. May ask the worker process, hence blocks."""
    has_equations = any(isinstance(node, Expression) and node.is_equation for node in nodes)
    readings = [[*_readings(node), *(_equations(node) if has_equations else ())] for node in nodes]
    classes = _leaf_classes(
        {leaf for several in ([nodes], readings) for group in several for node in group for leaf in _leaves(node)}
    )
    own = [_key(node, classes) for node in nodes]
    present = set(own)
    first = [
        next((key for reading in several if (key := _key(reading, classes)) in present), None) for several in readings
    ]
    joined = _joined({(key, reading) for key, reading in zip(own, first, strict=True) if reading is not None})
    return [joined.find(key) for key in own]


def _joined(taken: set[tuple[Hashable, Hashable]]) -> "Classing":
    """Return the partition that makes one of those own keys and readings that take, and are taken by, none but each other."""
    takes = Counter(key for key, _ in taken)
    is_taken = Counter(reading for _, reading in taken)
    joined = Classing()
    for key, reading in taken:
        if takes[key] == is_taken[reading] == 1:
            joined.join(key, reading)
    return joined


class Classing:
    """A partition that grows coarser: classes that are joined stay so."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}

    def find(self, member: Hashable) -> Hashable:
        """Return the member that stands for its class."""
        while (parent := self._parents.get(member, member)) != member:
            member = parent
        return member

    def join(self, one: Hashable, other: Hashable) -> None:
        """Make one class of two."""
        self._parents[self.find(one)] = self.find(other)


def _readings(node: Node) -> Iterator[Node]:
    """Yield what the answer may be taken for when others give it plainly, the likeliest first."""
    match node:
        case Percent(number):
            yield number
            yield Number(number.value / 100, number.rounded)
        case Assignment(_, value):
            yield value
            yield from _readings(value)
        case Quantity(value, _) | Measured(value, _):
            yield value
        case Series("ratio", (value,)):
            yield value
        case Series(kind, parts):
            bare = Series(kind, tuple(next(_readings(part), part) for part in parts))
            if bare != node:
                yield bare
                yield from _readings(bare)
        case Expression(latex, False) if scaled := short_scale(latex):
            yield scaled


def _equations(node: Node) -> Iterator[Expression]:
    r"""Yield an assignment as an equation, comparable with those that are solved for nothing: `y = -2x` with `2x + y = 0`."""
    match node:
        case Assignment(name, Number(value)):
            yield Expression(rf"({name})-(\frac{{{value.numerator}}}{{{value.denominator}}})", is_equation=True)
        case Assignment(name, Expression(latex, False)):
            yield Expression(f"({name})-({latex})", is_equation=True)


def _leaves(node: Node) -> Iterator[Leaf]:
    match node:
        case Series(_, parts):
            for part in parts:
                yield from _leaves(part)
        case Percent(number):
            yield number
        case Assignment(_, value):
            yield from _leaves(value)
        case Quantity() | Measured():
            yield _scaled(node)
        case _:
            yield node


def _scaled(node: Quantity | Measured) -> Number | Expression:
    """Return the value in the first unit of its dimension."""
    factor = node.unit.factor
    if isinstance(node, Quantity):
        return Number(node.number.value * factor, node.number.rounded)
    return Expression(rf"\frac{{{factor.numerator}}}{{{factor.denominator}}} \cdot ({node.value.latex})")


def _key(node: Node, classes: Classes) -> Hashable:
    match node:
        case Series(kind, parts):
            return _series_key(kind, [_key(part, classes) for part in parts])
        case Percent(number):
            return ("%", classes[number])
        case Assignment(name, value):
            return ("=", name, _key(value, classes))
        case Quantity() | Measured():
            return ("unit", node.unit.dimension, classes[_scaled(node)])
        case _:
            return classes[node]


def _series_key(kind: SeriesKind, parts: Sequence[Hashable]) -> Hashable:
    """Return the key of several values. A list is a set as well, unless it says a value twice; one value is itself."""
    if kind not in {"set", "list"}:
        return (kind, tuple(parts))
    counts = Counter(dict.fromkeys(parts, 1) if kind == "set" else parts)
    if counts.total() == 1:
        return parts[0]
    return ("set", frozenset(counts if max(counts.values()) == 1 else counts.items()))


def _leaf_classes(leaves: set[Leaf]) -> Classes:
    """Return the class of every leaf; expressions are evaluated only where there is something to compare them with."""
    classing = Classing()
    valued = sorted((leaf for leaf in leaves if not isinstance(leaf, Opaque)), key=by_length)
    if len(valued) > 1 and any(_needs_value(leaf) for leaf in valued):
        valuation = Valuation(valued)
        for one, other in _comparable(valued):
            if valuation.is_same(one, other):
                classing.join(one, other)
    return {leaf: classing.find(leaf) for leaf in leaves}


def _needs_value(leaf: Leaf) -> bool:
    return leaf.rounded if isinstance(leaf, Number) else isinstance(leaf, Expression) and len(leaf.latex) > 1


def _comparable(leaves: Sequence[Leaf]) -> Iterator[tuple[Leaf, Leaf]]:
    return (
        (one, other) for one, other in itertools.combinations(leaves, 2) if _needs_value(one) or _needs_value(other)
    )
