"""The judge of texts: a model that says which answers in words are one, where a team names one."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from aligngraph.isolation import Attempt
from aligngraph.models import JsonReply, ask_json, model_label
from aligngraph.nodes.lines import Call, connect
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import NOTHING, as_usage
from aligngraph.prompts import render
from aligngraph.randomness import sampling_seed
from aligngraph.ranking import Judge
from aligngraph.ranking.quoting import neutral
from aligngraph.state import AnswerState, DelegationState, Usage

MOST_COMPARED = 8  # answers: 28 pairs, each asked about in both orders
_SCHEMA = {
    "title": "comparison",
    "type": "object",
    "properties": {"same": {"type": "boolean"}},
    "required": ["same"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Merged:
    """Answers after a model was asked which texts say the same, what that used, and what went wrong."""

    answers: list[AnswerState]
    usage: Usage
    problems: list[str]


async def merge_texts(
    state: DelegationState, found: list[AnswerState], resources: Resources, config: RunnableConfig
) -> Merged:
    """Return the answers with those made one that the team's judge of texts takes for one in either order."""
    spec, timeout_s = resources.team.answers.judge, resources.team.principal.timeout_s
    if spec is None or state["run"]["kind"] != "text":
        return Merged(found, NOTHING, [])
    name = f"judge of texts {model_label(spec)}"
    if len(found) > MOST_COMPARED:
        return Merged(found, NOTHING, [f"{name}: {len(found)} answers, and at most {MOST_COMPARED} are compared"])
    call = Call(spec, 0.0, timeout_s, resources.team.answers.price, sampling_seed(state["run"]["seed"], "same_answer"))
    opened = await connect(call, state, resources)
    if opened.value is None:
        return Merged(found, NOTHING, [f"{name}: {opened.cause}"])
    judge = Judge(opened.value.model, timeout_s, opened.value.line)
    pairs = list(combinations(range(len(found)), 2))
    both_orders = [order for one, other in pairs for order in ((one, other), (other, one))]
    ended = await asyncio.gather(*(_compare(judge, state, found, order, config) for order in both_orders))
    same = [pair for pair, there, back in zip(pairs, ended[::2], ended[1::2], strict=True) if _agree(there, back)]
    causes = dict.fromkeys(one.value.problem if one.value else one.cause for one in ended)
    return Merged(
        _unite(found, same), as_usage(opened.value.line.spent), [f"{name}: {cause}" for cause in causes if cause]
    )


async def _compare(
    judge: Judge, state: DelegationState, found: list[AnswerState], order: tuple[int, int], config: RunnableConfig
) -> Attempt[JsonReply]:
    one, other = (found[number]["answer"] for number in order)
    quoted = {"one": repr(neutral(one)), "other": repr(neutral(other))}
    messages = [
        SystemMessage(render("same_answer")),
        HumanMessage(render("same_answer_task", task=state["run"]["task"], **quoted)),
    ]
    metadata = {"agent": "same_answer", "task": state["run"]["task_id"], "answers": [one, other]}
    settings = merge_configs(config, {"metadata": metadata})
    return await judge.call(lambda: ask_json(judge.model, messages, _SCHEMA, config=settings))


def _agree(there: Attempt[JsonReply], back: Attempt[JsonReply]) -> bool:
    """Return whether both orders say that the two are one: a reply that is missing or unreadable does not."""
    return all(one.value is not None and one.value.value == {"same": True} for one in (there, back))


def _unite(found: list[AnswerState], same: Iterable[tuple[int, int]]) -> list[AnswerState]:
    """Return the answers with every pair in `same` made one, and what follows from that."""
    leader = list(range(len(found)))
    for one, other in same:
        low, high = sorted((leader[one], leader[other]))
        leader = [low if number == high else number for number in leader]
    groups = [[found[i] for i in range(len(found)) if leader[i] == number] for number in sorted(set(leader))]
    return [
        AnswerState(
            answer=group[0]["answer"],
            candidates=[candidate for answer in group for candidate in answer["candidates"]],
            spellings=[spelling for answer in group for spelling in answer["spellings"]],
        )
        for group in groups
    ]
