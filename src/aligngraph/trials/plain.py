"""A judge without defences, for comparison alone: solutions pasted into one prompt, the first letter in the reply wins."""

import re
from dataclasses import dataclass

from langchain_core.messages import AIMessage, HumanMessage

from aligngraph.isolation import attempt
from aligngraph.models import usage_of
from aligngraph.prompts import render
from aligngraph.randomness import generator
from aligngraph.ranking import Judge, Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import failed_call
from aligngraph.ranking.sheet import Sheet


@dataclass(frozen=True)
class PlainRanker:
    """Asks which of two solutions is better: no marks, no rule, no schema, no abstention, nothing made safe."""

    judge: Judge

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference between the two options of `work`."""
        sheet = Sheet.of(work, [int(number) for number in generator(work.seed, "plain").permutation(2)], "plain")
        first, second = (work.options[number].solution for number in sheet.labels.values())
        prompt = render("plain", task=work.task, first=first, second=second)
        asked = self.judge.model.ainvoke([HumanMessage(prompt)], sheet.annotate(0))
        ended = await attempt(asked, self.judge.timeout_s)
        call = failed_call(sheet, ended.cause) if ended.value is None else _read(ended.value, sheet)
        return Preference.from_order(call.order, len(work.options), [call])


def _read(message: AIMessage, sheet: Sheet) -> RankingCall:
    text, usage = str(message.text), usage_of(message)
    named = re.search(r"\b[AB]\b", text)
    if named is None:
        return RankingCall(sheet.labels, text, "unusable", problem="the reply names neither A nor B", usage=usage)
    order = sorted(sheet.labels, key=lambda label: label != named[0])
    return RankingCall(sheet.labels, text, "ranked", tuple(sheet.labels[label] for label in order), usage=usage)
