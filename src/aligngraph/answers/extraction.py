"""The final answer that a candidate's text states, or None."""

import re

_EMPHASIS = re.compile(r"[*_`]+")
_DECLARED = re.compile(
    r"^[\s>#-]*(?:the\s+)?(?:final\s+)?answer\s*(?:is)?\s*[:=]\s*(?P<answer>\S.*?)\s*$", re.IGNORECASE
)
_STATED = re.compile(r"\b(?:the|my|our)\s+(?:final\s+|correct\s+)?answer\s+is\s*:?\s*(?P<answer>[^\n]+)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z]|\s*$)")
_BOX = "\\boxed{"


def extract_answer(text: str) -> str | None:
    r"""Return the answer that `text` declares, or None where it declares none.

    In this order: the last line of the form `Answer: ...`, the last `\boxed{...}`, the last sentence of the form
    `The answer is ...`. A number that merely occurs in the reasoning is never an answer.
    """
    plain = _EMPHASIS.sub("", text)
    return _declared(plain) or _boxed(text) or _stated(plain)


def _declared(text: str) -> str | None:
    matches = [match for line in text.splitlines() if (match := _DECLARED.match(line))]
    return _clean(matches[-1]["answer"]) if matches else None


def _stated(text: str) -> str | None:
    matches = list(_STATED.finditer(text))
    return _clean(_SENTENCE_END.split(matches[-1]["answer"])[0]) if matches else None


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


def _clean(answer: str) -> str | None:
    """Return the answer without box, dollar-sign maths delimiters, angle brackets, quotes and closing full stop."""
    if _BOX in answer:
        answer = _boxed(answer) or answer
    answer = answer.strip().removesuffix(".").strip("\"' ").removesuffix(".").strip()
    if answer.startswith("<") and answer.endswith(">"):  # a model that keeps the brackets of the prompt's form
        answer = answer[1:-1].strip()
    if len(answer) > 1 and answer.startswith("$") and answer.endswith("$"):
        answer = answer.strip("$").strip()
    return answer or None
