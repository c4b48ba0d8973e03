"""All solutions in one call; the reply is a full permutation of their labels, or it says nothing."""

from dataclasses import dataclass
from itertools import permutations
from string import ascii_uppercase
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from aligngraph.models import JsonReply, ask_json, usage_of
from aligngraph.prompts import render
from aligngraph.randomness import generator
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask

ABSTAIN = "abstain"
_ENUMERATED_LABELS = 5  # 5! = 120 orders still fit a schema; a model held to it cannot repeat a label


@dataclass(frozen=True)
class _Sheet:
    """One anonymous presentation of the options: labels in the order shown, each with the number of its option."""

    labels: dict[str, int]
    mark: str

    @property
    def example(self) -> str:
        return ">".join(reversed(self.labels))

    @property
    def listed(self) -> str:
        return ", ".join(self.labels)


class ListwiseRanker:
    """Asks once, and once more with the error shown when the reply is neither a permutation nor an abstention."""

    name = "listwise"
    attempts = 2

    async def rank(self, model: BaseChatModel, work: RankingTask) -> Preference:
        """Return the preference; the principal knows neither authors nor their number."""
        sheet = _shuffle(work)
        messages = _ask(sheet, work)
        calls: list[RankingCall] = []
        for attempt in range(self.attempts):
            reply = await ask_json(model, messages, _schema(sheet), config=_annotate(work, sheet, attempt))
            calls.append(_read(reply, sheet))
            if calls[-1].outcome != "unusable":
                break
            messages = [*messages, AIMessage(reply.text), HumanMessage(_retry(sheet, calls[-1]))]
        return _conclude(calls, len(work.options))


def _shuffle(work: RankingTask) -> _Sheet:
    draw = generator(work.seed, "listwise")
    order = draw.permutation(len(work.options)).tolist()
    return _Sheet(dict(zip(_labels(len(order)), order, strict=True)), draw.bytes(6).hex())


def _labels(count: int) -> list[str]:
    return [ascii_uppercase[i] if count <= len(ascii_uppercase) else f"S{i + 1}" for i in range(count)]


def _ask(sheet: _Sheet, work: RankingTask) -> list[AnyMessage]:
    solutions = "\n\n".join(
        f"Solution {label}\n--- {sheet.mark} ---\n{_shorten(work.options[number].solution, work.max_solution_chars)}\n--- {sheet.mark} ---"
        for label, number in sheet.labels.items()
    )
    instructions = render("listwise", mark=sheet.mark, example=sheet.example, labels=sheet.listed)
    question = render("listwise_task", task=work.task, solutions=solutions, labels=sheet.listed)
    return [SystemMessage(instructions), HumanMessage(question)]


def _retry(sheet: _Sheet, call: RankingCall) -> str:
    return render("listwise_retry", problem=call.problem or "", example=sheet.example, labels=sheet.listed)


def _shorten(solution: str, most: int) -> str:
    """Return the solution with its middle left out, and a note of it, where it is longer than `most` characters."""
    if len(solution) <= most:
        return solution
    half = most // 2
    return f"{solution[:half]}\n[{len(solution) - 2 * half} characters left out]\n{solution[-half:]}"


def _schema(sheet: _Sheet) -> dict[str, Any]:
    order: dict[str, Any] = {"type": "string"}
    if len(sheet.labels) <= _ENUMERATED_LABELS:
        order["enum"] = [*map(">".join, permutations(sheet.labels)), ABSTAIN]
    return {
        "title": "ranking",
        "type": "object",
        "properties": {"order": order},
        "required": ["order"],
        "additionalProperties": False,
    }


def _annotate(work: RankingTask, sheet: _Sheet, attempt: int) -> RunnableConfig:
    """Return the call's configuration; labels with their answers are for traces and scripted principals."""
    labels = {label: work.options[number].answer for label, number in sheet.labels.items()}
    metadata = {**work.config.get("metadata", {}), "sample": attempt, "labels": labels}
    return RunnableConfig(**{**work.config, "metadata": metadata})


def _read(reply: JsonReply, sheet: _Sheet) -> RankingCall:
    usage, verdict = usage_of(reply.message), reply.text
    stated = reply.value.get("order") if reply.value else None
    if stated == ABSTAIN:
        return RankingCall(sheet.labels, verdict, "abstained", (), None, usage)
    problem = reply.problem or _fault(stated, sheet)
    if problem:
        return RankingCall(sheet.labels, verdict, "unusable", (), problem, usage)
    order = tuple(sheet.labels[label] for label in _split(str(stated)))
    return RankingCall(sheet.labels, verdict, "ranked", order, None, usage)


def _split(order: str) -> list[str]:
    return [label.strip() for label in order.split(">")]


def _fault(order: object, sheet: _Sheet) -> str | None:
    """Return why `order` is no full permutation of the labels, or None where it is one."""
    if not isinstance(order, str):
        return f"'order' is {order!r}, not a string"
    named = _split(order)
    unknown = [label for label in named if label not in sheet.labels]
    if unknown:
        return f"{unknown[0]!r} is not one of the labels {sheet.listed}"
    missing = [label for label in sheet.labels if label not in named]
    if missing:
        return f"the label {missing[0]} is missing"
    return None if len(named) == len(sheet.labels) else "a label occurs more than once"


def _conclude(calls: list[RankingCall], options: int) -> Preference:
    if calls[-1].outcome == "ranked":
        return Preference.from_order(calls[-1].order, calls)
    return Preference.none(options, calls)
