"""Units of measurement: which names are one unit, and how units of one dimension compare."""

import functools
import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Unit:
    """What a number is counted in.

    Attributes:
        dimension: units of one dimension can be converted into each other.
        factor: the unit in the first unit of its dimension.
    """

    dimension: str
    factor: Fraction


# dimension: (factor, names), the first unit of a dimension being its measure.
_TABLE = {
    "length": (
        ("1", "m meter metre"),
        ("0.001", "mm millimeter millimetre"),
        ("0.01", "cm centimeter centimetre"),
        ("1000", "km kilometer kilometre"),
        ("0.0254", "in inch"),
        ("0.3048", "ft foot feet"),
        ("0.9144", "yd yard"),
        ("1609.344", "mi mile"),
    ),
    "mass": (
        ("1", "g gram"),
        ("0.001", "mg milligram"),
        ("1000", "kg kilogram kilo"),
        ("28.349523125", "oz ounce"),
        ("453.59237", "lb pound"),
    ),
    "volume": (("1", "l liter litre"), ("0.001", "ml milliliter millilitre")),
    "time": (
        ("1", "s sec second"),
        ("60", "min minute"),
        ("3600", "h hr hour"),
        ("86400", "day"),
        ("604800", "week"),
    ),
    "month": (("1", "month"), ("12", "year yr")),
    "dollar": (("1", "$ dollar usd buck"), ("0.01", "cent ¢")),
    "euro": (("1", "€ euro eur"),),
    "sterling": (("1", "£ gbp"), ("0.01", "penny pence")),
    "yen": (("1", "¥ yen"),),
    "rupee": (("1", "₹ rupee rs inr"),),
    "angle": (("1", "degree deg °"),),
    "angle in radians": (("1", "radian rad"),),
    "celsius": (("1", "°c °celsius celsius"),),
    "fahrenheit": (("1", "°f °fahrenheit fahrenheit"),),
}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_POWERED = re.compile(r"(?:(?P<word>square|sq|cubic|cu)\.?\s+)?(?P<name>.+?)\s*(?:\^\s*\{?(?P<power>[23])\}?)?")
_RATE = re.compile(r"\s*/\s*|\s+per\s+|\s+an?\s+")
_DEGREES = re.compile(r"\^\s*\{?\s*\\circ\s*\}?\s*|degrees?\s+(?=[cf])")
_PER_HOUR = {"mph": "mile/hour", "kmh": "km/hour", "kph": "km/hour"}


_UNITS = {
    name: Unit(dimension, Fraction(factor))
    for dimension, rows in _TABLE.items()
    for factor, names in rows
    for name in names.split()
}


@functools.lru_cache(maxsize=1024)
def find_unit(text: str) -> Unit | None:
    """Return the unit that the text names (`cm`, `square feet`, `km/h`, `inches^2`), or None for any other word."""
    if text.strip() == "M":  # a million rather than metres
        return None
    name = _DEGREES.sub("°", text.strip(" .").casefold())
    parts = _RATE.split(_PER_HOUR.get(name, name))
    units = [_simple(part) for part in parts]
    first, *rest = units
    if first is None or len(rest) > 1 or None in rest:
        return None
    for unit in filter(None, rest):
        first = Unit(f"{first.dimension} per {unit.dimension}", first.factor / unit.factor)
    return first


def _simple(text: str) -> Unit | None:
    match = _POWERED.fullmatch(text)
    unit = _singular(match["name"]) if match else _singular(text)
    if match is None or unit is None:
        return unit
    power = int(match["power"] or _POWERS.get(match["word"] or "", 1))
    return Unit(f"{unit.dimension}^{power}" if power > 1 else unit.dimension, unit.factor**power)


def _singular(name: str) -> Unit | None:
    for ending in ("", "s", "es"):
        if name.endswith(ending) and (unit := _UNITS.get(name.removesuffix(ending))):
            return unit
    return None
