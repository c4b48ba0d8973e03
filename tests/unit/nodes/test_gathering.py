"""Evidence of a task out of its state."""

import pytest

from aligngraph import Team
from aligngraph.learning.evidence import Evidence, Judged
from aligngraph.learning.known import UNSEEN
from aligngraph.nodes.gathering import gather_evidence
from aligngraph.policy import LEARNERS, GameRules, Learners, play_round

ANSWERS = [
    {"answer": "1", "candidates": ["a.0"], "spellings": ["1"]},
    {"answer": "2", "candidates": ["b.0"], "spellings": ["2", "2.0"]},
]
RULES = GameRules(1.0, 0.4, 0.5, 100)
LEARNT = Learners(competence=[0.5, 0.5], gradient=[0.0, 0.0], shares=[0.5, 0.5], team_samples=6)


@pytest.fixture(scope="module")
def team():
    agents = [{"name": name, "model": "scripted:none", "strategies": ["direct"], "samples": 2} for name in "abc"]
    return Team.model_validate({"agents": agents, "principal": {"model": "scripted:none"}})


def candidate(agent, sample, answer, *, round_=1, failure=None):
    return {
        "id": f"{agent}.{sample}",
        "agent": agent,
        "strategy": "direct",
        "sample": sample,
        "round": round_,
        "answer": answer,
        "failure": failure,
    }


def ranking(*tiers, stand_in=False, judges=()):
    return {"preference": [[0.5, 1.0], [0.0, 0.5]], "tiers": list(tiers), "stand_in": stand_in, "judges": list(judges)}


@pytest.fixture
def state(team):
    """Return a function that makes the state after the last round; c failed twice."""

    def make(**changes):
        candidates = [
            candidate("a", 0, "1"),
            candidate("a", 1, "2.0"),
            candidate("b", 0, "2"),
            candidate("b", 1, None),
            candidate("c", 0, None, failure="call_failed"),
            candidate("c", 1, None, failure="call_failed"),
        ]
        arms = {arm: {**UNSEEN, "made_of": made_of} for arm, made_of in team.arms.items()}
        principals = {"principal": {**UNSEEN, "made_of": "p"}}
        learners = {name: {"count": 0.0, "loss": 0.0} for name in (*LEARNERS, "delegation")}
        return {
            "candidates": candidates,
            "answers": ANSWERS,
            "ranking": ranking([0], [1]),
            "agreed": {"principal": {"payoff": 0.25, "clarity": 0.5}},
            "learned": {"arms": arms, "principals": principals, "learners": learners},
            "round": 1,
            "dealt": None,
            "stopped": None,
            **changes,
        }

    return make


def gather(state, team, **game):
    played = play_round([[1, 1], [0, 1]], [[0.5, 1.0], [0.0, 0.5]], LEARNT, RULES)
    return gather_evidence(state, played, 1, team.game.model_copy(update=game), team)


def test_votes_failures_and_samples_are_counted_by_arm(state, team):
    evidence = gather(state(), team)
    assert evidence.arms == ("a/direct", "b/direct", "c/direct")
    assert evidence.made_of == tuple(team.arms.values())
    assert (evidence.asked, evidence.failed) == ((2, 2, 2), (0, 0, 2))
    assert (evidence.first, evidence.counts) == (((1, 1, 0), (0, 1, 0), (0, 0, 0)), ((1, 1), (0, 1), (0, 0)))
    assert (evidence.chosen, evidence.majority, evidence.planned, evidence.chances) == (1, 1, 6, ())


def test_only_the_first_round_is_asked_but_calls_fail_in_all(state, team):
    later = [candidate("a", 2, "2", round_=2), candidate("b", 2, None, round_=2, failure="call_failed")]
    evidence = gather(state(candidates=[*state()["candidates"], *later], round=2), team)
    assert (evidence.asked, evidence.failed, evidence.rounds) == ((2, 2, 2), (0, 1, 2), 2)
    assert (evidence.first[0], evidence.counts[0]) == ((1, 1, 0), (0, 1)), "what it said first stays"


def test_the_game_is_noted_as_it_was_played(state, team):
    rules = gather(state(), team).rules
    assert (rules.step_size, rules.anchor, rules.smoothing, rules.max_steps, rules.trusted) == (
        1.0,
        0.4,
        0.5,
        200,
        True,
    )
    assert not gather(state(), team, anchor=0.4).rules.trusted, "it was set and not learned"


def test_the_principal_and_its_panel_are_noted_with_what_they_liked_best(state, team):
    judges = [{"arm": "principal/x", "tiers": [[1], [0]]}, {"arm": "principal/y", "tiers": []}]
    evidence = gather(state(ranking=ranking([0, 1], judges=judges)), team)
    assert evidence.judges == {"principal": (0, 1), "principal/x": (1,)}
    assert (evidence.tiers, evidence.preference) == (((0, 1),), ((0.5, 1.0), (0.0, 0.5)))
    assert (evidence.agreed, evidence.principals) == ({"principal": Judged(0.25, 0.5)}, {"principal": "p"})


def test_a_stand_in_s_ranking_is_noted_but_speaks_for_no_judge(state, team):
    evidence = gather(state(ranking=ranking([1], [0], stand_in=True), agreed={}), team)
    assert (evidence.judges, evidence.tiers) == ({}, ((1,), (0,)))


def test_without_a_ranking_there_is_no_preference(state, team):
    evidence = gather(state(ranking=None, agreed={}), team)
    assert (evidence.preference, evidence.tiers, evidence.judges) == (None, (), {})


def test_without_an_answer_failures_are_evidence_too(state, team):
    failed = [candidate("a", 0, None, failure="call_failed"), candidate("b", 0, None)]
    evidence = gather_evidence(
        state(candidates=failed, answers=[], ranking=None, agreed={}), None, None, team.game, team
    )
    assert (evidence.chosen, evidence.answers, evidence.failed, evidence.asked) == (None, 0, (1, 0, 0), (1, 1, 0))
    assert evidence.first == ((0,), (0,), (0,))


def test_where_samples_were_dealt_by_chance_the_chances_are_noted(state, team):
    scarce = team.model_copy(update={"budget": team.budget.model_copy(update={"deal": "learned", "samples": 2})})
    dealt = dict.fromkeys(team.arms, 1)
    assert gather(state(dealt=dealt), scarce).chances == pytest.approx((2 / 3,) * 3)
    assert gather(state(dealt=dealt), team).chances == (1.0, 1.0, 1.0), "there is one for each"


def test_it_can_be_stored(state, team):
    evidence = gather(state(stopped={"reason": "settled", "posterior": 0.9, "skipped_samples": 3}), team)
    assert evidence.stopped
    assert Evidence.read(evidence.as_json()) == evidence
