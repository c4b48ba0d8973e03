"""principal: ranks the distinct answers without knowing who gave them; when it fails, the votes stand alone."""

from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from aligngraph.answers import group_answers
from aligngraph.context import DelegationContext
from aligngraph.models import estimate_tokens, input_limit, model_label
from aligngraph.nodes.isolation import attempt
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import NO_USAGE, add_usage, price_usage
from aligngraph.nodes.votes import current_candidates
from aligngraph.persistence import PolicyStore
from aligngraph.persistence.tables import storable
from aligngraph.randomness import sampling_seed
from aligngraph.ranking import RANKERS, Option, Preference, RankingCall, RankingTask
from aligngraph.state import AnswerState, CandidateState, DelegationState, RankingState, StateUpdate, Usage
from aligngraph.team import Principal

INSTRUCTION_TOKENS = 600  # the ranker's own text, a second ask and the reply
CHARACTERS_PER_TOKEN = 3
LEAST_SOLUTION_CHARS = 200
MOST_SOLUTION_CHARS = 4000


@dataclass(frozen=True)
class _Ranked:
    """A preference, the label of the model that gave it, what all calls used, what went wrong before or with it."""

    preference: Preference
    model: str
    stand_in: bool
    usage: Usage
    problems: list[str]


class _Verdict(TypedDict):
    """What is stored of a round, so that it is asked for once: the answers that were ranked, the ranking, its problems."""

    answers: list[AnswerState]
    ranking: RankingState
    problems: list[str]


async def rank_answers(
    state: DelegationState, runtime: Runtime[DelegationContext], config: RunnableConfig, *, resources: Resources
) -> StateUpdate:
    """Return the distinct answers and the principal's ranking of them; with fewer than two there is nothing to rank."""
    answers = _distinct_answers(current_candidates(state["candidates"]))
    if len(answers) < 2:  # noqa: PLR2004 - a comparison takes two
        return StateUpdate(answers=answers, ranking=None)
    async with resources.open_store() as store:
        verdict = await _recall(state, answers, store)
        if verdict is None:
            work = await _describe(state, answers, store, config)
            verdict = _report(await _rank(resources, work), answers, resources.team.principal)
            await store.record_ranking(state["run"]["run_id"], state["round"], dict(verdict))
    ranking = verdict["ranking"]
    runtime.stream_writer({"event": "ranking", "order": [answers[number]["answer"] for number in ranking["order"]]})
    spent = add_usage([state["principal_usage"], ranking["usage"]])
    return StateUpdate(answers=answers, ranking=ranking, principal_usage=spent, problems=verdict["problems"])


def _distinct_answers(candidates: list[CandidateState]) -> list[AnswerState]:
    return [
        AnswerState(answer=group.answer, candidates=[candidates[member]["id"] for member in group.members])
        for group in group_answers([candidate["answer"] for candidate in candidates])
    ]


async def _recall(state: DelegationState, answers: list[AnswerState], store: PolicyStore) -> _Verdict | None:
    """Return the verdict that an interrupted run has paid for, None if there is none on these very answers."""
    stored = await store.read_ranking(state["run"]["run_id"], state["round"])
    return cast("_Verdict", stored) if stored and stored.get("answers") == answers else None


async def _describe(
    state: DelegationState, answers: list[AnswerState], store: PolicyStore, config: RunnableConfig
) -> RankingTask:
    """Return what is to be ranked, each answer shown by its first candidate in seed order."""
    run = state["run"]
    texts = await store.read_texts(run["run_id"])
    metadata = {"agent": "principal", "task": run["task_id"], "round": state["round"]}
    return RankingTask(
        task=run["task"],
        options=tuple(Option(answer["answer"], texts[answer["candidates"][0]]) for answer in answers),
        seed=sampling_seed(run["seed"], state["round"], "principal"),
        max_solution_chars=MOST_SOLUTION_CHARS,
        config=merge_configs(config, {"metadata": metadata}),
    )


async def _rank(resources: Resources, work: RankingTask) -> _Ranked:
    """Return the first preference that the principal or one of its stand-ins gives, else none at all."""
    principal = resources.team.principal
    problems: list[str] = []
    failed: list[Usage] = []
    for number, spec in enumerate((principal.model, *principal.fallback)):
        model = await resources.open_model(spec, temperature=0.0, timeout_s=principal.timeout_s)
        asked = replace(work, max_solution_chars=_room(model, work))
        ended = await attempt(RANKERS[principal.ranker].rank(model, asked), principal.timeout_s)
        if ended.value is not None:
            price = principal.price if number == 0 else None  # what a stand-in costs is not known
            usage = add_usage([*failed, *(price_usage(call.usage, price) for call in ended.value.calls)])
            told = [*problems, *_unusable(ended.value)]
            return _Ranked(ended.value, model_label(spec), number > 0, usage, told)
        failed.append(NO_USAGE)
        problems.append(f"principal {model_label(spec)} failed: {ended.cause}")
    problems.append("no principal is left: decided by the votes alone")
    nothing = Preference.none(len(work.options))
    return _Ranked(nothing, model_label(principal.model), stand_in=False, usage=add_usage(failed), problems=problems)


def _room(model: BaseChatModel, work: RankingTask) -> int:
    """Return how many characters of each solution the model can read beside the task and the instructions."""
    free_tokens = input_limit(model) - estimate_tokens(work.task) - INSTRUCTION_TOKENS
    each = free_tokens / len(work.options) * CHARACTERS_PER_TOKEN
    return int(min(max(each, LEAST_SOLUTION_CHARS), MOST_SOLUTION_CHARS))


def _unusable(preference: Preference) -> list[str]:
    last = preference.calls[-1]
    return [f"principal gave no usable ranking: {last.problem}"] if last.outcome == "unusable" else []


def _report(ranked: _Ranked, answers: list[AnswerState], principal: Principal) -> _Verdict:
    preference = ranked.preference
    ranking = RankingState(
        ranker=principal.ranker,
        model=ranked.model,
        stand_in=ranked.stand_in,
        order=list(preference.order),
        preference=[list(row) for row in preference.matrix],
        abstained=list(preference.abstained),
        calls=[_audit(call) for call in preference.calls],
        usage=ranked.usage,
    )
    return _Verdict(answers=answers, ranking=ranking, problems=ranked.problems)


def _audit(call: RankingCall) -> dict[str, Any]:
    return {"labels": call.labels, "verdict": storable(call.verdict), "outcome": call.outcome, "problem": call.problem}
