"""What tasks pay, against numbers computed by hand."""

import math

import pytest

from aligngraph.learning.evidence import Judged
from aligngraph.learning.teaching import Lesson, Verdict, assess_by, assess_itself

UNKNOWN = Verdict(None)


def assess(evidence, learned_of, verdict=None, **records):
    learned = learned_of(evidence.arms, **records)
    return assess_itself(evidence, learned) if verdict is None else assess_by(verdict, evidence, learned)


def paid(lesson):
    return {arm[0]: payoff for arm, payoff in lesson.payoffs.items()}


def test_by_itself_a_task_pays_the_posterior_at_the_first_votes(evidence_of, learned_of):
    """d gave up one of its two answers: that one pays 0. c has no vote and is paid nothing, not 0."""
    first = [[2, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 1]]
    evidence = evidence_of(first, posterior=(0.7, 0.3), failed=(0, 0, 2, 0), agreed={"principal": Judged(0.4, 0.2)})
    lesson = assess(evidence, learned_of)
    assert paid(lesson) == pytest.approx({"a": 0.7, "b": 0.5, "d": 0.15})
    assert lesson.agreed == {"principal": Judged(0.4, 0.2)}


def test_what_it_said_first_is_paid_for_and_not_what_it_said_at_last(evidence_of, learned_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0]], counts=((1, 0), (1, 0)), posterior=(0.8, 0.2))
    assert paid(assess(evidence, learned_of)) == pytest.approx({"a": 0.8, "b": 0.2})


def test_a_stopped_task_pays_by_the_open_posterior_and_those_left_out_an_estimate(evidence_of, learned_of):
    """Two votes of weight ln 2 for the one answer, policies 5/6 and 1/6: its odds against an unsaid one are 2^(4/3).

    b, left out, has competence 3/10 and is paid as much above it as a above its 1/2. c was asked and failed.
    """
    evidence = evidence_of([[2, 0], [0, 0], [0, 0]], asked=(2, 0, 1), failed=(0, 0, 1), stopped=True)
    odds = 2 ** (4 / 3)
    share = odds / (1 + odds)
    lesson = assess(evidence, learned_of, b={"total": 1.0, "count": 6.0})
    assert paid(lesson) == pytest.approx({"a": share, "b": 0.3 + share - 0.5})


def test_in_a_stopped_task_answers_given_up_since_count_as_answers(evidence_of, learned_of):
    """Weights ln 3, policies (4/9, 4/9, 1/9) and (7/9, 1/9, 1/9), two votes each: scores 22/9, 10/9, 4/9 times ln 3."""
    evidence = evidence_of([[1, 1], [2, 0]], counts=((2,), (2,)), stopped=True)
    odds = [3 ** (score / 9) for score in (22, 10, 4)]
    stayed, given_up = odds[0] / sum(odds), odds[1] / sum(odds)
    assert paid(assess(evidence, learned_of)) == pytest.approx({"a": (stayed + given_up) / 2, "b": stayed})


def test_a_task_without_an_answer_pays_nobody(evidence_of, learned_of):
    nothing = evidence_of([[0], [0]], chosen=None, failed=(1, 2))
    for verdict in (None, UNKNOWN, Verdict(())):
        assert assess(nothing, learned_of, verdict) == Lesson({}, {})


def test_several_answers_may_be_right_and_each_pays_in_full(evidence_of, learned_of):
    first = [[2, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]
    lesson = assess(evidence_of(first), learned_of, Verdict((True, False, True)))
    assert paid(lesson) == {"a": 1.0, "b": 0.5, "c": 0.5}


def test_where_none_is_right_all_that_voted_are_paid_zero(evidence_of, learned_of):
    lesson = assess(evidence_of([[2, 0, 0], [0, 0, 0]], failed=(0, 1)), learned_of, Verdict((False, False)))
    assert paid(lesson) == {"a": 0.0}


@pytest.mark.parametrize(
    ("liked", "payoff"), [((0,), 1.0), ((1,), 0.0), ((0, 1), 0.5), ((0, 1, 2), 1 / 3), ((1, 2), 0.0)]
)
def test_a_judge_of_a_panel_is_paid_for_what_it_likes_best_ties_on_average(evidence_of, learned_of, liked, payoff):
    judge = "principal/listwise@x"
    evidence = evidence_of([[1, 0, 0, 0], [0, 1, 1, 0]], judges={judge: liked}, agreed={judge: Judged(0.9)})
    lesson = assess(evidence, learned_of, Verdict((True, False, False)))
    assert lesson.agreed == {judge: Judged(pytest.approx(payoff), clarity=1.0)}


@pytest.mark.parametrize(
    ("right", "payoff"), [((True, False, False), 0.5), ((False, True, False), 1.0), ((False, False, True), 0.0)]
)
def test_the_principal_is_paid_the_duels_that_the_right_answer_wins(evidence_of, learned_of, right, payoff):
    """It puts the second answer first, then the first one, then the third."""
    preference = ((0.5, 0.0, 1.0), (1.0, 0.5, 1.0), (0.0, 0.0, 0.5))
    first = [[1, 0, 0, 0], [0, 1, 1, 0]]
    evidence = evidence_of(first, judges={"principal": (1,)}, preference=preference, tiers=((1,), (0,), (2,)))
    lesson = assess(evidence, learned_of, Verdict(right))
    assert lesson.agreed == {"principal": Judged(pytest.approx(payoff), clarity=pytest.approx(1.0))}


def test_two_answers_that_may_be_right_make_a_principal_s_skill_harder_to_see(evidence_of, learned_of):
    """Even over two of three: clarity (3 / 2 - 1) / 2. The first wins one duel of two, the second both."""
    preference = ((0.5, 0.0, 1.0), (1.0, 0.5, 1.0), (0.0, 0.0, 0.5))
    evidence = evidence_of([[1, 0, 0, 0], [0, 1, 1, 0]], judges={"principal": (1,)}, preference=preference)
    lesson = assess(evidence, learned_of, Verdict((True, True, False)))
    assert lesson.agreed == {"principal": Judged(pytest.approx(0.75), clarity=pytest.approx(0.25))}


def test_where_no_answer_is_right_no_ranking_of_them_is_better_than_another(evidence_of, learned_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0]], judges={"principal": (0,)}, preference=((0.5, 1.0), (0.0, 0.5)))
    assert assess(evidence, learned_of, Verdict((False, False))).agreed == {}


def test_where_a_stand_in_ranked_no_judge_is_paid(evidence_of, learned_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0]], tiers=((0,), (1,)), preference=((0.5, 1.0), (0.0, 0.5)), judges={})
    assert assess(evidence, learned_of, Verdict((True, False))).agreed == {}


def test_wrong_with_one_answer_says_that_none_is_right(evidence_of, learned_of):
    assert paid(assess(evidence_of([[2, 0], [1, 0]]), learned_of, Verdict((False,)))) == {"a": 0.0, "b": 0.0}


def test_wrong_with_two_answers_leaves_the_other_and_one_that_nobody_gave(evidence_of, learned_of):
    """Weights ln 3, two votes against one: 3 for the other answer to the cube root of 3 for an unsaid one."""
    evidence = evidence_of([[2, 0, 0], [0, 1, 0]], judges={"principal": (0,)}, preference=((0.5, 1.0), (0.0, 0.5)))
    lesson = assess(evidence, learned_of, UNKNOWN)
    assert paid(lesson) == pytest.approx({"a": 0.0, "b": 3 / (3 + 3 ** (1 / 3))})
    assert lesson.agreed == {"principal": Judged(0.0, clarity=1.0)}, "of the answers given, the other one is right"


def test_wrong_with_three_answers_shares_what_is_left_by_the_votes(evidence_of, learned_of):
    """Weights ln 4, policies 3/4 and 1/12: 4 for each other answer to the cube root of 4 for an unsaid one."""
    evidence = evidence_of([[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    left = 4 / (8 + 4 ** (1 / 3))
    assert paid(assess(evidence, learned_of, UNKNOWN)) == pytest.approx({"a": 0.0, "b": left, "c": left})


def test_wrong_leaves_more_to_whom_the_record_speaks_for(evidence_of, learned_of):
    evidence = evidence_of([[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    lesson = assess(evidence, learned_of, UNKNOWN, b={"total": 9.0, "count": 10.0}, c={"total": 1.0, "count": 10.0})
    assert paid(lesson)["b"] > 0.7
    assert 0.3 > paid(lesson)["c"] > 0
    assert math.fsum(paid(lesson).values()) < 1, "some of it stays with an answer that nobody gave"
