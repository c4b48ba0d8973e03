import numpy as np
import pytest

from aligngraph.policy import (
    belief_after_wrong,
    competence,
    fed_back_payoffs,
    open_posterior,
    right_target,
    self_assessed_payoff,
    vote_shares,
)


def test_the_target_is_even_over_the_right_answers():
    assert right_target([False, True, False]).tolist() == [0, 1, 0]
    assert right_target([True, True, False]).tolist() == [0.5, 0.5, 0]


def test_where_no_answer_is_right_the_target_is_nothing():
    assert right_target([False, False]).tolist() == [0, 0]


def test_a_wrong_choice_leaves_its_share_to_the_others_in_proportion():
    belief = belief_after_wrong([0.6, 0.2, 0.1, 0.1], 0)
    np.testing.assert_allclose(belief, [0, 0.5, 0.25], rtol=1e-12)


def test_part_of_it_goes_to_an_answer_that_nobody_gave():
    assert belief_after_wrong([0.6, 0.2, 0.1, 0.1], 0).sum() == pytest.approx(0.75)


def test_when_the_only_answer_is_wrong_none_is_right():
    assert belief_after_wrong([0.8, 0.2], 0).tolist() == [0]
    assert belief_after_wrong([1.0, 0.0], 0).tolist() == [0]


def test_a_wrong_choice_that_was_hardly_believed_changes_little():
    before = np.array([0.001, 0.7, 0.2, 0.099])
    np.testing.assert_allclose(belief_after_wrong(before, 0)[1:], before[1:-1], atol=1e-3)


def test_belief_after_wrong_leaves_its_argument_alone():
    before = np.array([0.6, 0.3, 0.1])
    belief_after_wrong(before, 0)
    assert before.tolist() == [0.6, 0.3, 0.1]


def test_an_arm_is_paid_the_share_of_its_samples_that_were_right():
    assert fed_back_payoffs([[3, 1, 0], [0, 2, 0]], [1, 0]).tolist() == [0.75, 0]


def test_two_right_answers_pay_in_full_each():
    assert fed_back_payoffs([[1, 1, 0, 0], [1, 0, 1, 0]], [1, 1, 0]).tolist() == [1, 0.5]


def test_an_answer_given_up_since_was_wrong_but_was_given():
    assert fed_back_payoffs([[1, 0, 3]], [1, 0]).tolist() == [0.25]


def test_an_arm_without_a_valid_sample_has_no_payoff():
    paid = fed_back_payoffs([[0, 0, 0], [1, 0, 0]], [1, 0])
    assert np.isnan(paid[0])
    assert paid[1] == 1


def test_where_nobody_is_right_all_that_spoke_are_paid_nothing():
    assert fed_back_payoffs([[3, 1, 0], [0, 2, 1]], [0, 0]).tolist() == [0, 0]


def test_knowing_only_that_the_choice_was_wrong_turns_payoffs_round():
    counts = np.array([[2, 0], [2, 0], [0, 1]])
    opened = open_posterior(counts, competence(np.zeros(3), np.zeros(3)))
    first = np.pad(counts, ((0, 0), (0, 1)))
    before = self_assessed_payoff(vote_shares(first), opened)
    after = fed_back_payoffs(first, belief_after_wrong(opened, 0))
    assert before[0] > before[2]
    assert after[0] == 0
    assert before[2] < after[2] < 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: right_target([]), "right: got shape"),
        (lambda: belief_after_wrong([0.5, 0.4], 0), "open_posterior: got a row with sum 0.9"),
        (lambda: belief_after_wrong([0.5, 0.5], 1), "chosen: got 1, allowed is a column from 0 to 0"),
        (lambda: belief_after_wrong([0.5, 0.3, 0.2], -1), "chosen: got -1"),
        (lambda: fed_back_payoffs([[1, 0]], [1, 0]), "belief: got shape"),
        (lambda: fed_back_payoffs([[1, 0, 0]], [1.5, 0]), r"belief: got 1\.5"),
        (lambda: fed_back_payoffs([[1, -1, 0]], [1, 0]), r"first_votes: got -1\.0"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
