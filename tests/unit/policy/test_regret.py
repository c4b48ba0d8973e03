import numpy as np
import pytest

from aligngraph.policy import anchored_nash_gap, external_regret, nash_gap, regret_bound

INITIAL = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
PAYOFF = np.array([[0.2, 0.9, 0.5], [0.4, 0.4, 0.3]])


def best_responses(anchor):
    raw = INITIAL * np.exp(PAYOFF / anchor)
    return raw / raw.sum(axis=1, keepdims=True)


def anchored_worth(policy, anchor):
    return (policy * PAYOFF - anchor * policy * np.log(policy / INITIAL)).sum(axis=1)


def test_regret_compares_with_the_best_fixed_answer():
    totals = np.array([[3.0, 5.0], [2.0, 2.0]])
    assert external_regret(totals, np.array([3.5, 2.5])).tolist() == [1.5, -0.5]


def test_the_bound_is_that_of_hedge_by_hand():
    totals = np.array([[3.0, 5.0, 0.0], [0.0, 0.0, 1.0]])
    bound = regret_bound(INITIAL, totals, step_size=0.5, steps=8)
    np.testing.assert_allclose(bound, [-np.log(0.3) / 0.5 + 0.5, -np.log(0.6) / 0.5 + 0.5], rtol=1e-15)


def test_a_best_response_leaves_no_gap():
    assert nash_gap(np.array([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]), PAYOFF).tolist() == [0.0, 0.0]


def test_the_gap_is_what_the_best_answer_pays_more():
    np.testing.assert_allclose(nash_gap(INITIAL, PAYOFF), [0.9 - 0.44, 0.4 - 0.34], rtol=1e-12)


def test_rounding_never_makes_a_gap_negative():
    fifths = np.full((1, 5), 1 / 5)
    for level in np.linspace(0, 1, 101):
        indifferent = np.full((1, 5), level)
        assert nash_gap(fifths, indifferent).min() >= 0
        assert anchored_nash_gap(fifths, indifferent, fifths, 0.3).min() >= 0


@pytest.mark.parametrize("anchor", [0.01, 0.3, 5.0])
def test_the_anchored_gap_is_zero_at_the_anchored_best_response(anchor):
    np.testing.assert_allclose(anchored_nash_gap(best_responses(anchor), PAYOFF, INITIAL, anchor), 0, atol=1e-12)


@pytest.mark.parametrize("anchor", [0.05, 0.3, 5.0])
def test_the_anchored_gap_is_the_distance_to_the_anchored_best_response(anchor):
    policy = np.array([[0.2, 0.2, 0.6], [0.7, 0.2, 0.1]])
    expected = anchored_worth(best_responses(anchor), anchor) - anchored_worth(policy, anchor)
    np.testing.assert_allclose(anchored_nash_gap(policy, PAYOFF, INITIAL, anchor), expected, rtol=1e-11)


def test_no_policy_beats_the_anchored_best_response():
    rng = np.random.default_rng(0)
    best = anchored_worth(best_responses(0.3), 0.3)
    for _ in range(200):
        assert (anchored_worth(rng.dirichlet(np.ones(3), size=2), 0.3) <= best).all()


def test_without_an_anchor_the_two_gaps_are_one():
    assert anchored_nash_gap(INITIAL, PAYOFF, INITIAL, 0.0).tolist() == nash_gap(INITIAL, PAYOFF).tolist()


def test_a_light_anchor_does_not_overflow_and_comes_near_the_plain_gap():
    gap = anchored_nash_gap(INITIAL, PAYOFF, INITIAL, 1e-6)
    np.testing.assert_allclose(gap, nash_gap(INITIAL, PAYOFF), rtol=0, atol=1e-5)


def test_an_answer_given_up_altogether_costs_no_divergence():
    policy = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    gap = anchored_nash_gap(policy, PAYOFF, INITIAL, 0.3)
    best = anchored_worth(best_responses(0.3), 0.3)
    worth = np.array([0.9 + 0.3 * np.log(0.3), 0.3 + 0.3 * np.log(0.6)])
    np.testing.assert_allclose(gap, best - worth, rtol=1e-12)
