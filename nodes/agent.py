"""An agent: draws its samples in parallel, keeps each as it arrives, and never fails another agent."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from aligngraph.context import DelegationContext
from aligngraph.isolation import Attempt, attempt
from aligngraph.models import supports_seed, usage_of
from aligngraph.nodes.distinct import answer_form
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import NO_USAGE, price_usage
from aligngraph.persistence import Candidate
from aligngraph.persistence.tables import storable
from aligngraph.prompts import render
from aligngraph.randomness import sampling_seed
from aligngraph.roles import Agent
from aligngraph.state import PREVIEW_CHARS, CandidateState, DelegationState, Failure, StateUpdate, Usage
from aligngraph.team import Team

NO_ANSWER = "no final answer in the text"
LONG_CHARS = 10_000


@dataclass(frozen=True)
class _Draw:
    """One sample to be drawn: its number within the run, its place in seed order, and what the model is shown."""

    sample: int
    position: int
    messages: list[AnyMessage]


@dataclass(frozen=True)
class _Reply:
    """What a model said, the final answer in it if there is one, and what the call used."""

    text: str
    answer: str | None
    usage: Usage


async def propose_candidates(
    state: DelegationState,
    runtime: Runtime[DelegationContext],
    config: RunnableConfig,
    *,
    agent: Agent,
    resources: Resources,
) -> StateUpdate:
    """Return this round's candidates of one agent; those that an interrupted run already holds are not asked for again."""
    async with resources.open_store() as store:
        known = {candidate.candidate_id: candidate for candidate in await store.read_candidates(state["run"]["run_id"])}

        async def draw_once(draw: _Draw) -> Candidate:
            candidate = known.get(_candidate_id(agent, draw.sample))
            if candidate is None:
                candidate = await _draw(draw, agent, resources, state, config)
                await store.record_candidate(state["run"]["run_id"], candidate)
            runtime.stream_writer({"event": "candidate", **_outline(candidate, state["round"])})
            return candidate

        drawn = await asyncio.gather(*(draw_once(draw) for draw in _plan(state, agent, resources.team)))
    outlines = [_outline(candidate, state["round"]) for candidate in drawn]
    return StateUpdate(candidates=outlines, problems=_problems(outlines))


def _plan(state: DelegationState, agent: Agent, team: Team) -> list[_Draw]:
    """Return the draws of this round. Samples are numbered through the run, positions through all agents of a round."""
    earlier = (state["round"] - 1) * sum(member.samples for member in team.agents)
    before = sum(member.samples for member in team.agents[: team.agents.index(agent)])
    shown = {strategy: _compose(state, strategy) for strategy in agent.strategies}
    return [
        _Draw(
            (state["round"] - 1) * agent.samples + number,
            earlier + before + number,
            shown[agent.strategy(number)],
        )
        for number in range(agent.samples)
    ]


def _compose(state: DelegationState, strategy: str) -> list[AnyMessage]:
    """Return what the model is shown: the strategy, the chat's own instructions, from round 2 the ranking, and the chat."""
    chat = [message for message in state["messages"] if not isinstance(message, SystemMessage)]
    instructions = [render(strategy)]
    instructions += [str(message.text) for message in state["messages"] if isinstance(message, SystemMessage)]
    if state["round"] > 1:
        instructions.append(render("reconsider", order=_ranked_answers(state)))
    return [SystemMessage("\n\n".join(instructions)), *chat]


def _ranked_answers(state: DelegationState) -> str:
    ranking = state["ranking"]
    tiers = ranking["tiers"] if ranking else []
    return "\n".join(
        f"{place}. {state['answers'][number]['answer']}" for place, tier in enumerate(tiers, 1) for number in tier
    )


async def _draw(
    draw: _Draw, agent: Agent, resources: Resources, state: DelegationState, config: RunnableConfig
) -> Candidate:
    seed = sampling_seed(state["run"]["seed"], state["round"], agent.name, draw.sample)
    form = answer_form(state["run"])

    async def ask() -> _Reply:
        model = await resources.open_model(agent.model, temperature=agent.temperature, timeout_s=agent.timeout_s)
        options: dict[str, Any] = {"seed": seed} if supports_seed(model) else {}
        message = await model.ainvoke(draw.messages, _annotate(config, draw, agent, state), **options)
        text = storable(str(message.text))
        # Reading a long text takes a moment, which the other agents' calls need not wait for.
        answer = form.extract(text) if len(text) < LONG_CHARS else await asyncio.to_thread(form.extract, text)
        return _Reply(text, answer and storable(answer), price_usage(usage_of(message), agent.price))

    return _to_candidate(draw, agent, await attempt(ask(), agent.timeout_s))


def _annotate(config: RunnableConfig, draw: _Draw, agent: Agent, state: DelegationState) -> RunnableConfig:
    """Return the call's configuration, which says for whom it is to traces and to scripted models."""
    call = {"agent": agent.name, "task": state["run"]["task_id"], "sample": draw.sample, "round": state["round"]}
    return RunnableConfig(**{**config, "metadata": {**config.get("metadata", {}), **call}})


def _to_candidate(draw: _Draw, agent: Agent, ended: Attempt[_Reply]) -> Candidate:
    reply = ended.value or _Reply("", None, NO_USAGE)
    return Candidate(
        candidate_id=_candidate_id(agent, draw.sample),
        agent=agent.name,
        strategy=agent.strategy(draw.sample % agent.samples),
        sample=draw.sample,
        position=draw.position,
        answer=reply.answer,
        text=reply.text,
        error=storable(ended.cause) if ended.cause else None,
        usage=reply.usage,
    )


def _candidate_id(agent: Agent, sample: int) -> str:
    return f"{agent.name}.{sample}"


def _outline(candidate: Candidate, round_: int) -> CandidateState:
    """Return what of a candidate belongs into the state: all but its text, and why it has no answer."""
    failure: Failure | None = "call_failed" if candidate.error else "no_answer" if candidate.answer is None else None
    return CandidateState(
        id=candidate.candidate_id,
        agent=candidate.agent,
        strategy=candidate.strategy,
        sample=candidate.sample,
        round=round_,
        position=candidate.position,
        answer=candidate.answer,
        preview=candidate.text[:PREVIEW_CHARS],
        error=NO_ANSWER if failure == "no_answer" else candidate.error,
        failure=failure,
        usage=cast("Usage", candidate.usage),
    )


def _problems(drawn: list[CandidateState]) -> list[str]:
    """Return the failed calls, each with its cause; texts without an answer only where the agent has no other."""
    silent = all(candidate["answer"] is None for candidate in drawn)
    return [
        f"{candidate['id']}: {candidate['error']}"
        for candidate in drawn
        if candidate["failure"] == "call_failed" or (silent and candidate["failure"])
    ]
