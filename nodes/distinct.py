"""Distinct answers: which candidates of a round give one and the same."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from aligngraph.answers import AnswerForm
from aligngraph.isolation import Attempt, attempt
from aligngraph.models import JsonReply, ask_json, model_label, usage_of
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import NO_USAGE, add_usage, price_usage
from aligngraph.nodes.votes import current_candidates
from aligngraph.prompts import render
from aligngraph.state import AnswerState, CandidateState, DelegationState, RunState, Usage

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


def answer_form(run: RunState) -> AnswerForm:
    """Return what an answer to the run's task looks like."""
    return replace(AnswerForm.of(run["task"], run["kind"]), guessed=run["guessed"])


async def distinct_answers(state: DelegationState) -> list[AnswerState]:
    """Return the answers that candidates give now, in seed order; what any round wrote counts as a spelling."""
    form = answer_form(state["run"])
    answered = [candidate for candidate in state["candidates"] if candidate["answer"] is not None]
    current = {candidate["id"] for candidate in current_candidates(answered)}
    groups = await asyncio.to_thread(form.group, [candidate["answer"] for candidate in answered])
    classes = [[answered[member] for member in group.members] for group in groups]
    found = [_describe(members, current) for members in classes if any(one["id"] in current for one in members)]
    place = {candidate["id"]: number for number, candidate in enumerate(answered)}
    return sorted(found, key=lambda answer: place[answer["candidates"][0]])


async def merge_texts(
    state: DelegationState, found: list[AnswerState], resources: Resources, config: RunnableConfig
) -> Merged:
    """Return the answers with those made one that the team's judge of texts takes for one in either order."""
    spec = resources.team.answers.judge
    if spec is None or state["run"]["kind"] != "text" or len(found) > MOST_COMPARED:
        return Merged(found, add_usage([]), [])
    pairs = [(one, other) for one, other in combinations(range(len(found)), 2)]
    ended = await asyncio.gather(
        *(
            _compare(state, found, pair, resources, config)
            for one, other in pairs
            for pair in ((one, other), (other, one))
        )
    )
    same = [pair for pair, there, back in zip(pairs, ended[::2], ended[1::2], strict=True) if _agree(there, back)]
    causes = dict.fromkeys(one.value.problem if one.value else one.cause for one in ended)
    problems = [f"judge of texts {model_label(spec)}: {cause}" for cause in causes if cause]
    return Merged(_unite(found, same), add_usage(map(_usage, ended)), problems)


async def _compare(
    state: DelegationState,
    found: list[AnswerState],
    pair: tuple[int, int],
    resources: Resources,
    config: RunnableConfig,
) -> Attempt[JsonReply]:
    timeout_s = resources.team.principal.timeout_s
    one, other = (found[number]["answer"] for number in pair)
    messages = [
        SystemMessage(render("same_answer")),
        HumanMessage(render("same_answer_task", task=state["run"]["task"], one=repr(one), other=repr(other))),
    ]
    metadata = {"agent": "same_answer", "task": state["run"]["task_id"], "answers": [one, other]}

    async def ask() -> JsonReply:
        model = await resources.open_model(resources.team.answers.judge, temperature=0.0, timeout_s=timeout_s)
        return await ask_json(model, messages, _SCHEMA, config=merge_configs(config, {"metadata": metadata}))

    return await attempt(ask(), timeout_s)


def _agree(there: Attempt[JsonReply], back: Attempt[JsonReply]) -> bool:
    """Return whether both orders say that the two are one: a reply that is missing or unreadable does not."""
    return all(one.value is not None and one.value.value == {"same": True} for one in (there, back))


def _usage(ended: Attempt[JsonReply]) -> Usage:
    return NO_USAGE if ended.value is None else price_usage(usage_of(ended.value.message), None)


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


def _describe(members: list[CandidateState], current: set[str]) -> AnswerState:
    now = [candidate for candidate in members if candidate["id"] in current]
    return AnswerState(
        answer=str(now[0]["answer"]),
        candidates=[candidate["id"] for candidate in now],
        spellings=list(dict.fromkeys(str(candidate["answer"]) for candidate in members)),
    )
