"""Numbers in sentences: `The total is 72 clips, altogether.` says 72; a sentence with several numbers says none of them."""

import re
from dataclasses import dataclass

from aligngraph.answers.numbers import Number, Percent, Quantity, read_quantity
from aligngraph.answers.splitting import is_wordy
from aligngraph.answers.units import Unit, find_unit

_STATEMENT = re.compile(
    r".*\b(?:is|are|was|were|be|equals?|answer|result|total|makes|gives)\b\s*[:=]?\s*"
    r"(?:(?:about|approximately|roughly|exactly|only|just|equal to|now|then)\s+)*"
    r"(?=[-+\d.$(\[{\\\u20ac\u00a3]|[A-Za-z](?![A-Za-z]|\s+[A-Za-z]{2}))",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,^\\{}/-])-?[$\u20ac\u00a3]?-?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?\s?%?(?![\w^\\{}/]|[.,:]\d)"
)
_OPERATIONS = r"plus|minus|times|over|divided|squared|cubed|root|half|twice|doubled?|tripled?|every|each"
_DENIALS = (
    r"not|no|nor|never|neither|none|cannot|\w+n't|unable|unknown|unclear|undetermined|undefined|uncertain|unsure|wrong|incorrect"
    r"|impossible|invalid|insufficient|false|mistaken|guess\w*|maybe|perhaps|possibly|might|sorry|errors?(?=\W*\d)"
)
_SCALES = (
    r"dozens?|tens|hundreds|thousands|lakhs|millions|crores|billions|trillions|halves|thirds|fourths|fifths|sixths|sevenths|eighths"
    r"|ninths|tenths|hundredths|thousandths|millionths"
)
_HOURS = r"noon|midnight|in the (?:morning|afternoon|evening)"
_NEGATIVE = r"negative|below (?:zero|freezing|sea level)|(?:loss|losses|deficit|debt) of|loss$|in debt|overdrawn"
_BOUNDS = r"at (?:least|most)|up to|or|than|under|above|below|beyond|within|minimum of|maximum of|exceed\w*"
_DOWNWARDS = (
    r"decreas\w+|less|fewer|younger|shorter|lower|slower|smaller|lighter|cheaper|earlier|worse|declined?|reduc\w+|behind"
    r"|drop(?:s|ped)?|fell|fall(?:s|en)?"
)
_DATES = r"january|february|march|april|may|june|july|august|september|october|november|december|\w+day"


def _words(*classes: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(classes)})\b|(?:\d\s*|^)[ap]\.?m\b", re.IGNORECASE)


# What is gained, increased or older is the number by itself; only the other direction is told from it.
_UNCLEAR = _words(_OPERATIONS, _DENIALS, _SCALES, _HOURS, _NEGATIVE, _BOUNDS, _DOWNWARDS, _DATES)
_OTHER_VALUE = _words(_SCALES, _HOURS, _NEGATIVE)
_DENIED = re.compile(rf"\b(?:{_DENIALS})\b", re.IGNORECASE)
_CHANGES = _words(_SCALES, _HOURS, _NEGATIVE, "mod|modulo|base")
_REMARKED = re.compile(r"(?P<value>[^()\s]++(?: [^()\s]++)*+)\s*\((?P<remark>[^()]+)\)[.*_]*")
_NOT_ANOTHER = re.compile(r"\bnot (?=-?[$\u20ac\u00a3]?\d)", re.IGNORECASE)
_SYMBOLS = re.compile(r"[=+^*\\<>|]|\w\(")
_NAMED = re.compile(
    r"(?!total|answer|result|about|approximately|roughly|exactly|only|just|around)[A-Za-z]+\s", re.IGNORECASE
)
_TAIL = re.compile(
    r"(?P<value>(?:\\[a-zA-Z]+|[^A-Za-z\\]|(?<![A-Za-z])[A-Za-z](?![A-Za-z]))+?)\s+"
    r"(?P<words>(?:square |cubic |sq\.? |cu\.? )?[A-Za-z][A-Za-z ,'-]*(?:/[a-z]+)?(?:\s*\^\{?[23]\}?)?)"
)


@dataclass(frozen=True)
class WithUnit:
    """What stands before the words at the end of a text, and the unit that the words are, if it is known."""

    value: str
    unit: Unit | None


def statement(text: str) -> str | None:
    """Return what a sentence says something to be (`The answer is 5` says `5`), or None where it says nothing so plainly."""
    match = _STATEMENT.match(text)
    return text[match.end() :] if match and match.end() else None


def is_denied(text: str) -> bool:
    """Return whether the text says that something is not so, or that it is not known."""
    return bool(_DENIED.search(text))


def is_other_value(text: str) -> bool:
    """Return whether the text says that a number stands for another one: `2 dozen`, `5 below zero`, `5 pm`."""
    return bool(_OTHER_VALUE.search(text))


def without_remark(text: str) -> str | None:
    """Return the number that stands before a remark in brackets (`7 (3 red and 4 green)`, `42 (not 41)`), or None.

    A remark that takes the number back, or makes another one of it, is none.
    """
    match = _REMARKED.fullmatch(text)
    if match is None or not is_wordy(match["remark"]) or not read_quantity(match["value"]):
        return None
    remark = _NOT_ANOTHER.sub("", match["remark"])
    return None if _DENIED.search(remark) or _CHANGES.search(remark) else match["value"]


def unit_of(text: str) -> WithUnit | None:
    r"""Return value and unit of mathematics that ends in words (`12\pi square feet`, `\sqrt{2} apples`), or None."""
    match = _TAIL.fullmatch(text)
    if (
        match is None
        or is_wordy(match["value"])
        or _UNCLEAR.search(match["words"])
        or not re.search(r"[\d\\]", match["value"])
    ):
        return None
    unit = find_unit(match["words"])
    return WithUnit(match["value"].strip(), unit) if unit or is_wordy(match["words"].split()[0]) else None


def read_prose(text: str) -> Number | Percent | Quantity | None:
    """Return the only number of a sentence, with its unit, or None where it has several or says what is done to it."""
    is_plain = is_wordy(text) and not _UNCLEAR.search(text) and not _SYMBOLS.search(text)
    numbers = list(_NUMBER.finditer(text)) if is_plain else []
    if len(numbers) != 1 or re.search(r"\d", text[: numbers[0].start()] + text[numbers[0].end() :]):
        return None
    if _NAMED.fullmatch(text[: numbers[0].start()]):  # `Room 5` is no number
        return None
    number, words = numbers[0][0], text[numbers[0].end() :].split()
    tails = (" ".join([number, *words[:count]]).strip(".,;") for count in range(min(3, len(words)), -1, -1))
    return next((quantity for tail in tails if (quantity := read_quantity(tail))), None)
