r"""Plain numbers and quantities, read exactly: no parser, no floating point.

A percentage, a unit and a currency are kept beside the number, since `50%` is neither 50 nor 0.5 by itself: what it is taken for
depends on the other answers (`equivalence`).
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction

from aligngraph.answers.notation import plain
from aligngraph.answers.number_words import read_number_words
from aligngraph.answers.typography import INVISIBLE
from aligngraph.answers.units import Unit, find_unit

_MAX_DIGITS = 400  # longer strings of digits are compared as strings: parsing them costs quadratic time
_FLOAT_DIGITS = 15  # as many digits as a floating-point result is printed with: its last ones are rounded
LONG_DECIMAL = re.compile(rf"(?=[\d.]{{{_FLOAT_DIGITS + 1}}})\d+\.\d+")
_MINUS_SIGNS: dict[int, str | None] = {
    ord("\N{MINUS SIGN}"): "-",
    ord("\N{EN DASH}"): "-",
    **dict.fromkeys(map(ord, INVISIBLE), None),
}
_CURRENCY = "[$€£¥₹]"
_DECIMAL = r"(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+(?!\s*/)|\d+)(?:\.\d*)?|\.\d+"
_PLAIN = re.compile(
    rf"(?P<sign>[+-]?)\s*{_CURRENCY}?\s*"
    r"(?P<whole>\d{1,3}(?:,\d{3})+|\d+)?(?P<decimals>\.\d+|\.(?=$))?"
    r"(?:[eE](?P<exponent>[+-]?\d{1,3}))?"
    r"(?:\s*/\s*(?P<denominator>\d+))?"
)
_POWER_OF_TEN = (
    r"(?:[eE](?P<e>[+-]?\d{1,3})|\s*(?:\\times|\\cdot|[xX*])\s*10\s*\^\s*\{?\s*(?P<ten>[+-]?\d{1,3})\s*\}?(?![\d.]))"
)
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<currency>{_CURRENCY})?\s*(?P<minus>-?)"
    r"(?:(?P<mixed>\d+)(?:\s+(?=\d+\s*/)|\s*(?=\\frac)))?"
    rf"(?:\\frac\{{\s*(?P<top>-?\d+)\s*\}}\{{\s*(?P<bottom>\d+)\s*\}}"
    rf"|(?P<decimal>{_DECIMAL})(?:{_POWER_OF_TEN})?(?:\s*/\s*(?P<denominator>\d+))?)"
    r"(?:\s*(?P<scale>hundred|thousand|lakh|million|crore|billion|trillion)\b)?(?P<unit>\s*[^\d\s.,].{0,40})?"
)
_PER = re.compile(r"\s*(?:/|per\b|an?\b)")
_PERCENT = re.compile(r"%|percent(?:age)?(?: points?)?|per cent|pct", re.IGNORECASE)
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "lakh": 10**5,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}  # of money
_SHORT = re.compile(r"(?P<decimal>\d[\d,]*(?:\.\d+)?)\s*(?P<scale>[kKM])")
_REPEATING = re.compile(r"(?P<sign>-?)(?P<whole>\d*)\.(?P<first>\d*)\\overline\s*\{(?P<period>\d+)\}")


@dataclass(frozen=True)
class Number:
    """A number of exact value.

    Attributes:
        value: the value.
        rounded: whether it was written with as many digits as a floating-point result, the last of which are rounded.
    """

    value: Fraction
    rounded: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Percent:
    """A percentage; `50%` has the number 50."""

    number: Number


@dataclass(frozen=True)
class Quantity:
    """A number with a unit that is known."""

    number: Number
    unit: Unit


def parse_number(answer: str) -> Fraction | None:
    """Return the exact value of a plain number (`1,000`, `$29.00`, `-3`, `1/2`, `1.5e3`), or None for anything else."""
    text = answer.translate(_MINUS_SIGNS).strip()
    match = _PLAIN.fullmatch(text) if len(text) <= _MAX_DIGITS else None
    if match is None or not (match["whole"] or (match["decimals"] or "").strip(".")):
        return None
    mantissa = f"{match['sign']}{match['whole'] or '0'}{(match['decimals'] or '').rstrip('.')}"
    return _ratio(f"{mantissa}e{match['exponent'] or 0}", match["denominator"])


def read_quantity(answer: str) -> Number | Percent | Quantity | None:
    r"""Return the one number that the answer is, with its percent sign or unit, or None for anything else.

    Understood beyond `parse_number`: `11,\!111`, `\frac12`, `1 1/2`, `1\frac12`, `1.5 \times 10^{3}`, `28\%`, `120^\circ`,
    `5 cm`, `$5`, `five`.
    """
    text = plain(answer)
    if len(text) > _MAX_DIGITS:
        return None
    if (words := read_number_words(text)) is not None:
        return Number(Fraction(words))
    if repeating := _REPEATING.fullmatch(text):
        return Number(_repeating(repeating))
    match = _NUMBER.fullmatch(text)
    number = match and _number(match)
    if match is None or number is None:
        return None
    unit, currency = match["unit"] or "", match["currency"] or ""
    if currency and (scale := _SHORT_SCALES.get(unit.strip().casefold())):  # `$3.5 M`
        return _measured(Number(number.value * scale), currency)
    return _measured(number, f"{currency}{unit}" if _PER.match(unit) or not unit else unit)


def short_scale(text: str) -> Number | None:
    """Return what `5k` and `3.5 M` are for one who takes the letter for a thousand or a million, or None for anything else."""
    match = _SHORT.fullmatch(text)
    if match is None:
        return None
    return Number(Fraction(match["decimal"].replace(",", "")) * _SHORT_SCALES[match["scale"].casefold()])


def _measured(number: Number, unit: str) -> Number | Percent | Quantity | None:
    if not unit or unit in {"st", "nd", "rd", "th"}:
        return number
    if _PERCENT.fullmatch(unit.strip()):
        return Percent(number)
    known = None if len(unit) == 1 and unit.isalpha() else find_unit(unit)  # `2m` is twice m, `2 m` two metres
    return None if known is None else Quantity(number, known)


def _number(match: re.Match[str]) -> Number | None:
    value = _magnitude(match)
    if value is None:
        return None
    negative = (match["sign"] == "-") != bool(match["minus"])
    value *= _SCALES.get(match["scale"] or "", 1)
    return Number(-value if negative else value, _is_rounded(match["decimal"] or ""))


def _repeating(match: re.Match[str]) -> Fraction:
    shift = 10 ** len(match["first"])
    fixed = Fraction(int(f"{match['whole']}{match['first']}" or 0), shift)
    value = fixed + Fraction(int(match["period"]), (10 ** len(match["period"]) - 1) * shift)
    return -value if match["sign"] else value


def _magnitude(match: re.Match[str]) -> Fraction | None:
    if match["top"]:
        part = _ratio(match["top"], match["bottom"])
    else:
        part = _ratio(f"{match['decimal']}e{match['e'] or match['ten'] or 0}", match["denominator"])
    if not match["mixed"]:
        return part
    if part is None or not 0 < part < 1 or not (match["bottom"] or match["denominator"]):
        return None
    return int(match["mixed"]) + part


def _ratio(numerator: str, denominator: str | None) -> Fraction | None:
    below = int(denominator or 1)
    return Fraction(numerator.replace(",", "").replace(" ", "").replace(".e", "e")) / below if below else None


def _is_rounded(decimal: str) -> bool:
    whole, _, decimals = decimal.partition(".")
    return bool(decimals) and len((whole + decimals).replace(",", "").lstrip("0")) >= _FLOAT_DIGITS
