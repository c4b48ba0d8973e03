"""Beginnings of solutions: reasoning that is cut off early, without whatever states the final answer."""

import re
from collections.abc import Iterable

from aligngraph.answers import AnswerForm
from aligngraph.ranking.contract import Option

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_FENCE = "```"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_NO_DECIMALS = re.compile(r"(?<=\d)\.0+\Z")


def begin(option: Option, share: float, form: AnswerForm) -> str:
    """Return the first `share` of the reasoning of `option`; empty where there is nothing to show.

    Reasoning is counted in lines, or in sentences where it is a single line, without those that declare a final answer
    and without those at its end that repeat it. A beginning never ends on the answer either.

    Args:
        option: whose solution it is.
        share: in [0, 1).
        form: what an answer to the task looks like.
    """
    stated = _pattern({option.answer, form.extract(option.solution) or option.answer})
    steps = _before(stated, _steps(_before_block(option), form))
    return "\n".join(_before(stated, steps[: int(share * len(steps) + 0.5)]))


def _before_block(option: Option) -> str:
    """Return what stands before an answer of several lines, such as a program; the whole solution for other answers."""
    before, found, _ = option.solution.rpartition(option.answer)
    return before if found and "\n" in option.answer else option.solution


def _steps(text: str, form: AnswerForm) -> list[str]:
    lines = [_undeclared(line, form) for line in text.splitlines()]
    steps = [line for line in lines if line.strip() and not line.lstrip().startswith(_FENCE)]
    return _SENTENCE_END.split(steps[0].strip()) if len(steps) == 1 else steps


def _undeclared(line: str, form: AnswerForm) -> str:
    """Return the line without the sentences that declare a final answer."""
    if form.extract(line) is None:
        return line
    return " ".join(sentence for sentence in _SENTENCE_END.split(line) if form.extract(sentence) is None)


def _before(stated: re.Pattern[str], steps: list[str]) -> list[str]:
    """Return the steps up to the last one that does not state the answer."""
    last = next((place for place in range(len(steps), 0, -1) if not stated.search(_plain(steps[place - 1]))), 0)
    return steps[:last]


def _pattern(answers: Iterable[str]) -> re.Pattern[str]:
    """Return what finds any of the answers as a word of its own; a single letter only in its own case."""
    written = sorted(_NO_DECIMALS.sub("", _plain(answer).strip()) for answer in answers)
    choices = "|".join(f"(?i:{re.escape(text)})" if len(text) > 1 else re.escape(text) for text in written)
    return re.compile(rf"(?<![\w.])(?:{choices})(?:\.0+)?(?!\w|\.\d)")


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", text.replace("$", ""))
