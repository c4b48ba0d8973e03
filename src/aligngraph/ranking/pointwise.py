"""One solution at a time, each alone on its sheet: the probability that it is right, or a mark from 1 to 10."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from aligngraph.prompts import render
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import Judge, Question, UnusableReplyError, Verdict
from aligngraph.ranking.sheet import Sheet

LEAST_MARK, BEST_MARK = 1, 10
_SCHEMA = {
    "title": "mark",
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": list(range(LEAST_MARK, BEST_MARK + 1))}},
    "required": ["score"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class PointwiseRanker:
    """Asks about every option by itself.

    Attributes:
        judge: whom to ask.
        scale: "probability" asks whether the solution is right and takes the probability of "yes"; "ten" asks for a
            mark, of which 1 is taken for a probability of 0 and 10 for one of 1.
    """

    judge: Judge
    scale: Literal["probability", "ten"] = "probability"

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference that follows from the scores; options without one are abstained from."""
        asked = await asyncio.gather(*(self._judge(work, number) for number in range(len(work.options))))
        return Preference.from_scores([calls[-1].score for calls in asked], [call for calls in asked for call in calls])

    async def _judge(self, work: RankingTask, number: int) -> tuple[RankingCall, ...]:
        sheet = Sheet.of(work, (number,), "pointwise", number)
        form = render("pointwise_form" if self.scale == "probability" else "pointwise_ten_form")
        messages: list[AnyMessage] = [
            SystemMessage(render("pointwise", mark=sheet.mark, form=form)),
            HumanMessage(render("pointwise_task", task=work.task, solution=sheet.quote(number), form=form)),
        ]
        if self.scale == "probability":
            return await self.judge.ask_yes_no(sheet, messages, form, number)
        return await self.judge.ask(Question(sheet, messages, _SCHEMA, lambda v: _read(v["score"]), form, number))


def _read(mark: object) -> Verdict:
    if isinstance(mark, bool) or not isinstance(mark, int) or not LEAST_MARK <= mark <= BEST_MARK:
        raise UnusableReplyError(f"'score' is {mark!r}, not a whole number from {LEAST_MARK} to {BEST_MARK}")
    return Verdict(score=(mark - LEAST_MARK) / (BEST_MARK - LEAST_MARK))
