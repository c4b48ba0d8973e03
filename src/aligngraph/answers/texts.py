"""Normal forms of answers that are no mathematics: words, code and JSON."""

import itertools
import json
import re
import textwrap
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal
from typing import NoReturn

from aligngraph.answers.typography import CHARACTERS

_QUOTES = " \"'`"
_STOPS = ".,;:?" + _QUOTES
_PAIRS = {"*": "*", "(": ")", "[": "]"}
_MAX_LAYERS = 4  # of brackets and quotation marks around words
_STRAY = re.compile(r"[.,;:!?]+\s+")
_FACTORIAL = re.compile(r"(?:(?<!\w)\w|\d|\))!+$")
_RATIO = re.compile(r"(?<=\d) ?: ?(?=\d)")


def words_key(answer: str) -> str:
    """Return the words without differences in case, Unicode form, typography, white space and surrounding punctuation.

    Signs that carry meaning stay: `<5`, `(0, 1)`, `!x`, `n!`, `__init__`, `vector<int>`.
    """
    text = unicodedata.normalize("NFKC", answer.translate(CHARACTERS)).translate(CHARACTERS).casefold()
    text = _RATIO.sub(":", " ".join(text.split()))
    return _bare(text) or text


def _bare(text: str) -> str:
    for _ in range(_MAX_LAYERS):
        stray = _STRAY.match(text)
        text = text[stray.end() if stray else 0 :].strip(_QUOTES).rstrip(_STOPS)
        if text.endswith("!") and not _FACTORIAL.search(text):
            text = text.rstrip(_STOPS + "!")
        if _is_enclosed(text):
            text = text[1:-1]
    return text


def _is_enclosed(text: str) -> bool:
    """Return whether one pair of brackets or asterisks encloses words: around numbers and symbols they carry meaning."""
    closing = _PAIRS.get(text[:1])
    inner = text[1:-1]
    if closing is None or not inner.strip("*") or text[-1] != closing or {text[0], closing} & set(inner.strip("*")):
        return False
    return closing == "*" or (len(inner) > 1 and inner[:2].isalpha() and not re.search(r"\d", inner))


def code_key(answer: str) -> str:
    """Return the code without common indentation, white space at the ends of lines, and empty lines around it."""
    lines = textwrap.dedent(answer.expandtabs(4)).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def json_key(answer: str) -> Hashable:
    """Return a key that equal JSON values share: no order of names in objects, `1` and `1.0` are one number."""
    try:
        return _frozen(json.loads(answer, parse_float=Decimal, parse_constant=_refuse))
    except (ValueError, RecursionError):  # not JSON, an integer of thousands of digits, or a hostile depth
        return words_key(answer)


def _frozen(value: object) -> Hashable:
    if isinstance(value, dict):
        return ("object", frozenset((name, _frozen(member)) for name, member in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(_frozen, value)))
    return (
        "number" if isinstance(value, int | Decimal) and not isinstance(value, bool) else type(value).__name__,
        value,
    )


def first_json(text: str) -> str | None:
    """Return the first complete JSON object or array in the text, in canonical form, or None."""
    return next(_json_values(_spans(text)), None)


def last_json(text: str) -> str | None:
    """Return the last complete JSON object or array in the text, in canonical form, or None."""
    return next(_json_values(reversed(_spans(text))), None)


def _json_values(spans: Iterable[str]) -> Iterator[str]:
    return (value for span in spans if (value := canonical_json(span)) is not None)


def canonical_json(text: str) -> str | None:
    """Return the JSON value that the whole text is, with sorted names, or None."""
    try:
        return json.dumps(json.loads(text, parse_constant=_refuse), sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _spans(text: str) -> list[str]:
    """Return the outermost bracketed passages; a bracket that never closes is passed over. Every character is read once."""
    spans: list[slice] = []
    last_quote = max((quote.end() for quote in _CLOSING_QUOTE.finditer(text)), default=0)
    opening = _OPENING.search(text)
    while opening:
        closed = _closed(text, opening.start(), last_quote)
        spans += closed
        is_whole = bool(closed) and closed[-1].start == opening.start()
        opening = _OPENING.search(text, closed[-1].stop) if is_whole else None
    return [text[span] for span in spans]


_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{}\[\]]")
_CLOSING_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*+"')  # no string that begins behind the last one has an end
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)


def _closed(text: str, start: int, last_quote: int) -> list[slice]:
    """Return the passage that begins at `start` or, where that never closes, the outermost ones that do behind it."""
    opened: list[int] = []
    closed: list[slice] = []
    quoted = _TOKEN.finditer(text, start, max(start, last_quote))
    for token in itertools.chain(quoted, _BRACKET.finditer(text, max(start, last_quote))):
        if token[0] in {"{", "["}:
            opened.append(token.start())
        elif token[0] in {"}", "]"}:
            begin = opened.pop()
            while closed and closed[-1].start > begin:
                closed.pop()
            closed.append(slice(begin, token.end()))
            if not opened:
                break
    return closed
