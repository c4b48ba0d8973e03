"""policy_update: plays the game, decides, and once per task writes what the arms earned into the policy store."""

from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Command

from aligngraph.context import DelegationContext
from aligngraph.learning.evidence import Evidence
from aligngraph.learning.known import earned_anchor, read_learners, weigh_arms
from aligngraph.learning.teaching import after, judge_by, place_of, teach
from aligngraph.nodes.gathering import first_choices, gather_evidence
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.votes import VoteTable, count_votes
from aligngraph.persistence import Update
from aligngraph.policy import (
    LEARNERS,
    GameRules,
    RoundOutcome,
    decay,
    entropy,
    play_round,
)
from aligngraph.settings import Game, LearningMode
from aligngraph.state import DelegationState, JudgedState, OutcomeState, StateUpdate, WeightsState
from aligngraph.team import Team

SELF_ASSESSMENT = 1  # the key of a task's one update without feedback, however many rounds it took


async def update_policy(
    state: DelegationState, runtime: Runtime[DelegationContext], *, resources: Resources
) -> Command[str]:
    """Return the round's outcome and where to go: agents whose answer lost, while rounds are left, else the answer."""
    context = DelegationContext.of(runtime.context)
    game, mode = context.game(resources.team), context.learning_mode(resources.team)
    if not state["answers"]:
        evidence = gather_evidence(state, None, None, game, resources.team)
        weights = await _learn(state, evidence, mode, resources)
        return Command(update=StateUpdate(weights=weights, evidence=evidence.as_json()), goto="answer")
    votes = count_votes(state["answers"], state["candidates"])
    played = _play(state, votes, game, resources.team)
    outcome = _report(state, votes, played, game, mode)
    belief = {answer["answer"]: share for answer, share in zip(state["answers"], outcome["posterior"], strict=True)}
    runtime.stream_writer({"event": "round", "round": state["round"], "posterior": belief})
    agreed = _agreement(state, played) if state["round"] == 1 else state["agreed"]
    losers = _losers(state, outcome) if state["round"] < game.max_rounds else []
    if losers:
        update = StateUpdate(outcome=outcome, agreed=agreed, round=state["round"] + 1, due=None)
        return Command(update=update, goto=losers)
    told: DelegationState = {**state, "agreed": agreed}
    evidence = gather_evidence(told, played, outcome["chosen"], game, resources.team)
    weights = await _learn(state, evidence, mode, resources)
    update = StateUpdate(outcome=outcome, agreed=agreed, weights=weights, evidence=evidence.as_json())
    return Command(update=update, goto="answer")


def _play(state: DelegationState, votes: VoteTable, game: Game, team: Team) -> RoundOutcome:
    answers, ranking = len(state["answers"]), state["ranking"]
    anchor = earned_anchor(state["learned"], votes.arms, answers) if game.anchor == "trust" else game.anchor
    ranks = place_of(ranking["tiers"], answers) if ranking and ranking["tiers"] else None
    return play_round(
        votes.counts,
        ranking["preference"] if ranking else [[0.5]],
        read_learners(state["learned"], votes.arms, team_samples=team.samples),
        GameRules(game.step_size, anchor, game.smoothing, game.max_steps),
        principal_order=ranks,
    )


def _report(
    state: DelegationState, votes: VoteTable, played: RoundOutcome, game: Game, mode: LearningMode
) -> OutcomeState:
    """Return the outcome in plain types; in shadow mode the plain vote decides and the game's choice is an alternative."""
    answers = [answer["answer"] for answer in state["answers"]]
    ranking = state["ranking"]
    first = ranking["tiers"][0] if ranking and ranking["tiers"] else []
    return OutcomeState(
        chosen=played.majority if mode == "shadow" else played.chosen,
        posterior=played.posterior.tolist(),
        policy=dict(zip(votes.arms, played.game.policy.tolist(), strict=True)),
        learners=dict(zip(LEARNERS, played.belief.shares.tolist(), strict=True)),
        game=_report_game(votes, played, game),
        alternatives={
            "delegation": answers[played.chosen],
            "majority": answers[played.majority],
            "best_of_n": answers[min(first)] if first else None,
            "single": {agent: answers[number] for agent, number in _own_majorities(state).items()},
        },
    )


def _report_game(votes: VoteTable, played: RoundOutcome, game: Game) -> dict[str, Any]:
    outcome = played.game
    bound = outcome.regret_bound
    return {
        "steps": outcome.steps,
        "settled": outcome.settled,
        "step_size": game.step_size,
        "anchor": played.anchor,
        "regret": dict(zip(votes.arms, outcome.regret.tolist(), strict=True)),
        "regret_bound": {} if bound is None else dict(zip(votes.arms, bound.tolist(), strict=True)),
        "nash_conv": outcome.nash_conv,
        "anchored_nash_conv": outcome.anchored_nash_conv,
        "entropy": entropy(played.posterior),
    }


def _own_majorities(state: DelegationState) -> dict[str, int]:
    """Return the answer that each agent with an answer gave most often, by its number; ties go to the first seen."""
    own: dict[str, int] = {}
    for agent in dict.fromkeys(candidate["agent"] for candidate in state["candidates"]):
        mine = [candidate for candidate in state["candidates"] if candidate["agent"] == agent]
        counts = count_votes(state["answers"], mine).counts
        if counts:
            totals = [sum(column) for column in zip(*counts, strict=True)]
            own[agent] = totals.index(max(totals))
    return own


def _losers(state: DelegationState, outcome: OutcomeState) -> list[str]:
    """Return the agents whose own majority is not the decision, if there is a ranking that they can be told."""
    if not state["ranking"] or not state["ranking"]["tiers"]:
        return []
    return [agent for agent, number in _own_majorities(state).items() if number != outcome["chosen"]]


def _agreement(state: DelegationState, played: RoundOutcome) -> dict[str, JudgedState]:
    """Return what the votes alone make of the principal's duels and of its judges' first choices, by arm."""
    ranking = state["ranking"]
    preference = ranking["preference"] if ranking else None
    judged = judge_by(played.unranked_posterior.tolist(), first_choices(state), preference)
    return {arm: JudgedState(payoff=one.payoff, clarity=one.clarity) for arm, one in judged.items()}


async def _learn(state: DelegationState, evidence: Evidence, mode: LearningMode, resources: Resources) -> WeightsState:
    """Return the weights before and after the task as they are stored: whatever runs again, its first update counts."""
    learned, answers = state["learned"], max(1, evidence.answers)
    before = weigh_arms(learned, answers=answers)
    if mode == "frozen":
        return WeightsState(before=before, after=before)
    half_life, increments = resources.team.learning.half_life, teach(evidence, learned)
    kept = 1.0 if half_life is None else decay(half_life)
    update = Update(
        run_id=state["run"]["run_id"],
        round=SELF_ASSESSMENT,
        domain=state["domain"],
        increments=increments,
        decay=kept,
        result={
            "weights": WeightsState(before=before, after=weigh_arms(after(learned, increments, kept), answers=answers))
        },
    )
    async with resources.open_store() as store:
        stored = await store.apply_update(update)
    return cast("WeightsState", stored.result["weights"])
