"""Where a mathematical text divides: at separators outside of all brackets, and between words and mathematics."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_LIST = re.compile(r"\s*(?:;|(?<!\d),|,(?!\d{3}(?!\d)))\s*(?:(?:and|or)\b)?|\s+(?:and|or)\s+")
_COMMA = re.compile(r"[,;]")
_UNION = re.compile(r"\\cup(?![a-z])")
_RELATION = re.compile(r"\\(?:le|ge|in|approx|lt|gt)(?![a-z])|[<>]|(?<![!:])=")
_FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "log",
        "ln",
        "exp",
        "sqrt",
        "pi",
        "mod",
        "max",
        "min",
        "lim",
        "gcd",
        "lcm",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "abs",
        "deg",
        "det",
        "infty",
        "infinity",
        "choose",
        "theta",
        "alpha",
        "beta",
    ]
)
_SHORT_WORDS = frozenset(
    [
        "is",
        "of",
        "to",
        "in",
        "it",
        "he",
        "we",
        "at",
        "by",
        "on",
        "as",
        "an",
        "be",
        "no",
        "so",
        "do",
        "if",
        "am",
        "pm",
        "us",
        "cm",
        "mm",
        "km",
        "kg",
        "ft",
        "lb",
        "oz",
        "hr",
        "ml",
    ]
)
_COMMAND = re.compile(r"\\(?:begin|end)\{\w+\}|\\[a-zA-Z]+")
_WORD = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True)
class Relation:
    """`operands[0] operators[0] operands[1] ...`."""

    operands: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Bracketed:
    """A text that one pair of brackets encloses."""

    opening: str
    inner: str
    closing: str


def nesting(text: str) -> int:
    """Return how deep the brackets of the text are nested."""
    return max(_depths(text), default=0)


def is_wordy(text: str) -> bool:
    """Return whether the text holds a word of ordinary language, which is no mathematics."""
    words = (word.casefold() for word in _WORD.findall(_COMMAND.sub(" ", text)))
    return any(word not in _FUNCTIONS and (len(word) > 2 or word in _SHORT_WORDS) for word in words)  # noqa: PLR2004


def split_list(text: str) -> list[str]:
    """Return the members of an enumeration (`19, 46, and 82`); the comma of `1,234` belongs to the number."""
    return [part for part in _split(text, _LIST).operands if part]


def split_commas(text: str) -> list[str]:
    """Return the parts between commas or semicolons, as inside brackets."""
    return list(_split(text, _COMMA).operands)


def split_union(text: str) -> list[str]:
    r"""Return the parts between `\\cup`."""
    return list(_split(text, _UNION).operands)


def split_relation(text: str) -> Relation:
    """Return the two or more sides of an equation or inequality, or the whole text as only operand."""
    return _split(text, _RELATION)


def bracketed(text: str) -> Bracketed | None:
    """Return the inside of the one pair of brackets that encloses the whole text, or None."""
    opening = text[:2] if text.startswith("\\{") else text[:1]
    closing = text[-2:] if text.endswith("\\}") else text[-1:]
    inner = text[len(opening) : len(text) - len(closing)]
    if opening not in {"(", "[", "\\{", "{"} or closing not in {")", "]", "\\}", "}"} or len(text) < 2:  # noqa: PLR2004
        return None
    return Bracketed(opening, inner.strip(), closing) if min(_depths(inner), default=0) >= 0 else None


def _depths(text: str) -> Iterator[int]:
    depth = 0
    for character in text:
        depth += _BRACKETS.get(character, 0)
        yield depth


def _split(text: str, separator: re.Pattern[str]) -> Relation:
    depths = list(_depths(text))
    if depths and (min(depths) < 0 or depths[-1]):
        return Relation((text.strip(),), ())
    matches = [match for match in separator.finditer(text) if depths[match.start()] == 0]
    starts = [0, *(match.end() for match in matches)]
    ends = [*(match.start() for match in matches), len(text)]
    operands = tuple(text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return Relation(operands, tuple(match[0].strip() for match in matches))
