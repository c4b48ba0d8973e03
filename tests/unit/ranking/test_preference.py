from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.models import TokenCounts
from aligngraph.ranking import Preference, RankingCall
from aligngraph.ranking.listwise import average

SCORES = st.lists(st.none() | st.floats(0, 1), min_size=2, max_size=6)


def assert_sound(preference):
    options = range(len(preference.matrix))
    for y in options:
        assert preference.matrix[y][y] == 0.5
        for z in options:
            assert preference.matrix[y][z] + preference.matrix[z][y] == pytest.approx(1, abs=1e-12)
    assert sorted([*preference.order, *preference.abstained]) == list(options)


@given(SCORES)
def test_scores_make_a_sound_preference(scores):
    preference = Preference.from_scores(scores)
    assert_sound(preference)
    judged = [score for score in scores if score is not None]
    silent = tuple(number for number, score in enumerate(scores) if score is None or len(judged) == 1)
    assert preference.abstained == silent


@given(SCORES)
def test_the_likelier_right_is_never_ranked_behind(scores):
    preference = Preference.from_scores(scores)
    judged = [scores[number] for number in preference.order]
    clipped = [min(max(score, 0.001), 0.999) for score in judged]
    assert all(one >= other - 1e-9 for one, other in pairwise(clipped))


@given(SCORES, st.randoms(use_true_random=False))
def test_f20_neither_tiers_nor_matrix_depend_on_the_order_of_the_options(scores, random):
    shuffled = list(range(len(scores)))
    random.shuffle(shuffled)
    preference, other = Preference.from_scores(scores), Preference.from_scores([scores[i] for i in shuffled])
    renamed = [frozenset(shuffled[own] for own in tier) for tier in other.tiers]
    assert renamed == [frozenset(tier) for tier in preference.tiers]


def test_a_score_is_the_probability_that_it_is_right():
    preference = Preference.from_scores([0.9, 0.5, None])
    assert preference.matrix[0][1] == pytest.approx(0.9)
    assert preference.matrix[0][2] == 0.5
    assert (preference.tiers, preference.abstained) == (((0,), (1,)), (2,))


def test_equal_scores_are_an_explicit_tie():
    assert Preference.from_scores([0.2, 0.7, 0.7]).tiers == ((1, 2), (0,))


def test_nobody_is_surer_than_the_cap():
    assert Preference.from_scores([1.0, 0.0]).matrix[0][1] == pytest.approx(0.999**2 / (0.999**2 + 0.001**2))


def test_an_order_that_leaves_some_out_says_nothing_about_them():
    preference = Preference.from_order((2, 0), 3)
    assert_sound(preference)
    assert preference.matrix[2] == (1.0, 0.5, 0.5)
    assert preference.abstained == (1,)


@pytest.mark.parametrize(
    "preference",
    [
        Preference.from_scores([None, 0.0, None]),
        Preference.from_order((1,), 3),
        Preference.from_matrix(((0.5,) * 3,) * 3, [2]),
    ],
)
def test_one_judged_option_alone_is_no_first_choice(preference):
    assert (preference.tiers, preference.abstained) == ((), (0, 1, 2))


def test_a_cycle_is_one_tie():
    rock_paper_scissors = ((0.5, 1.0, 0.0), (0.0, 0.5, 1.0), (1.0, 0.0, 0.5))
    assert Preference.from_matrix(rock_paper_scissors, range(3)).tiers == ((0, 1, 2),)


def test_among_more_options_the_others_stay_open():
    call = RankingCall({"A": 1, "B": 0}, "B>A", "ranked", (0, 1), usage=TokenCounts(1, 1))
    wide = Preference.from_order((0, 1), 2, [call]).widen([3, 1], 4)
    assert_sound(wide)
    assert (wide.tiers, wide.abstained) == (((3,), (1,)), (0, 2))
    assert wide.matrix[3][1] == 1.0
    assert (wide.calls[0].labels, wide.calls[0].order) == ({"A": 1, "B": 3}, (3, 1))


@given(st.lists(SCORES.filter(lambda scores: len(scores) == 3), min_size=1, max_size=4))
def test_a_mean_of_preferences_is_sound(many):
    assert_sound(average([Preference.from_scores(scores) for scores in many]))


def test_a_mean_goes_by_those_that_judged_the_pair():
    sure, silent, other = Preference.from_order((0, 1), 2), Preference.none(2), Preference.from_order((1, 0), 2)
    assert average([sure, silent]).matrix[0][1] == 1.0
    assert average([sure, other]).tiers == ((0, 1),)
    assert average([sure, other], [3.0, 1.0]).matrix[0][1] == 0.75
    assert average([silent, silent]).abstained == (0, 1)
