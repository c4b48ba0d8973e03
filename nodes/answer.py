"""answer: the decision as a person wants it in `messages`, and its whole audit in `decision`."""

import time
from typing import Any

from langchain_core.messages import AIMessage

from aligngraph.decision import Alternatives, Answer, Candidate, Decision, GameReport, Ranking, UsageReport
from aligngraph.errors import DelegationFailedError
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import add_usage
from aligngraph.state import AnswerState, DelegationState, StateUpdate, Usage


async def deliver_answer(state: DelegationState, *, resources: Resources) -> StateUpdate:
    """Return the answer and its audit.

    Raises:
        DelegationFailedError: no agent gave an answer; carries every cause and the audit.
    """
    run_id = state["run"]["run_id"]
    async with resources.open_store() as store:
        decision = _decide(state, await store.read_texts(run_id))
        audit = decision.model_dump(mode="json")
        await store.finish_run(run_id, decision.status, audit, evidence=state.get("evidence"))
    resources.close_ledger(run_id)
    if decision.status == "failed":
        raise failure_of(decision)
    return StateUpdate(messages=[AIMessage(decision.text or "")], decision=audit)


def failure_of(decision: Decision) -> DelegationFailedError:
    """Return the error of a run that ended without an answer, every cause in its message."""
    causes = [f"{candidate.id}: {candidate.error}" for candidate in decision.candidates]
    message = f"no agent gave an answer: {'; '.join(causes)}"
    return DelegationFailedError(message, causes, decision.model_dump(mode="json"))


def _decide(state: DelegationState, texts: dict[str, str]) -> Decision:
    run, outcome, answers = state["run"], state["outcome"], state["answers"]
    chosen = answers[outcome["chosen"]] if outcome else None
    return Decision(
        run_id=run["run_id"],
        status="failed" if chosen is None else "degraded" if state["problems"] else "ok",
        problems=state["problems"],
        warnings=state.get("warnings", []),
        answer=chosen["answer"] if chosen else None,
        text=texts[chosen["candidates"][0]] if chosen else None,
        domain=state["domain"],
        kind=run["kind"],
        kind_guessed=run["guessed"],
        seed=run["seed"],
        candidates=[Candidate.model_validate({**entry, "text": texts[entry["id"]]}) for entry in state["candidates"]],
        answers=_answers(state),
        ranking=_ranking(state),
        game=GameReport.model_validate(outcome["game"]) if outcome else None,
        alternatives=Alternatives.model_validate(outcome["alternatives"]) if outcome else None,
        learners=outcome.get("learners", {}) if outcome else {},
        weights=state["weights"],  # type: ignore[arg-type]  # pydantic builds the model from the dictionary
        stopped=state.get("stopped"),  # type: ignore[arg-type]  # pydantic builds the model from the dictionary
        usage=_usage(state),
        seconds=round(time.time() - run["started_at"], 3),
    )


def _answers(state: DelegationState) -> list[Answer]:
    outcome = state["outcome"]
    if outcome is None:
        return []
    return [
        Answer(
            answer=answer["answer"],
            votes=len(answer["candidates"]),
            posterior=outcome["posterior"][number],
            policy={arm: policy[number] for arm, policy in outcome["policy"].items()},
        )
        for number, answer in enumerate(state["answers"])
    ]


def _ranking(state: DelegationState) -> Ranking | None:
    ranking = state["ranking"]
    if ranking is None:
        return None
    return Ranking(
        ranker=ranking["ranker"],
        model=ranking["model"],
        order=[answer for tier in ranking["tiers"] for answer in _spell(tier, state["answers"])],
        ties=[_spell(tier, state["answers"]) for tier in ranking["tiers"] if len(tier) > 1],
        shares_model_with=ranking["shares_model_with"],
        preference=ranking["preference"],
        abstained=_spell(ranking["abstained"], state["answers"]),
        calls=[_spell_labels(call, state["answers"]) for call in ranking["calls"]],
    )


def _spell(numbers: list[int], answers: list[AnswerState]) -> list[str]:
    return [answers[number]["answer"] for number in numbers]


def _spell_labels(call: dict[str, Any], answers: list[AnswerState]) -> dict[str, Any]:
    return {**call, "labels": {label: answers[number]["answer"] for label, number in call["labels"].items()}}


def _usage(state: DelegationState) -> UsageReport:
    by_agent: dict[str, list[Usage]] = {}
    for candidate in state["candidates"]:
        by_agent.setdefault(candidate["agent"], []).append(candidate["usage"])
    agents = {agent: add_usage(parts) for agent, parts in by_agent.items()}
    principal = state["principal_usage"]
    total = add_usage([*agents.values(), principal])
    return UsageReport.model_validate({"agents": agents, "principal": principal, "total": total})
