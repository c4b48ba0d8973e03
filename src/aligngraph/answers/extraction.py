"""The final answer that a candidate's text states, or None."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from aligngraph.answers.choices import Choice, chosen_letter, stated_letter
from aligngraph.answers.conclusions import concluded_math, concluded_number, last_number
from aligngraph.answers.kinds import AnswerKind
from aligngraph.answers.texts import canonical_json, first_json, last_json

MAX_CHARACTERS = 500
MAX_DOCUMENT_CHARACTERS = 50_000  # of code and JSON
MAX_TEXT_CHARACTERS = 250_000  # at the end of a text that are looked at
_DECLARED = re.compile(
    r"[\s>#-]*(?:\*\s+)?(?:\d{1,2}[.)]\s+)?"
    r"(?P<keyword>[*_`]*(?:the[\s*_`]+)?(?:final[\s*_`]+)?answer[\s*_`]*(?:is[\s*_`]*)?[:=])\s*+(?P<answer>\S.*)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"[.!?][\"')]*\s(?P<keyword>(?:final\s)?answer:)\s*+(?P<answer>\S.*)", re.IGNORECASE)
_HEADING = re.compile(r"(?:\d{1,2}[.)]\s*[*_]*)?(?:the )?(?:final )?answer(?: is)?", re.IGNORECASE)
_HEADING_MARKS = " \t\r\n>#*_`-:="
_HASHES = re.compile(r"####\s*+(?P<answer>[^#\s].*)")
_FIELD = re.compile(r'"(?:final[_ ]?)?answer"\s*:\s*("(?:[^"\\\n]|\\.)*"|[-\d.]+)', re.IGNORECASE)
_STATED = re.compile(
    r"(?<![^\W_])(?P<keyword>[*_`]{0,3}(?:the|my|our)[\s*_`]+(?:(?:final|correct)[\s*_`]+)?answer[\s*_`]+is(?![^\W_]|'))"
    r"[\s:]*+(?P<answer>\S.*)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=[*_`]*(?:\s+[A-Z]|\s*$))")
_FENCE = re.compile(r"^[ \t]*```(?P<info>[^\n`]*)(?:\n|\Z)", re.MULTILINE)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_EMPHASIS = ("**", "__", "*", "_", "`")  # what is inside backticks is code, and stays as it is
_OPENERS = frozenset(("\\", "\\[", "\\(", "$", "$$", "[", "(", "{"))  # of what the text broke off
_BOX = "\\boxed{"


@dataclass(frozen=True)
class _Found:
    """An answer, and how many characters stand before the line or field that declares it."""

    position: int
    answer: str


def extract_answer(text: str, kind: AnswerKind = "text", options: Sequence[Choice] = ()) -> str | None:
    r"""Return the answer that `text` states, or None where it states none of that kind.

    In this order: the last line of the form `Answer: ...` (or the field `"answer"` of a JSON object), the last `\boxed{...}`, the
    last sentence of the form `The answer is ...`; for numbers and mathematics then what the last paragraph concludes. A number
    that merely occurs in the reasoning is never an answer, nor is anything of more than MAX_CHARACTERS. Code is the last
    fenced block, JSON the last complete value. The time is linear in the length of `text`, whatever it holds, and no more
    than its last MAX_TEXT_CHARACTERS are looked at.
    """
    return _EXTRACTORS[kind](text[-MAX_TEXT_CHARACTERS:], options)


def declared_answer(text: str) -> str | None:
    """Return what the last line of the form `Answer: ...` or the last box holds, whatever kind it is of."""
    end = text[-MAX_TEXT_CHARACTERS:]
    return _declared(end) or _boxed(end)


def _text(text: str, options: Sequence[Choice]) -> str | None:
    del options
    return declared_answer(text) or _stated(text)


def _number(text: str, options: Sequence[Choice]) -> str | None:
    answer = _text(text, options)
    return (answer and last_number(answer)) or concluded_number(text)


def _math(text: str, options: Sequence[Choice]) -> str | None:
    return _text(text, options) or concluded_math(text)


def _choice(text: str, options: Sequence[Choice]) -> str | None:
    """Return the letter of the option, or what the text declares where that is none of the options."""
    answer = _text(text, options)
    if answer is None:
        return stated_letter(text, options)
    return chosen_letter(answer, options) or answer


def _code(text: str, options: Sequence[Choice]) -> str | None:
    del options
    declaration = _declaration(text)
    rest = text[declaration.position :] if declaration else ""
    blocks = _fenced(rest)[:1] or _fenced(text)[-1:]
    if blocks:
        code = blocks[0]
    elif declaration:
        code = rest[rest.find(declaration.answer) :]
    else:
        code = ""
    return code.strip("\n") if code.strip() and len(code) <= MAX_DOCUMENT_CHARACTERS else None


def _fenced(text: str) -> list[str]:
    """Return what stands in the fenced blocks that are closed; a fence that names a language closes none."""
    blocks, opened = [], None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif not fence["info"].strip():
            blocks.append(text[opened.end() : fence.start()])
            opened = None
    return blocks


def _json(text: str, options: Sequence[Choice]) -> str | None:
    del options
    declaration = _declaration(text)
    declared = text[declaration.position :] if declaration and not _FIELD.match(text, declaration.position) else ""
    line = re.split(r"[:=]", declared.partition("\n")[0], maxsplit=1)[-1]
    answer = canonical_json(line) or first_json(declared) or last_json(text)
    return answer if answer is None or len(answer) <= MAX_DOCUMENT_CHARACTERS else None


_EXTRACTORS: dict[AnswerKind, Callable[[str, Sequence[Choice]], str | None]] = {
    "number": _number,
    "math": _math,
    "choice": _choice,
    "text": _text,
    "code": _code,
    "json": _json,
}


def _declared(text: str) -> str | None:
    declaration = _declaration(text)
    return declaration.answer if declaration else None


def _declaration(text: str) -> _Found | None:
    """Return the last declaration; a line and a field are worth the same."""
    line = next(_declaring_lines(text), None)
    field = next(_declaring_fields(text), None)
    return max(filter(None, (line, field)), key=lambda found: found.position, default=None)


def _declaring_lines(text: str) -> Iterator[_Found]:
    """Yield what declaring lines say, the last one first; under a heading `Answer:` it is the next line."""
    position, below = len(text), ""
    for line in reversed(text.splitlines(keepends=True)):
        position -= len(line)
        match = _DECLARED.match(line) or _HASHES.match(line) or _INLINE.search(line)
        answer = _clean(match["answer"], match.groupdict().get("keyword", "")) if match else None
        is_heading = bool(_HEADING.fullmatch(line.strip(_HEADING_MARKS)))
        if answer is None and below and is_heading:
            answer = _clean(below)
        if answer:
            yield _Found(position, answer)
        if is_heading or _LETTER_OR_DIGIT.search(line):
            below = "" if is_heading else line


def _declaring_fields(text: str) -> Iterator[_Found]:
    for match in reversed(list(_FIELD.finditer(text))):
        try:
            answer = _clean(str(json.loads(match[1], strict=False)))
        except ValueError:
            answer = _clean(match[1].strip('"'))
        if answer:
            yield _Found(match.start(), answer)


def _stated(text: str) -> str | None:
    matches = list(_STATED.finditer(text))
    if not matches:
        return None
    sentence = matches[-1]["answer"]
    end = _SENTENCE_END.search(sentence)
    return _clean(sentence[: end.start()] if end else sentence, matches[-1]["keyword"])


def _boxed(text: str) -> str | None:
    start = text.rfind(_BOX)
    if start < 0:
        return None
    depth, begin = 1, start + len(_BOX)
    for position in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return _clean(text[begin:position])
    return None


def _clean(answer: str, keyword: str = "") -> str | None:
    """Return the answer without box, emphasis, dollar-sign maths delimiters, angle brackets, quotes and full stop."""
    if _BOX in answer:
        return _boxed(answer)
    answer = _without_emphasis(answer.strip().removesuffix("."), keyword)
    answer = answer.strip().removesuffix(".").strip("\"' ").removesuffix(".").strip()
    if answer.startswith("<") and answer.endswith(">"):  # a model that keeps the brackets of the prompt's form
        answer = answer[1:-1].strip()
    if len(answer) > 1 and answer.startswith("$") and answer.endswith("$"):
        answer = answer.strip("$").strip()
    return answer if 0 < len(answer) <= MAX_CHARACTERS and answer not in _OPENERS else None


def _without_emphasis(answer: str, keyword: str) -> str:
    """Return the answer without the emphasis that encloses it, and without the end of one that `keyword` began."""
    for mark in _EMPHASIS:
        if keyword.count(mark) % 2:
            closed = answer.removeprefix(mark)
            answer = (answer.removesuffix(mark) if closed == answer else closed).strip()
        inner = answer.removeprefix(mark).removesuffix(mark)
        if len(inner) == len(answer) - 2 * len(mark) and mark not in inner:
            answer = inner.strip()
    return answer.removesuffix("**") if answer.count("**") == 1 else answer
