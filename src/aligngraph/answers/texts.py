"""Normal forms of answers that are no mathematics: words, code and JSON."""

import json
import re
import textwrap
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal
from typing import NoReturn

_MARKS = " \t\n.,;:!?\"'`*_()[]<>\u201c\u201d\u2018\u2019"
_MAX_SPANS = 20  # opening brackets that are tried in a text without one complete JSON value


def words_key(answer: str) -> str:
    """Return the words without differences in case, Unicode form, white space and surrounding punctuation."""
    text = " ".join(unicodedata.normalize("NFKC", answer).casefold().split())
    return text.strip(_MARKS) or text


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
    """Return the outermost bracketed passages; a bracket that never closes is passed over."""
    spans, position = [], 0
    for _ in range(_MAX_SPANS + text.count("}") + text.count("]")):
        start = _OPENING.search(text, position)
        if start is None:
            break
        end = _closing(text, start.start())
        spans += [text[start.start() : end]] if end else []
        position = end or start.end()
    return spans


_OPENING = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return None
