"""Two solutions at a time, each pair in both orders; a judge that changes its mind with the order leaves it open."""

import asyncio
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from aligngraph.prompts import render
from aligngraph.randomness import generator
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import Judge, Question, UnusableReplyError, Verdict
from aligngraph.ranking.schedule import Duel, compare_all, compare_sorting, decided_options, infer_matrix
from aligngraph.ranking.sheet import Sheet

NEITHER = "neither"
MOST_COMPARED_IN_FULL = 8  # 28 pairs; nine answers take at most 21 comparisons when sorted


@dataclass(frozen=True)
class PairwiseRanker:
    """Asks which of two options is better, in both orders.

    All pairs of up to 8 options are compared, so every entry of the matrix is measured. More are sorted, from a seeded
    order: the pairs that the sort compared are measured, the others follow from chains of them or stay 1/2.

    Attributes:
        judge: whom to ask.
    """

    judge: Judge

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference; options without a single decided pair are abstained from."""
        options = len(work.options)
        order = [int(number) for number in generator(work.seed, "pairwise", "schedule").permutation(options)]
        schedule = compare_all if options <= MOST_COMPARED_IN_FULL else compare_sorting
        duels = await schedule(order, lambda y, z: self._fight(work, min(y, z), max(y, z)))
        calls = [call for duel in duels for call in duel.calls]
        return Preference.from_matrix(infer_matrix(duels, options), decided_options(duels), calls)

    async def _fight(self, work: RankingTask, low: int, high: int) -> Duel:
        number = 2 * (high * (high - 1) // 2 + low)  # a pair has its number whatever else is compared
        forward, backward = await asyncio.gather(
            self.judge.ask(_ask(Sheet.of(work, (low, high), "pairwise", low, high), number)),
            self.judge.ask(_ask(Sheet.of(work, (high, low), "pairwise", high, low), number + 1)),
        )
        return Duel((low, high), _agreed(forward[-1], backward[-1]), forward + backward)


def _agreed(forward: RankingCall, backward: RankingCall) -> int | None:
    return forward.order[0] if forward.order and forward.order == backward.order else None


def _ask(sheet: Sheet, number: int) -> Question:
    first, second = sheet.labels
    form = render("pairwise_form", first=first, second=second)
    instructions = render("pairwise", mark=sheet.mark, form=form)
    question = render("pairwise_task", task=sheet.work.task, solutions=sheet.quoted, form=form)
    return Question(
        sheet,
        [SystemMessage(instructions), HumanMessage(question)],
        _schema(sheet),
        lambda value: _read(value["better"], sheet),
        form,
        number,
    )


def _read(better: object, sheet: Sheet) -> Verdict:
    if better == NEITHER:
        return Verdict()
    if not isinstance(better, str) or better not in sheet.labels:
        raise UnusableReplyError(f"'better' is {better!r}, not one of {sheet.listed} and {NEITHER}")
    winner = sheet.labels[better]
    return Verdict((winner, *(number for number in sheet.labels.values() if number != winner)))


def _schema(sheet: Sheet) -> dict[str, Any]:
    return {
        "title": "comparison",
        "type": "object",
        "properties": {"better": {"type": "string", "enum": [*sheet.labels, NEITHER]}},
        "required": ["better"],
        "additionalProperties": False,
    }
