"""What kind of answer a task asks for, guessed from its text."""

import re
from typing import Literal

from aligngraph.answers.choices import find_options

AnswerKind = Literal["number", "math", "choice", "text", "code", "json"]

_OPTIONS = re.compile(r"(?:^|\s|[,;?{])[*_]*(?:\(A\)|A\)|\[A\])|^[ \t>*_-]*A[*_]*[.:]", re.MULTILINE)
_CODE = re.compile(
    r"\b(?:write|implement|complete|define|create|provide|generate|fix|refactor|give me|return)\b[^.?!\n]{0,60}"
    r"\b(?:(?:function|method|program|script|code|snippet|query|queries|regex|regular expression|unit tests?|decorator)\b"
    r"|class(?: (?:named|called|that|which|with|for|to|in)\b| `?(?-i:[A-Z])|\s*[`.,:(]|\s*$))"
    r"|^\s*def \w+\(.*\).*:\s*\n\s*(?:\"\"\"|''')",
    re.IGNORECASE | re.MULTILINE,
)
_JSON = re.compile(
    r"\b(?:(?:as|in|into|only) (?:an? )?(?:valid |single )?|(?:answer|convert|create|extract|format|generate|give|output|print|produce"
    r"|provide|reply|respond|return|serialize|write)\b[^.?!\n]{0,60}\b)JSON\b(?! string\b.*\?)",
    re.IGNORECASE,
)
_LATEX = re.compile(
    r"\\(?:[dt]?frac|sqrt|begin|cdot|times|le|ge|pi|text|left|sum|int|lim|log|sin|cos|tan|in|cup|angle|circ|boxed|[(\[])"
    r"|(?<![\\$\w])\$(?:[^\s$]|(?=[^\s$])[^$\n]*[^\s$\d])\$(?!\d)"
)
_MATH = re.compile(
    r"\b(?:equations?|solve for|simplify|factor(?:ise|ize)?|integral|derivative|differentiate|polynomial|in terms of|matrix"
    r"|interval notation|roots? of)\b|\b[a-z]\^\d|(?<![\w'])\d*[xyz]\s*[-+=]\s*\d",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:how (?:many|much|old|far|long|tall|fast|often|big|heavy|high)"
    r"|what (?:is|was|are|will be) the (?:\w+ ){0,3}(?:number|total|sum|product|difference|quotient|average|mean|median|probability"
    r"|percent(?:age)?|cost|price|profit|speed|distance|area|volume|perimeter|remainder|value|age|weight|height|length)"
    r"|calculate|compute|what percent(?:age)?|in (?:total|all)\?|as an integer)\b",
    re.IGNORECASE,
)
_ARITHMETIC = re.compile(  # a hyphen or slash without spaces may belong to a date
    r"\d\s*[*\u00d7\u00f7+]\s*\(?-?\d|\d\s+[-\u2212/]\s+\(?\d|\d\s*%\s*of\b|\d\s+(?:plus|minus|times|divided by)\s+-?\d"
)


def guess_kind(task: str) -> AnswerKind:
    """Return the kind of answer that the task seems to ask for; `text` where nothing tells.

    Parts of a question that are lettered (a), (b) are no options: those are capitals.
    """
    if _OPTIONS.search(task) and find_options(task):
        return "choice"
    if _CODE.search(task) and not _LATEX.search(task):
        return "code"
    if _JSON.search(task):
        return "json"
    if _LATEX.search(task) or _MATH.search(task):
        return "math"
    return "number" if _NUMBER.search(task) or _ARITHMETIC.search(task) else "text"
