"""settle: between the waves of a round, whether enough has been asked to leave the rest."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate, chain, pairwise

from langgraph.types import Command

from aligngraph.learning.known import known_tasks, read_competence
from aligngraph.nodes.distinct import distinct_answers
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.schedule import Place, place_samples
from aligngraph.nodes.votes import count_votes
from aligngraph.policy import Stop, asking_order, early_stop, wave_sizes
from aligngraph.randomness import generator
from aligngraph.state import DelegationState, LearnedState, StateUpdate, StoppedState
from aligngraph.team import Team


async def settle_round(state: DelegationState, *, resources: Resources) -> Command[str]:
    """Return where to go: to the agents of the next wave, or to the principal once more samples would hardly matter."""
    if not state["waiting"]:
        return Command(goto="principal")
    stop = await _stop(state, resources.team)
    if stop is None:
        due, *waiting = state["waiting"]
        update = StateUpdate(due=due, waiting=waiting)
        return Command(update=update, goto=_agents_of(due, resources.team, state.get("dealt")))
    left_out = sum(map(len, state["waiting"]))
    stopped = StoppedState(reason=stop.reason, posterior=stop.posterior, skipped_samples=left_out)
    return Command(update=StateUpdate(waiting=[], stopped=stopped), goto="principal")


def plan_waves(team: Team, learned: LearnedState, seed: int, dealt: Mapping[str, int] | None) -> list[list[str]]:
    """Return the ids of the first round's samples in waves, those first whose arms have earned most; by chance, a bit."""
    queues: dict[str, list[Place]] = {}
    for place in place_samples(team, 1, dealt):
        queues.setdefault(place.arm, []).append(place)
    arms = list(queues)
    order = asking_order(
        [len(queues[arm]) for arm in arms],
        read_competence(learned, arms),
        known_tasks(learned, arms),
        generator(seed, "waves"),
    )
    ids = [queues[arms[turn]].pop(0).candidate_id for turn in order]
    ends = list(accumulate(wave_sizes(len(ids))))
    return [ids[begin:end] for begin, end in pairwise([0, *ends])]


async def _stop(state: DelegationState, team: Team) -> Stop | None:
    answers = await distinct_answers(state)
    undecided = team.answers.judge is not None and state["run"]["kind"] == "text"
    if not answers or (undecided and len(answers) > 1):  # a model may yet find that two texts are one answer
        return None
    votes = count_votes(answers, state["candidates"])
    places = place_samples(team, 1, state.get("dealt"))
    arms = list(dict.fromkeys(place.arm for place in places))
    rows = dict(zip(votes.arms, votes.counts, strict=True))
    waiting = set(chain.from_iterable(state["waiting"]))
    remaining = Counter(place.arm for place in places if place.candidate_id in waiting)
    return early_stop(
        [rows.get(arm, (0,) * len(answers)) for arm in arms],
        [remaining[arm] for arm in arms],
        read_competence(state["learned"], arms),
        smoothing=team.game.smoothing,
        threshold=team.budget.threshold,
    )


def _agents_of(due: Iterable[str], team: Team, dealt: Mapping[str, int] | None) -> list[str]:
    wanted = set(due)
    return list(dict.fromkeys(place.agent for place in place_samples(team, 1, dealt) if place.candidate_id in wanted))
