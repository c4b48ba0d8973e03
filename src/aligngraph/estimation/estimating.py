"""From a team and a task to the estimate. What earlier candidates used is read from the policy store; no model is opened."""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage

from aligngraph.answers import AnswerForm, AnswerKind
from aligngraph.context import DelegationContext
from aligngraph.estimation.caps import caps_of
from aligngraph.estimation.figures import Estimate, EstimateLine, sum_of
from aligngraph.estimation.judging import Case, judge_line, text_judge_line
from aligngraph.estimation.lengths import Length, length_of
from aligngraph.estimation.proposing import Answers, Schedule, Told, agent_line
from aligngraph.models import ModelSpec, model_label
from aligngraph.nodes.intake import read_task, refuse_long_task
from aligngraph.nodes.lines import unpriced_models
from aligngraph.persistence import PolicyStore
from aligngraph.ranking.judge import MOST_SOLUTION_CHARS
from aligngraph.ranking.specs import missing_for
from aligngraph.roles import Agent
from aligngraph.state import TaskOptions
from aligngraph.team import Team

EXPECTED_ANSWERS = 3
EXPECTED_ANSWER_TOKENS = 8
MOST_ANSWER_TOKENS = 64
_LONG_ANSWERS = ("text", "code", "json")

Used = Mapping[str, Sequence[Mapping[str, Any]]]


async def estimate(
    team: Team,
    store: PolicyStore,
    task: str | Sequence[AnyMessage],
    *,
    options: TaskOptions | None = None,
    context: DelegationContext | None = None,
) -> Estimate:
    """Return what one task is expected to ask of the team, and at most; no model is asked and no run is written.

    Args:
        team: who would be asked.
        store: where earlier candidates tell how long replies are.
        task: a text, or a chat whose last human message is the task.
        options: of the task; its kind of answer counts.
        context: what the run would set differently from the team file; its rounds count.

    Raises:
        TaskError: the task is empty, or longer than a model of the team reads.
        StoreError: the database cannot be used.
    """
    messages: list[AnyMessage] = [HumanMessage(task)] if isinstance(task, str) else list(task)
    text = read_task(messages)
    kind = AnswerForm.of(text, (options or TaskOptions()).get("kind", team.answers.kind)).kind
    rounds = DelegationContext.of(context).game(team).max_rounds
    used = await store.calls.read_usage([agent.name for agent in team.agents])
    # Limits of prompts are read off clients, whose import takes a second.
    return await asyncio.to_thread(_estimate, _Question(team, messages, text, kind, rounds), used)


@dataclass(frozen=True)
class _Question:
    """What is to be estimated: a chat with its task, of so many rounds at most, for answers of this kind."""

    team: Team
    messages: list[AnyMessage]
    task: str
    kind: AnswerKind
    rounds: int


def _estimate(question: _Question, used: Used) -> Estimate:
    team = question.team
    refuse_long_task(question.messages, team)
    lengths = {agent.name: length_of(agent.model, used.get(agent.name, ())) for agent in team.agents}
    lines = tuple(_lines(question, lengths))
    most = sum_of(line.most for line in lines)
    return Estimate(
        rounds=question.rounds,
        lines=lines,
        expected=sum_of(line.expected for line in lines),
        at_most=team.budget.stop == "settled" or team.cache.responses,
        most=most,
        caps=caps_of(team, most),
        assumed=(*_assumed(question, lengths), *_unpriced(lines)),
        problems=tuple(_problems(team)),
    )


def _lines(question: _Question, lengths: Mapping[str, Length]) -> Iterator[EstimateLine]:
    team, schedule = question.team, Schedule.of(question.team, question.rounds)
    number = schedule.most_answers
    expected = Answers(min(EXPECTED_ANSWERS, number), EXPECTED_ANSWER_TOKENS)
    most = Answers(number, _longest_answer(question.kind, lengths))
    for agent in team.agents:
        yield agent_line(agent, schedule, question.messages, lengths[agent.name], Told(expected, most))
    mean = math.ceil(sum(length.expected for length in lengths.values()) / len(lengths))
    longest = max(_longest_solution(agent, lengths[agent.name]) for agent in team.agents)
    likely = Case(question.task, question.rounds, expected, mean)
    worst = Case(question.task, question.rounds, most, longest)
    for judge in team.principal.judges:
        yield judge_line(judge, likely, worst)
    if team.answers.judge is not None and question.kind == "text":
        yield text_judge_line(team.answers.judge, team.answers.price, likely, worst)


def _longest_answer(kind: AnswerKind, lengths: Mapping[str, Length]) -> int:
    return max(length.most for length in lengths.values()) if kind in _LONG_ANSWERS else MOST_ANSWER_TOKENS


def _longest_solution(agent: Agent, length: Length) -> int:
    """Return the tokens of a solution; to that of a program its output is added, up to what a judge is ever shown."""
    runs = any(strategy.reply == "program" for strategy in agent.strategies)
    return max(length.most, MOST_SOLUTION_CHARS) if runs else length.most


def _assumed(question: _Question, lengths: Mapping[str, Length]) -> Iterator[str]:
    team = question.team
    yield "tokens of prompts are estimated from their length, rather too high than too low"
    yield f"expected: {EXPECTED_ANSWERS} different answers or as many as there are samples, and every reply of a judge can be used"
    yield "at most: every sample gives another answer, and every judge has to be asked once more"
    if question.rounds > 1:
        yield "expected: in each round after the first half of the samples are drawn again; at most: all of them"
    for agent in team.agents:
        yield from _assumed_of(agent, lengths[agent.name])
    yield f"not counted: calls that fail, their repetition (up to {team.retry.attempts} attempts each) and fallback models"
    if team.budget.stop == "settled":
        yield 'budget.stop = "settled": what is expected is rather less, since samples that would hardly matter are left out'
    if team.cache.responses:
        yield "cache.responses: replies that are kept from earlier runs cost nothing, and are counted here all the same"


def _assumed_of(agent: Agent, length: Length) -> Iterator[str]:
    source = (
        f"the mean of {length.seen} earlier candidates" if length.seen else "a guess, for want of earlier candidates"
    )
    yield f"{agent.name}: {length.expected:,} tokens a reply, {source}"
    if not isinstance(agent.model, ModelSpec | BaseChatModel):
        yield f"{agent.name}: {model_label(agent.model)} counts as one call each time, whatever it calls itself"
    elif not length.limited:
        yield f"{agent.name}: nothing limits a reply (max_tokens); it counts as {length.most:,} tokens at most"


def _unpriced(lines: Sequence[EstimateLine]) -> Iterator[str]:
    if models := sorted({line.model for line in lines if line.most.cost is None}):
        yield f"no cost: nobody knows the price of {', '.join(models)} (`price` in the team file says it)"


def _problems(team: Team) -> Iterator[str]:
    if unpriced := unpriced_models(team):
        yield f"budget.money needs the price of every model, and none is known of {', '.join(unpriced)}"
    for judge in team.principal.judges:
        if lacking := missing_for(judge.ranker):
            yield lacking
