"""An agent: draws its samples in parallel, keeps each as it arrives, and never fails another agent."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from aligngraph.context import DelegationContext
from aligngraph.nodes.lines import take_up
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.sample import Draw, Sampler
from aligngraph.nodes.schedule import candidate_id, place_samples
from aligngraph.persistence import Candidate
from aligngraph.prompts import render
from aligngraph.roles import Agent
from aligngraph.state import PREVIEW_CHARS, CandidateState, DelegationState, Failure, StateUpdate, Usage
from aligngraph.strategies import Strategy
from aligngraph.team import Team

NO_ANSWER = "no final answer in the text"


async def propose_candidates(
    state: DelegationState,
    runtime: Runtime[DelegationContext],
    config: RunnableConfig,
    *,
    agent: Agent,
    resources: Resources,
) -> StateUpdate:
    """Return this round's candidates of one agent; those that an interrupted run already holds are not asked for again."""
    run_id, round_ = state["run"]["run_id"], state["round"]
    async with resources.open_store() as store:
        known = {candidate.candidate_id: candidate for candidate in await store.read_candidates(run_id)}
        await take_up([candidate.usage for candidate in known.values()], state, resources, store)
        sampler = Sampler(agent, resources, state, config, store, _deadline(state, agent, resources))

        async def draw_once(draw: Draw) -> Candidate:
            candidate = known.get(candidate_id(agent.name, draw.sample))
            if candidate is None:
                candidate = await sampler.draw(draw)
                await store.record_candidate(run_id, candidate)
            runtime.stream_writer({"event": "candidate", **_outline(candidate, round_)})
            return candidate

        drawn = await _gather(draw_once(draw) for draw in _plan(state, agent, resources.team))
    outlines = [_outline(candidate, round_) for candidate in drawn]
    if agent.repeats_itself:
        same_round = [one for one in known.values() if one.sample // agent.samples == round_ - 1]
        outlines = _name_duplicates(outlines, [*same_round, *drawn])
    return StateUpdate(candidates=outlines, problems=_problems(outlines, drawn))


def _deadline(state: DelegationState, agent: Agent, resources: Resources) -> float | None:
    """Return when the agent's calls of this round must have ended, all waves of it together; None for any time."""
    if agent.total_timeout_s is None:
        return None
    ledger = resources.ledger_of(state["run"]["run_id"])
    return ledger.deadline_of((agent.name, state["round"]), agent.total_timeout_s)


async def _gather(draws: Iterable[Coroutine[Any, Any, Candidate]]) -> list[Candidate]:
    """Return what all draws come to. One that cannot be kept ends the others: what they cost could not be either."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(draw) for draw in draws]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def _plan(state: DelegationState, agent: Agent, team: Team) -> list[Draw]:
    """Return the draws that are due now."""
    due = state.get("due")  # not in a checkpoint of an earlier version
    told = {strategy.name: _tell(state, strategy) for strategy in agent.strategies}
    return [
        Draw(
            place.sample,
            place.position,
            told[place.strategy.name],
            compose(state["messages"], told[place.strategy.name]),
        )
        for place in place_samples(team, state["round"], state.get("dealt"))
        if place.agent == agent.name and (due is None or place.candidate_id in due)
    ]


def _tell(state: DelegationState, strategy: Strategy) -> Strategy:
    """Return the strategy, whose last turn from round 2 on tells the ranking: it is the one that asks for the answer."""
    if state["round"] == 1:
        return strategy
    reconsider = render("reconsider", order=_ranked_answers(state))
    last = "\n\n".join((*strategy.turns[-1:], reconsider))
    return strategy.model_copy(update={"turns": (*strategy.turns[:-1], last)})


def compose(messages: Sequence[AnyMessage], strategy: Strategy) -> list[AnyMessage]:
    """Return what the model is shown first: the strategy, the chat's own instructions, solved examples, and the chat."""
    if not strategy.turns:
        return list(messages)
    chat = [message for message in messages if not isinstance(message, SystemMessage)]
    instructions = [strategy.turns[0]]
    instructions += [str(message.text) for message in messages if isinstance(message, SystemMessage)]
    examples: list[AnyMessage] = []
    for example in strategy.examples:
        examples += [HumanMessage(example.task), AIMessage(example.solution)]
    return [SystemMessage("\n\n".join(instructions)), *examples, *chat]


def _ranked_answers(state: DelegationState) -> str:
    ranking = state["ranking"]
    tiers = ranking["tiers"] if ranking else []
    return "\n".join(
        f"{place}. {state['answers'][number]['answer']}" for place, tier in enumerate(tiers, 1) for number in tier
    )


def _outline(candidate: Candidate, round_: int) -> CandidateState:
    """Return what of a candidate belongs into the state: all but its text, and why it has no answer."""
    failure = cast("Failure | None", candidate.failure) or _failure_of_old(candidate)
    return CandidateState(
        id=candidate.candidate_id,
        agent=candidate.agent,
        strategy=candidate.strategy,
        sample=candidate.sample,
        round=round_,
        position=candidate.position,
        answer=candidate.answer,
        preview=candidate.text[:PREVIEW_CHARS],
        error=candidate.error or (NO_ANSWER if failure else None),
        failure=failure,
        model=candidate.model,
        duplicate_of=None,
        usage=cast("Usage", candidate.usage),
    )


def _failure_of_old(candidate: Candidate) -> Failure | None:
    """Return the kind of failure of a candidate that an earlier version stored without one."""
    return "call_failed" if candidate.error else "no_answer" if candidate.answer is None else None


def _name_duplicates(outlines: list[CandidateState], drawn: Iterable[Candidate]) -> list[CandidateState]:
    """Return the outlines, each with the first sample of its arm that has the very same text: it is no second opinion."""
    first: dict[tuple[str, str, str], str] = {}
    for candidate in sorted(drawn, key=lambda candidate: candidate.position):
        first.setdefault((candidate.agent, candidate.strategy, candidate.text), candidate.candidate_id)
    own = {candidate.candidate_id: first[candidate.agent, candidate.strategy, candidate.text] for candidate in drawn}
    return [
        CandidateState(**{**outline, "duplicate_of": own[outline["id"]]})
        if outline["answer"] is not None and own[outline["id"]] != outline["id"]
        else outline
        for outline in outlines
    ]


def _problems(outlines: list[CandidateState], drawn: Iterable[Candidate]) -> list[str]:
    """Return the failed calls, each with its cause; texts without an answer only where the agent has no other."""
    silent = all(outline["answer"] is None for outline in outlines)
    return [
        f"{candidate.candidate_id}: {problem}"
        for outline, candidate in zip(outlines, drawn, strict=True)
        for problem in (outline["error"] if _is_told(outline, silent=silent) else None, candidate.detour)
        if problem
    ]


def _is_told(outline: CandidateState, *, silent: bool) -> bool:
    return outline["failure"] in {"call_failed", "not_asked"} or (silent and outline["failure"] is not None)
