"""All solutions in one call; the reply is a full permutation of their labels, or it says nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from aligngraph.prompts import render
from aligngraph.ranking.contract import LEAST_COMPARABLE, Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import Judge, Question, UnusableReplyError, Verdict
from aligngraph.ranking.sheet import Sheet

ABSTAIN = "abstain"
BAR = "|"
_ENUMERATED_LABELS = 5  # its 321 orders still fit a schema; a model held to it cannot repeat a label


@dataclass(frozen=True)
class ListwiseRanker:
    """Asks for the order of all options at once.

    Attributes:
        judge: whom to ask.
        shuffles: how often, each time in another order; the preferences are averaged.
    """

    judge: Judge
    shuffles: int = 1

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference; the principal knows neither authors nor their number."""
        asked = (self.judge.ask(_ask(Sheet.draw(work, "listwise", i), i)) for i in range(self.shuffles))
        rounds = await asyncio.gather(*asked)
        return average([_conclude(calls, len(work.options)) for calls in rounds])


def average(preferences: Sequence[Preference], weights: Sequence[float] | None = None) -> Preference:
    """Return the mean of preferences over the same options; each pair's over those that judged both.

    Args:
        preferences: at least one.
        weights: one each, > 0; equal by default.
    """
    options = range(len(preferences[0].matrix))
    weighed = list(zip(preferences, weights or [1.0] * len(preferences), strict=True))

    def mean(y: int, z: int) -> float:
        heard = [(one.matrix[y][z], weight) for one, weight in weighed if not {y, z} & set(one.abstained)]
        total = sum(weight for _, weight in heard)
        return sum(value * weight for value, weight in heard) / total if total and y != z else 0.5

    matrix = tuple(tuple(mean(y, z) if y < z else 1 - mean(z, y) for z in options) for y in options)
    judged = sorted({number for one in preferences for tier in one.tiers for number in tier})
    return Preference.from_matrix(matrix, judged, [call for one in preferences for call in one.calls])


def read_order(order: object, sheet: Sheet) -> Verdict:
    """Return the verdict that `order` spells, as "B>A", "B>A|C" or "abstain".

    Raises:
        UnusableReplyError: it names a label that is not on the sheet, or does not name each exactly once.
    """
    if not isinstance(order, str):
        raise UnusableReplyError(f"'order' is {order!r}, not a string")
    if order.strip() == ABSTAIN:
        return Verdict()
    ranked, _, abstained = order.partition(BAR)
    named = _split(ranked)
    _check(named + _split(abstained), sheet)
    if len(named) < LEAST_COMPARABLE:
        raise UnusableReplyError(f"a ranking takes at least two labels: say {ABSTAIN!r} where fewer can be judged")
    return Verdict(tuple(sheet.labels[label] for label in named))


def _split(labels: str) -> list[str]:
    return [label.strip() for label in labels.split(">")] if labels.strip() else []


def _check(named: list[str], sheet: Sheet) -> None:
    unknown = [label for label in named if label not in sheet.labels]
    if unknown:
        raise UnusableReplyError(f"{unknown[0]!r} is not one of the labels {sheet.listed}")
    missing = [label for label in sheet.labels if label not in named]
    if missing:
        raise UnusableReplyError(f"the label {missing[0]} is missing")
    if len(named) > len(sheet.labels):
        raise UnusableReplyError("a label occurs more than once")


def _ask(sheet: Sheet, number: int) -> Question:
    labels = list(reversed(sheet.labels))
    form = render("listwise_form", example=">".join(labels), labels=sheet.listed)
    partial = ""
    if len(labels) > LEAST_COMPARABLE:
        partial = " " + render("listwise_partial", example=f"{'>'.join(labels[1:])}{BAR}{labels[0]}")
    instructions = render("listwise", mark=sheet.mark, partial=partial, form=form)
    question = render("listwise_task", task=sheet.work.task, solutions=sheet.quoted, labels=sheet.listed)
    return Question(
        sheet,
        [SystemMessage(instructions), HumanMessage(question)],
        _schema(sheet),
        lambda value: read_order(value["order"], sheet),
        form,
        number,
    )


def _schema(sheet: Sheet) -> dict[str, Any]:
    order: dict[str, Any] = {"type": "string"}
    if len(sheet.labels) <= _ENUMERATED_LABELS:
        order["enum"] = [*_orders(tuple(sheet.labels)), ABSTAIN]
    return {
        "title": "ranking",
        "type": "object",
        "properties": {"order": order},
        "required": ["order"],
        "additionalProperties": False,
    }


def _orders(labels: tuple[str, ...]) -> list[str]:
    """Return every full order, then every order of at least two labels that leaves the others behind the bar."""
    full = [">".join(order) for order in permutations(labels)]
    return full + [
        f"{'>'.join(order)}{BAR}{'>'.join(label for label in labels if label not in order)}"
        for size in range(len(labels) - 1, LEAST_COMPARABLE - 1, -1)
        for chosen in combinations(labels, size)
        for order in permutations(chosen)
    ]


def _conclude(calls: tuple[RankingCall, ...], options: int) -> Preference:
    return Preference.from_order(calls[-1].order, options, calls)
