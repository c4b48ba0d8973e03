"""What the expressions of one set of answers are worth, found out at a bounded cost.

All of them share one budget of processor time, since every hostile expression takes what it can get. Each is given the same part
of what is left: the shortest first, but last of all those that by their looks may be enormous (towers of powers, large
factorials, sums), so that these take from each other only. A hostile one that looks harmless takes its share. What finds no place in the
budget is worth nothing, and one with the same expression only. Neither the order of the answers nor the load of the machine matters.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from aligngraph.answers.algebra import LIMIT_S, ask
from aligngraph.answers.numbers import LONG_DECIMAL, Number
from aligngraph.answers.tree import Expression, Leaf
from aligngraph.answers.values import Value, same_value, value_of_number, value_of_reply

BUDGET_S = 3.0  # of processor time, for one set of answers
_LEAST_S = 0.1  # an ordinary expression costs a hundredth of a second
_ENORMOUS = re.compile(
    r"\^[\s{(]*(?:[-\d.]*\d{4}|[^}]{0,80}?[\^!])"  # the exponent is long, or a power or factorial itself
    r"|(?:\d{3}|[!})])[\s})]*!"
    r"|\d[\d.]*[eE]\d{3}|\\(?:sum|prod|int|binom|mod|bmod|pmod)(?![a-z])"
)


class Valuation:
    """The values of leaves, none of which is asked for twice."""

    def __init__(self, leaves: Sequence[Leaf], budget_s: float = BUDGET_S) -> None:
        """Ask the worker process for the values of all expressions, in the order that `by_cost` brings them into."""
        self._left_s = budget_s
        self._readable: set[Leaf] = set()
        self._values: dict[Leaf, Value] = {leaf: value_of_number(leaf) for leaf in leaves if isinstance(leaf, Number)}
        expressions = [leaf for leaf in sorted(leaves, key=by_cost) if isinstance(leaf, Expression)]
        for number, leaf in enumerate(expressions):
            self._evaluate(leaf, shares=len(expressions) - number + 1)  # the last share is for comparisons

    def is_same(self, one: Leaf, other: Leaf) -> bool:
        """Return whether two leaves are worth the same or, where they have no value, say the same to math-verify."""
        first, second = self._values.get(one), self._values.get(other)
        if first and second:
            return same_value(first, second)
        if not (isinstance(one, Expression) and isinstance(other, Expression) and {one, other} <= self._readable):
            return False
        return self._ask({"same": sorted((one.latex, other.latex))}, shares=1).get("same", False) is True

    def _evaluate(self, leaf: Expression, shares: int) -> None:
        reply = self._ask({"equation" if leaf.is_equation else "value": leaf.latex}, shares)
        is_rounded = bool(LONG_DECIMAL.search(leaf.latex))
        if value := value_of_reply(reply, is_equation=leaf.is_equation, is_rounded=is_rounded):
            self._values[leaf] = value
        elif reply.get("readable"):
            self._readable.add(leaf)

    def _ask(self, request: Mapping[str, Any], shares: int) -> Mapping[str, Any]:
        """Return the worker's reply at the cost of one share at most; nothing where there is none or the budget is spent."""
        if self._left_s < _LEAST_S:
            return {}
        limit_s = min(LIMIT_S, max(_LEAST_S, self._left_s / shares))
        reply = ask(request, limit_s)
        self._left_s -= limit_s if reply is None else reply.get("seconds", limit_s)
        return reply or {}


def by_cost(leaf: Leaf) -> tuple[bool, int, str]:
    """Return a key that brings what may be enormous behind everything else, and else the shortest first."""
    return bool(isinstance(leaf, Expression) and _ENORMOUS.search(leaf.latex)), *by_length(leaf)


def by_length(leaf: Leaf) -> tuple[int, str]:
    """Return a key that brings leaves into an order of their own: the shortest first."""
    text = repr(leaf)
    return len(text), text
