"""The final answer that a candidate's text states, or None."""

import re

MAX_CHARACTERS = 500
_DECLARED = re.compile(
    r"[\s>#-]*(?:\*\s+)?"
    r"(?P<keyword>[*_`]*(?:the[\s*_`]+)?(?:final[\s*_`]+)?answer[\s*_`]*(?:is[\s*_`]*)?[:=])\s*+(?P<answer>\S.*)",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"(?<![^\W_])(?P<keyword>[*_`]{0,3}(?:the|my|our)[\s*_`]+(?:(?:final|correct)[\s*_`]+)?answer[\s*_`]+is(?![^\W_]|'))"
    r"[\s:]*+(?P<answer>\S.*)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=[*_`]*(?:\s+[A-Z]|\s*$))")
_EMPHASIS = ("**", "__", "*", "_", "`")  # what is inside backticks is code, and stays as it is
_BOX = "\\boxed{"


def extract_answer(text: str) -> str | None:
    r"""Return the answer that `text` declares, or None where it declares none.

    In this order: the last line of the form `Answer: ...`, the last `\boxed{...}`, the last sentence of the form
    `The answer is ...`. A number that merely occurs in the reasoning is never an answer, nor is anything of more than
    MAX_CHARACTERS. The time is linear in the length of `text`, whatever it holds.
    """
    return _declared(text) or _boxed(text) or _stated(text)


def _declared(text: str) -> str | None:
    matches = filter(None, map(_DECLARED.match, reversed(text.splitlines())))
    return next(filter(None, (_clean(match["answer"], match["keyword"]) for match in matches)), None)


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
        answer = _boxed(answer) or answer
    answer = _without_emphasis(answer.strip().removesuffix("."), keyword)
    answer = answer.strip().removesuffix(".").strip("\"' ").removesuffix(".").strip()
    if answer.startswith("<") and answer.endswith(">"):  # a model that keeps the brackets of the prompt's form
        answer = answer[1:-1].strip()
    if len(answer) > 1 and answer.startswith("$") and answer.endswith("$"):
        answer = answer.strip("$").strip()
    return answer if 0 < len(answer) <= MAX_CHARACTERS else None


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
