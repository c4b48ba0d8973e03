"""policy_update: plays the game, decides, and once per task writes what the arms earned into the policy store."""

import math
from collections import Counter
from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Command

from aligngraph.context import DelegationContext
from aligngraph.nodes.arms import PRINCIPAL, add_payoffs, earned_anchor, read_competence, weigh_arms
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.votes import VoteTable, arm_of, count_first_votes, count_votes, place_of
from aligngraph.persistence import Increment, Update
from aligngraph.policy import (
    GameRules,
    RoundOutcome,
    entropy,
    play_round,
    self_assessed_payoff,
    stopped_payoffs,
    vote_shares,
)
from aligngraph.state import DelegationState, OutcomeState, StateUpdate, WeightsState
from aligngraph.team import Game, LearningMode

SELF_ASSESSMENT = 1  # the key of a task's one update without feedback, however many rounds it took


async def update_policy(
    state: DelegationState, runtime: Runtime[DelegationContext], *, resources: Resources
) -> Command[str]:
    """Return the round's outcome and where to go: agents whose answer lost, while rounds are left, else the answer."""
    context = DelegationContext.of(runtime.context)
    game, mode = context.game(resources.team), context.learning_mode(resources.team)
    if not state["answers"]:
        weights = await _learn(state, {}, {}, mode, resources)
        return Command(update=StateUpdate(weights=weights), goto="answer")
    votes = count_votes(state["answers"], state["candidates"])
    played = _play(state, votes, game)
    outcome = _report(state, votes, played, game, mode)
    belief = {answer["answer"]: share for answer, share in zip(state["answers"], outcome["posterior"], strict=True)}
    runtime.stream_writer({"event": "round", "round": state["round"], "posterior": belief})
    agreed = _agreement(state, played) if state["round"] == 1 else state["agreed"]
    losers = _losers(state, outcome) if state["round"] < game.max_rounds else []
    if losers:
        update = StateUpdate(outcome=outcome, agreed=agreed, round=state["round"] + 1, due=None)
        return Command(update=update, goto=losers)
    weights = await _learn(state, _pay(state, played, game), agreed, mode, resources)
    return Command(update=StateUpdate(outcome=outcome, agreed=agreed, weights=weights), goto="answer")


def _play(state: DelegationState, votes: VoteTable, game: Game) -> RoundOutcome:
    answers, ranking = len(state["answers"]), state["ranking"]
    anchor = earned_anchor(state["learned"], answers) if game.anchor == "trust" else game.anchor
    ranks = place_of(ranking["tiers"], answers) if ranking and ranking["tiers"] else None
    return play_round(
        votes.counts,
        ranking["preference"] if ranking else [[0.5]],
        read_competence(state["learned"], votes.arms),
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


def _agreement(state: DelegationState, played: RoundOutcome) -> dict[str, float]:
    """Return what the votes alone think of the first choice of the principal and of its judges, by arm."""
    ranking = state["ranking"]
    if ranking is None or ranking["stand_in"]:
        return {}
    first_choices = {PRINCIPAL: ranking["tiers"], **{judge["arm"]: judge["tiers"] for judge in ranking["judges"]}}
    return {arm: float(played.unranked_posterior[tiers[0]].mean()) for arm, tiers in first_choices.items() if tiers}


async def _learn(
    state: DelegationState,
    payoffs: dict[str, float],
    agreed: dict[str, float],
    mode: LearningMode,
    resources: Resources,
) -> WeightsState:
    """Return the weights before and after the task as they are stored: whatever runs again, its first update counts."""
    answers = max(1, len(state["answers"]))
    before = weigh_arms(state["learned"], answers=answers)
    if mode == "frozen":
        return WeightsState(before=before, after=before)
    weights = WeightsState(before=before, after=weigh_arms(add_payoffs(state["learned"], payoffs), answers=answers))
    update = Update(
        run_id=state["run"]["run_id"],
        round=SELF_ASSESSMENT,
        domain=state["domain"],
        increments=(*_agent_increments(state, payoffs), *_principal_increments(agreed)),
        result={"weights": weights},
    )
    async with resources.open_store() as store:
        stored = await store.apply_update(update)
    return cast("WeightsState", stored.result["weights"])


def _pay(state: DelegationState, played: RoundOutcome, game: Game) -> dict[str, float]:
    """Return what each arm earned: the posterior at its first votes, cast before it could know what the others say."""
    votes = count_first_votes(state["answers"], state["candidates"])
    if state.get("stopped"):
        return _pay_stopped(state, votes, game)
    earned = self_assessed_payoff(vote_shares(votes.counts), [*played.posterior.tolist(), 0.0])
    return dict(zip(votes.arms, earned.tolist(), strict=True))


def _pay_stopped(state: DelegationState, votes: VoteTable, game: Game) -> dict[str, float]:
    """Return what each arm earns in a task whose last samples were left out, those that were not asked included."""
    arms = list(state["learned"]["arms"])
    given_up = any(row[-1] for row in votes.counts)  # answers that later rounds dropped
    counts = votes.counts if given_up else [row[:-1] for row in votes.counts]
    rows = dict(zip(votes.arms, counts, strict=True))
    nothing = (0,) * len(counts[0])
    asked = Counter(arm_of(candidate) for candidate in state["candidates"] if candidate["round"] == 1)
    earned = stopped_payoffs(
        [rows.get(arm, nothing) for arm in arms],
        [asked[arm] for arm in arms],
        read_competence(state["learned"], arms),
        game.smoothing,
    )
    return {arm: payoff for arm, payoff in zip(arms, earned.tolist(), strict=True) if not math.isnan(payoff)}


def _agent_increments(state: DelegationState, payoffs: dict[str, float]) -> list[Increment]:
    """Return one increment per arm that drew or was paid; a failed call is counted apart and never pays 0."""
    failures = Counter(arm_of(candidate) for candidate in state["candidates"] if candidate["failure"] == "call_failed")
    arms = dict.fromkeys([*map(arm_of, state["candidates"]), *payoffs])
    return [
        Increment(
            arm=arm, kind="agent", payoff=payoffs.get(arm, 0.0), count=int(arm in payoffs), failures=failures[arm]
        )
        for arm in arms
        if arm in payoffs or failures[arm]
    ]


def _principal_increments(agreed: dict[str, float]) -> list[Increment]:
    return [Increment(arm=arm, kind="principal", payoff=paid, count=1, failures=0) for arm, paid in agreed.items()]
