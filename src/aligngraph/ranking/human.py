"""A person ranks: the run pauses until somebody has looked at the solutions, and goes on with what they say."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from langgraph.types import interrupt
from typing_extensions import TypedDict

from aligngraph.ranking.contract import LEAST_COMPARABLE, Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import UnusableReplyError, said
from aligngraph.ranking.listwise import ABSTAIN, BAR, read_order
from aligngraph.ranking.quoting import neutral
from aligngraph.ranking.sheet import Sheet, shorten


class RankingRequest(TypedDict):
    """What a person is shown, plain JSON: solutions by their anonymous label, in the order to show them.

    `form` says how to reply, `problem` why the last reply could not be used.
    """

    kind: Literal["ranking"]
    task: str
    solutions: dict[str, str]
    form: str
    problem: str | None


@dataclass(frozen=True)
class HumanRanker:
    """Asks a person by LangGraph's `interrupt`, as often as it takes to get a ranking or an abstention.

    With every reply the node runs again from its start, and the same seed draws the same sheet. It needs a graph with
    a checkpointer.
    """

    async def rank(self, work: RankingTask) -> Preference:
        """Return the person's preference; a call without a reply ends the node with LangGraph's GraphInterrupt."""
        sheet = Sheet.draw(work, "human")
        calls: list[RankingCall] = []
        while not calls or calls[-1].outcome == "unusable":
            problem = calls[-1].problem if calls else None
            calls.append(replace(_read(interrupt(_ask(sheet, problem)), sheet), again=bool(calls)))
        return Preference.from_order(calls[-1].order, len(work.options), calls)


def _ask(sheet: Sheet, problem: str | None) -> RankingRequest:
    work = sheet.work
    solutions = {
        label: shorten(neutral(work.options[number].solution), work.max_solution_chars)
        for label, number in sheet.labels.items()
    }
    return RankingRequest(kind="ranking", task=work.task, solutions=solutions, form=_form(sheet), problem=problem)


def _form(sheet: Sheet) -> str:
    labels = list(reversed(sheet.labels))
    partial = f"{'>'.join(labels[1:])}{BAR}{labels[0]}"
    behind_bar = (
        f'what you cannot judge goes behind a bar, as in "{partial}"; ' if len(labels) > LEAST_COMPARABLE else ""
    )
    return f'best first, as in "{">".join(labels)}"; {behind_bar}"{ABSTAIN}" where nothing tells them apart'


def _read(reply: object, sheet: Sheet) -> RankingCall:
    """Return the record of one reply: an order, or a JSON object that holds it, which Studio's users may type."""
    order = reply.get("order") if isinstance(reply, Mapping) else reply
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False, default=str)
    try:
        return said(sheet, text, read_order(order, sheet), None)
    except UnusableReplyError as error:
        return RankingCall(sheet.labels, text, "unusable", problem=str(error))
