"""One solution at a time, checked step by step before the judge says in one word whether it is right."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from aligngraph.models import limit_reply, sendable, spoken, usage_of
from aligngraph.prompts import render
from aligngraph.randomness import sampling_seed
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import ASKS, Judge, failed_call, sampling
from aligngraph.ranking.sheet import Sheet

CHECK_TOKENS = 300
VARIED_TEMPERATURE = 0.7


@dataclass(frozen=True)
class VerifierRanker:
    """Has every option checked, then asks about it in the same conversation.

    A check is free text, which holds no verdict: its call is recorded as `checked`, and the call after it, with the
    probability of "yes", as the verdict.

    Attributes:
        judge: whom to ask.
        checks: of each option, >= 1; their probabilities are averaged. The first is made as the judge was opened, the
            others at temperature 0.7, so that they differ.
    """

    judge: Judge
    checks: int = 1

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference that follows from the mean probabilities; options without one are abstained from."""
        asked = await asyncio.gather(*(self._judge(work, number) for number in range(len(work.options))))
        return Preference.from_scores([_mean(calls) for calls in asked], [call for calls in asked for call in calls])

    async def _judge(self, work: RankingTask, number: int) -> list[RankingCall]:
        checked = await asyncio.gather(*(self._verify(work, number, check) for check in range(self.checks)))
        return [call for calls in checked for call in calls]

    async def _verify(self, work: RankingTask, number: int, check: int) -> tuple[RankingCall, ...]:
        sheet = Sheet.of(work, (number,), "verifier", number, check)
        messages: list[AnyMessage] = [
            SystemMessage(render("verifier", mark=sheet.mark)),
            HumanMessage(render("verifier_task", task=work.task, solution=sheet.quote(number))),
        ]
        place = 2 * (number * self.checks + check)
        checking = await self._check(sheet, messages, place, check)
        if checking[-1].outcome != "checked":
            return checking
        form = render("verifier_form")
        question = render("verifier_verdict", mark=sheet.mark, form=form)
        messages += [AIMessage(checking[-1].verdict), HumanMessage(question)]
        return checking + await self.judge.ask_yes_no(sheet, messages, form, place + 1)

    async def _check(
        self, sheet: Sheet, messages: Sequence[AnyMessage], place: int, check: int
    ) -> tuple[RankingCall, ...]:
        """Return the record of a check.

        A model that thinks before it speaks can spend the limit on that; it is asked once more, without any.
        """
        model, settings = self.judge.model, self._settings(sheet, check)
        first = await self._ask(sheet, messages, settings | limit_reply(model, CHECK_TOKENS), ASKS * place)
        if first.outcome != "unusable":
            return (first,)
        return first, replace(await self._ask(sheet, messages, settings, ASKS * place + 1), again=True)

    def _settings(self, sheet: Sheet, check: int) -> dict[str, Any]:
        seed = sampling_seed(sheet.work.seed, "verifier", *sheet.labels.values(), check)
        return sampling(self.judge.model, seed, VARIED_TEMPERATURE if check else None)

    async def _ask(
        self, sheet: Sheet, messages: Sequence[AnyMessage], settings: dict[str, Any], number: int
    ) -> RankingCall:
        asked = self.judge.model.bind(**settings)
        ended = await self.judge.call(lambda: asked.ainvoke(list(messages), sheet.annotate(number)))
        if ended.value is None:
            return failed_call(sheet, ended.cause)
        text, usage = sendable(spoken(str(ended.value.text))), usage_of(ended.value)
        if not text:
            return RankingCall(sheet.labels, text, "unusable", problem="the check is empty", usage=usage)
        return RankingCall(sheet.labels, text, "checked", usage=usage)


def _mean(calls: Sequence[RankingCall]) -> float | None:
    scores = [call.score for call in calls if call.score is not None]
    return sum(scores) / len(scores) if scores else None
