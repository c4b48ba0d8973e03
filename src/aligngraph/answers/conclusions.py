r"""What the end of a text concludes where nothing is declared.

That is `So she needs 12 eggs.`, `Total = $64` or `Hence $x = 5$.` Only the last sentence counts, only if it is complete, and only if it is a conclusion by its first words; a text that stops in the
middle of its reasoning concludes nothing.
"""

import re

from aligngraph.answers.notation import plain
from aligngraph.answers.numbers import read_quantity
from aligngraph.answers.structure import read_math
from aligngraph.answers.tree import Opaque

_SENTENCE = re.compile(r"(?<=[.!?])[*_`]*\s+(?=[A-Z*\\(])|\n+")
_CONCLUDES = re.compile(
    r"[\s*_>#`-]*(?:\d{1,2}[.)]\s+)?(?:so|therefore|thus|hence|altogether|overall|finally|in total|in conclusion|as a result"
    r"|consequently|the (?:total|final|result|sum))\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.,^])-?[$\u20ac\u00a3]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?![\w^]|[.,:/]\d)")
_TOTAL = re.compile(
    r"[\s*_>#`\\$\[({-]*(?:text\{)?(?:the )?(?:total|final|result|altogether)\b[^=\n]*=(?:[^=\n]*=)*(?P<value>[^=\n]+)",
    re.IGNORECASE,
)
_MATHS = re.compile(r"(?<![\\$])\$(?P<dollars>[^$\n]+)\$|\\\((?P<round>.+?)\\\)")
_END = re.compile(r"[.!][*_`\s]*$")
_CLOSING = " \n.!\\])*$_`"  # what ends a line that was written to its end
_WINDOW = 2_000  # characters at the end of a text that may hold its last sentence


def last_number(statement: str) -> str | None:
    """Return the statement if it is a number or mathematics as a whole, else the last number in it, or None."""
    if not isinstance(read_math(statement), Opaque) and not statement.endswith("="):
        return statement
    numbers = _NUMBER.findall(plain(statement.rpartition("=")[2])) or _NUMBER.findall(plain(statement))
    return numbers[-1].rstrip(",") if numbers else None


def concluded_number(text: str) -> str | None:
    """Return the number of the concluding sentence, or None where the text ends without conclusion."""
    sentence = _last_sentence(text)
    total = _TOTAL.fullmatch(sentence)
    value = total["value"].strip(_CLOSING) if total and text.endswith(tuple(_CLOSING)) else ""
    if read_quantity(value):
        return value
    return _number_of(sentence) if _is_conclusion(sentence) else None


def concluded_math(text: str) -> str | None:
    r"""Return the mathematics of the concluding sentence (`Hence the area is $12\pi$.`), else its number, or None."""
    sentence = _last_sentence(text)
    matches = list(_MATHS.finditer(sentence)) if _is_conclusion(sentence) else []
    if not matches:
        return concluded_number(text)
    return (matches[-1]["dollars"] or matches[-1]["round"]).strip()


def _is_conclusion(sentence: str) -> bool:
    return bool(_CONCLUDES.match(sentence) and _END.search(sentence))


def _number_of(sentence: str) -> str | None:
    numbers = _NUMBER.findall(plain(sentence.rpartition("=")[2]))
    return numbers[-1].rstrip(",") if numbers and read_quantity(numbers[-1].rstrip(",")) else None


def _last_sentence(text: str) -> str:
    sentences = [sentence.strip() for sentence in _SENTENCE.split(text[-_WINDOW:]) if sentence.strip(" \n\\]$`*")]
    return sentences[-1] if sentences else ""
