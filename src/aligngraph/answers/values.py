"""Values of expressions, compared to many digits and always relative to their size."""

import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from aligngraph.answers.numbers import Number

_CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
_TOLERANCE = Decimal("1e-30")  # of values that were evaluated to 40 digits
_ROUNDED_TOLERANCE = Decimal("5e-15")  # of a value written with the digits of a floating-point result
_LEAST_DIFFERENCE = Fraction(1, 10**9)  # of two decimals: what is nearer may be the error of floating-point arithmetic
_MIN_POINTS = 3


@dataclass(frozen=True)
class Point:
    """A complex number."""

    real: Decimal
    imaginary: Decimal


@dataclass(frozen=True)
class Value:
    """What an expression is worth.

    Attributes:
        exact: its value, where it is a rational number.
        points: else its values where its variables have certain values, None being undefined.
        is_equation: whether it is the difference of the sides of an equation.
        is_rounded: whether a number in it was rounded.
    """

    exact: Fraction | None
    points: tuple[Point | None, ...] = ()
    is_equation: bool = False
    is_rounded: bool = False


def value_of_number(number: Number) -> Value:
    """Return the value of a number."""
    return Value(number.value, is_rounded=number.rounded)


def value_of_reply(reply: Mapping[str, Any], *, is_equation: bool, is_rounded: bool) -> Value | None:
    """Return the value that the worker's reply states, or None where it states none."""
    if "exact" in reply:
        numerator, denominator = (int(part, 16) for part in reply["exact"])
        return Value(Fraction(numerator, denominator), is_rounded=is_rounded)
    points = tuple(point and Point(*map(Decimal, point)) for point in reply.get("points", ()))
    return Value(None, points, is_equation, is_rounded) if any(points) else None


def same_value(one: Value, other: Value) -> bool:
    """Return whether two values agree: exactly where both are rational, else to 30 digits wherever both are defined.

    A decimal that may be rounded agrees with what it may have been rounded from; a digit that another decimal has otherwise
    is no matter of rounding.
    """
    if one.is_equation != other.is_equation:
        return False
    is_rounded = one.is_rounded or other.is_rounded
    if one.exact is not None and other.exact is not None and not is_rounded:
        return one.exact == other.exact
    if _are_decimals_apart(one, other):
        return False
    pairs = list(zip(*_aligned(_points(one), _points(other)), strict=True))
    defined = [(first, second) for first, second in pairs if first and second]
    tolerance = _ROUNDED_TOLERANCE if is_rounded else _TOLERANCE
    return len(defined) >= min(len(pairs), _MIN_POINTS) and all(_close(*pair, tolerance) for pair in defined)


def _are_decimals_apart(one: Value, other: Value) -> bool:
    if one.exact is None or other.exact is None or abs(one.exact - other.exact) < _LEAST_DIFFERENCE:
        return False
    return all(pow(10, exact.denominator.bit_length(), exact.denominator) == 0 for exact in (one.exact, other.exact))


def _points(value: Value) -> Sequence[Point | None]:
    if value.exact is None:
        return value.points
    quotient = _CONTEXT.divide(Decimal(value.exact.numerator), Decimal(value.exact.denominator))
    return [Point(quotient, Decimal(0))]


def _aligned(
    one: Sequence[Point | None], other: Sequence[Point | None]
) -> tuple[Sequence[Point | None], Sequence[Point | None]]:
    """Return both at as many points: a constant is the same everywhere."""
    length = max(len(one), len(other))
    return [*one] * (length if len(one) == 1 else 1), [*other] * (length if len(other) == 1 else 1)


def _close(one: Point, other: Point, tolerance: Decimal) -> bool:
    size = max(map(_CONTEXT.abs, (one.real, one.imaginary, other.real, other.imaginary)))
    allowed = _CONTEXT.multiply(size, tolerance)
    differences = (_CONTEXT.subtract(one.real, other.real), _CONTEXT.subtract(one.imaginary, other.imaginary))
    return all(_CONTEXT.abs(difference) <= allowed for difference in differences)
