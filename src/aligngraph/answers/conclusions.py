r"""What the end of a text concludes where nothing is declared.

That is `So she needs 12 eggs.`, `Total = $64` or `Hence $x = 5$.` Only the last sentence counts, only if it is complete, and only
if it is a conclusion by its first words; a text that stops in the middle of its reasoning concludes nothing. Nor does one that
says what is not so, or two numbers without saying which is meant.
"""

import re

from aligngraph.answers.notation import plain
from aligngraph.answers.numbers import read_quantity
from aligngraph.answers.prose import is_denied, is_other_value, statement, without_remark
from aligngraph.answers.structure import read_math
from aligngraph.answers.tree import Opaque

_SENTENCE = re.compile(r"(?<=[.!?])[*_`]*\s+(?=[A-Z*\\(])|\n+")
_CONCLUDES = re.compile(
    r"[\s*_>#`-]*(?:\d{1,2}[.)]\s+)?(?:so|therefore|thus|hence|altogether|overall|finally|in total|in conclusion|as a result"
    r"|consequently|the (?:total|final|result|sum))\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.,^])-?[$\u20ac\u00a3]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?![\w^]|[.,:/]\d)")
_SPACED_NUMBERS = re.compile(r"-?[\d.,]+(?:\s+-?[\d.,]+)+")
_HENCE = re.compile(r".*(?:=|\b(?:so|hence|thus|therefore|i\.e\.))", re.IGNORECASE | re.DOTALL)
_TOTAL = re.compile(
    r"[\s*_>#`\\$\[({-]*(?:text\{)?(?:the )?(?:total|final|result|altogether)\b[^=\n]*=(?:[^=\n]*=)*(?P<value>[^=\n]+)",
    re.IGNORECASE,
)
_EQUATION = re.compile(r"[\s>*_`$\\(\[-]*\d[^=\nA-Za-z]*=(?:[^=\nA-Za-z]*=)*(?P<value>[^=\n]+)")  # `6 * 7 = 42`
_MATHS = re.compile(r"(?<![\\$])\$(?P<dollars>[^$\n]+)\$|\\\((?P<round>.+?)\\\)")
_END = re.compile(r"[.!][*_`\s]*$")
_CLOSING = " \n.!\\])*$_`"  # what ends a line that was written to its end
_WINDOW = 2_000  # characters at the end of a text that may hold its last sentence


def last_number(declared: str) -> str | None:
    """Return what is declared if it is a number or mathematics as a whole, else the number that it holds, or None.

    A remark in brackets behind a number is left out. None is what it says to be not so, or not known. A number that its words make another one stays with them: `2 dozen`.
    """
    if value := without_remark(declared):
        return value
    if not isinstance(read_math(declared), Opaque) and not declared.endswith("="):
        return declared
    if _SPACED_NUMBERS.fullmatch(declared):
        return declared.rsplit(maxsplit=1)[-1]
    number = _number_of(declared)
    return declared if number and is_other_value(declared) else number


def concluded_number(text: str) -> str | None:
    """Return the number of the concluding sentence, or None where the text ends without conclusion."""
    sentence = _last_sentence(text)
    total = _TOTAL.fullmatch(sentence) or _EQUATION.fullmatch(sentence)
    value = total["value"].strip(_CLOSING) if total and text.endswith(tuple(_CLOSING)) else ""
    if read_quantity(value):
        return value
    number = _number_of(sentence) if _is_conclusion(sentence) else None
    return None if is_other_value(sentence) else number


def concluded_math(text: str) -> str | None:
    r"""Return the mathematics of the concluding sentence (`Hence the area is $12\pi$.`), else its number, or None."""
    sentence = _last_sentence(text)
    matches = list(_MATHS.finditer(sentence)) if _is_conclusion(sentence) else []
    if not matches or is_denied(sentence):
        return concluded_number(text)
    return (matches[-1]["dollars"] or matches[-1]["round"]).strip()


def _is_conclusion(sentence: str) -> bool:
    return bool(_CONCLUDES.match(sentence) and _END.search(sentence))


def _number_of(sentence: str) -> str | None:
    """Return the only number of the sentence, of what follows its last `=` or `hence`, or of what it says something to be."""
    if is_denied(sentence):
        return None
    text = plain(sentence)
    parts = (text, _HENCE.sub("", text, count=1), statement(text) or "")
    return next((number for part in parts if (number := _only_number(part))), None)


def _only_number(text: str) -> str | None:
    number = _NUMBER.search(text)
    if number is None or re.search(r"\d", text[: number.start()] + text[number.end() :]):
        return None
    return number[0].rstrip(",") if read_quantity(number[0].rstrip(",")) else None


def _last_sentence(text: str) -> str:
    sentences = [sentence.strip() for sentence in _SENTENCE.split(text[-_WINDOW:]) if sentence.strip(" \n\\]$`*")]
    return sentences[-1] if sentences else ""
