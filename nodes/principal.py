"""principal: ranks the distinct answers without knowing who gave them; when it fails, the votes stand alone."""

from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from aligngraph.context import DelegationContext
from aligngraph.nodes.distinct import distinct_answers
from aligngraph.nodes.judging import Case, Ranked, ask_principal
from aligngraph.nodes.lines import take_up
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import add_usage
from aligngraph.nodes.text_judge import merge_texts
from aligngraph.persistence import PolicyStore
from aligngraph.persistence.tables import storable
from aligngraph.ranking import RankingCall
from aligngraph.ranking.contract import LEAST_COMPARABLE
from aligngraph.state import AnswerState, DelegationState, JudgeState, RankingState, StateUpdate, Usage


class _Verdict(TypedDict):
    """What is stored of a round, so that it is asked for once.

    `found` are the answers as they were compared without a model, `answers` those that were ranked; `ranking` is None
    where a model found that all are one.
    """

    found: list[AnswerState]
    answers: list[AnswerState]
    ranking: RankingState | None
    usage: Usage
    problems: list[str]


async def rank_answers(
    state: DelegationState, runtime: Runtime[DelegationContext], config: RunnableConfig, *, resources: Resources
) -> StateUpdate:
    """Return the distinct answers and the principal's ranking of them; with fewer than two there is nothing to rank."""
    found = await distinct_answers(state)
    if len(found) < LEAST_COMPARABLE:
        return StateUpdate(answers=found, ranking=None)
    async with resources.open_store() as store:
        verdict = await _recall(state, found, store)
        if verdict is None:
            verdict = await _judge(state, found, store, config, resources)
            await store.record_ranking(state["run"]["run_id"], state["round"], dict(verdict))
            verdict = await _recall(state, found, store) or verdict  # of two at once, the first one's
    answers, ranking = verdict["answers"], verdict["ranking"]
    tiers = [[answers[number]["answer"] for number in tier] for tier in (ranking["tiers"] if ranking else [])]
    runtime.stream_writer({"event": "ranking", "tiers": tiers})
    spent = add_usage([state["principal_usage"], verdict["usage"]])
    return StateUpdate(answers=answers, ranking=ranking, principal_usage=spent, problems=verdict["problems"])


async def _recall(state: DelegationState, found: list[AnswerState], store: PolicyStore) -> _Verdict | None:
    """Return the verdict that an interrupted run has paid for, None if there is none on these very answers."""
    stored = await store.read_ranking(state["run"]["run_id"], state["round"])
    return cast("_Verdict", stored) if stored and stored.get("found") == found else None


async def _judge(
    state: DelegationState, found: list[AnswerState], store: PolicyStore, config: RunnableConfig, resources: Resources
) -> _Verdict:
    await take_up([candidate["usage"] for candidate in state["candidates"]], state, resources, store)
    texts = await store.read_texts(state["run"]["run_id"])
    merged = await merge_texts(state, found, resources, config)
    verdict = _Verdict(found=found, answers=merged.answers, ranking=None, usage=merged.usage, problems=merged.problems)
    if len(merged.answers) < LEAST_COMPARABLE:
        return verdict
    ranked = await ask_principal(Case(resources, state, merged.answers, texts, config))
    ranking = _report(ranked)
    return _Verdict(
        **{
            **verdict,
            "ranking": ranking,
            "usage": add_usage([merged.usage, ranking["usage"]]),
            "problems": [*merged.problems, *ranked.problems],
        }
    )


def _report(ranked: Ranked) -> RankingState:
    preference = ranked.preference
    return RankingState(
        ranker=ranked.ranker,
        model=ranked.model,
        stand_in=ranked.stand_in,
        tiers=[list(tier) for tier in preference.tiers],
        judges=[JudgeState(arm=arm, tiers=[list(tier) for tier in own.tiers]) for arm, own in ranked.judges.items()],
        shares_model_with=ranked.shares_model_with,
        preference=[list(row) for row in preference.matrix],
        abstained=list(preference.abstained),
        calls=[_audit(call) for call in preference.calls],
        usage=ranked.usage,
    )


def _audit(call: RankingCall) -> dict[str, object]:
    return {
        "judge": call.judge,
        "labels": call.labels,
        "verdict": storable(call.verdict),
        "outcome": call.outcome,
        "order": list(call.order),
        "score": call.score,
        "problem": storable(call.problem) if call.problem else None,
    }
