"""The evidence of a task, gathered from the state when its last round is over."""

from collections import Counter

from aligngraph.learning.evidence import Evidence, Judged, Rules
from aligngraph.learning.known import share_samples
from aligngraph.nodes.votes import arm_of, count_first_votes, count_votes
from aligngraph.policy import RoundOutcome, chances
from aligngraph.roles import PRINCIPAL
from aligngraph.settings import Game
from aligngraph.state import DelegationState
from aligngraph.team import Team


def gather_evidence(
    state: DelegationState, played: RoundOutcome | None, chosen: int | None, game: Game, team: Team
) -> Evidence:
    """Return what can be learned of the task; `played` and `chosen` are None where no agent gave an answer."""
    arms, answers, ranking = state["learned"]["arms"], state["answers"], state["ranking"]
    first = count_first_votes(answers, state["candidates"])
    last = count_votes(answers, state["candidates"])
    first_rows, last_rows = (
        dict(zip(first.arms, first.counts, strict=True)),
        dict(zip(last.arms, last.counts, strict=True)),
    )
    asked = Counter(arm_of(candidate) for candidate in state["candidates"] if candidate["round"] == 1)
    failed = Counter(arm_of(candidate) for candidate in state["candidates"] if candidate["failure"] == "call_failed")
    return Evidence(
        arms=tuple(arms),
        made_of=tuple(record["made_of"] for record in arms.values()),
        asked=tuple(asked[arm] for arm in arms),
        failed=tuple(failed[arm] for arm in arms),
        first=tuple(first_rows.get(arm, (0,) * (len(answers) + 1)) for arm in arms),
        counts=tuple(last_rows.get(arm, (0,) * len(answers)) for arm in arms),
        rules=Rules(
            game.step_size, played.anchor if played else 0.0, game.smoothing, game.max_steps, game.anchor == "trust"
        ),
        chosen=chosen,
        majority=played.majority if played else None,
        posterior=tuple(played.posterior.tolist()) if played else (),
        planned=team.samples,
        preference=tuple(map(tuple, ranking["preference"])) if ranking else None,
        tiers=tuple(map(tuple, ranking["tiers"])) if ranking else (),
        judges=first_choices(state),
        agreed={arm: Judged(**judged) for arm, judged in state["agreed"].items()},
        principals={arm: record["made_of"] for arm, record in state["learned"]["principals"].items()},
        stopped=bool(state.get("stopped")),
        chances=_chances(state, team),
        rounds=state["round"],
    )


def first_choices(state: DelegationState) -> dict[str, tuple[int, ...]]:
    """Return the answers that the principal and each judge of a panel like best, by arm; a stand-in's are left out."""
    ranking = state["ranking"]
    if ranking is None or ranking["stand_in"]:
        return {}
    tiers = {PRINCIPAL: ranking["tiers"], **{judge["arm"]: judge["tiers"] for judge in ranking["judges"]}}
    return {arm: tuple(own[0]) for arm, own in tiers.items() if own}


def _chances(state: DelegationState, team: Team) -> tuple[float, ...]:
    """Return how likely each arm was to be asked, nothing where samples are not dealt by chance."""
    if state.get("dealt") is None:
        return ()
    shares = list(share_samples(state["learned"]).values())
    return tuple(chances(shares, team.samples).tolist())
