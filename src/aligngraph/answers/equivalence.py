"""Which answers are one: identical strings, and plain numbers of equal value."""

import functools
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s*[$€£]?\s*"
    r"(?P<whole>\d{1,3}(?:,\d{3})+|\d+)?(?P<decimals>\.\d+|\.(?=$))?"
    r"(?:[eE](?P<exponent>[+-]?\d{1,3}))?"
    r"(?:\s*/\s*(?P<denominator>\d+))?"
)
_MINUS_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-"})
_MAX_DIGITS = 400  # longer strings of digits are compared as strings: parsing them costs quadratic time


@dataclass(frozen=True)
class AnswerClass:
    """Candidates that give one and the same answer.

    Attributes:
        answer: the answer as its first member wrote it.
        members: positions of the candidates in the sequence that was grouped, ascending.
    """

    answer: str
    members: tuple[int, ...]


def parse_number(answer: str) -> Fraction | None:
    """Return the exact value of a plain number (`1,000`, `$29.00`, `-3`, `1/2`, `1.5e3`), or None for anything else."""
    text = answer.strip().translate(_MINUS_SIGNS)
    match = _NUMBER.fullmatch(text) if len(text) <= _MAX_DIGITS else None
    if match is None or not (match["whole"] or (match["decimals"] or "").strip(".")):
        return None
    mantissa = f"{match['sign']}{(match['whole'] or '0').replace(',', '')}{(match['decimals'] or '').rstrip('.')}"
    denominator = int(match["denominator"] or 1)
    if denominator == 0:
        return None
    return Fraction(f"{mantissa}e{match['exponent'] or 0}") / denominator


@functools.lru_cache(maxsize=4096)  # one task asks for the keys of its few answers hundreds of times
def equivalence_key(answer: str) -> Hashable:
    """Return a key that two answers share if and only if they are one answer.

    Sharing a key is reflexive, symmetric and transitive, so that classes depend on no order.
    """
    number = parse_number(answer)
    return answer.strip() if number is None else number


def group_answers(answers: Sequence[str | None]) -> tuple[AnswerClass, ...]:
    """Return the classes of equal answers, in the order of their first members; None belongs to no class."""
    members: dict[Hashable, list[int]] = {}
    for position, answer in enumerate(answers):
        if answer is not None:
            members.setdefault(equivalence_key(answer), []).append(position)
    return tuple(AnswerClass(str(answers[group[0]]), tuple(group)) for group in members.values())
