import math

import numpy as np
import pytest

from aligngraph.policy import (
    allot,
    chances,
    delegation_losses,
    delegation_regret_bound,
    forgetting_regret_bound,
    sample_shares,
)

NONE = math.nan
EVEN = [0.25] * 4


def deal(shares, samples, floor=1, seed=0, times=1):
    rng = np.random.default_rng(seed)
    return np.array([allot(shares, samples, floor, rng=rng) for _ in range(times)])


def test_before_the_first_task_the_shares_are_even():
    assert sample_shares([0, 0, 0, 0], 0).tolist() == EVEN


def test_shares_are_hedge_with_a_fixed_part_spread_evenly():
    odds = np.exp(-math.sqrt(8 * math.log(3) / 10) * np.array([2.0, 3.0, 5.0]))
    expected = 0.98 * odds / odds.sum() + 0.02 / 3
    np.testing.assert_allclose(sample_shares([2.0, 3.0, 5.0], 9), expected, rtol=1e-12)


def test_what_all_arms_lost_alike_is_of_no_effect():
    np.testing.assert_allclose(sample_shares([1, 2, 4], 9), sample_shares([501, 502, 504], 9), rtol=1e-12)


def test_no_arm_falls_below_its_part_of_the_fixed_share():
    assert sample_shares([0, 1e5, 1e5, 1e5], 10**5).min() == pytest.approx(0.02 / 4)


def test_a_lone_arm_has_everything():
    assert sample_shares([7.0], 3).tolist() == [1.0]
    assert deal([1.0], 5).tolist() == [[5]]


def test_each_arm_has_its_floor_and_the_rest_follows_the_shares():
    assert deal([0.5, 0.25, 0.25], 7).tolist() == [[3, 2, 2]]
    assert deal([0.5, 0.25, 0.25], 10, floor=2).tolist() == [[4, 3, 3]]


@pytest.mark.parametrize(("samples", "floor"), [(1, 1), (3, 1), (4, 1), (5, 1), (11, 1), (7, 2), (9, 0), (2, 3)])
def test_all_samples_are_dealt_and_on_average_each_arm_draws_its_due(samples, floor):
    shares = [0.55, 0.3, 0.1, 0.05]
    dealt = deal(shares, samples, floor, times=4000)
    assert (dealt.sum(axis=1) == samples).all()
    assert (np.ptp(dealt, axis=0) <= 1).all()
    reached = (dealt > 0).mean(axis=0)
    np.testing.assert_allclose(reached, chances(shares, samples, floor), rtol=0, atol=4 / math.sqrt(4000) / 2)
    spare = samples - 4 * floor
    if spare >= 0:
        np.testing.assert_allclose(dealt.mean(axis=0), floor + spare * np.array(shares), atol=0.04)
    else:
        assert dealt.max() <= floor


def test_too_few_samples_for_the_floor_follow_the_shares_up_to_it():
    np.testing.assert_allclose(chances([0.7, 0.2, 0.06, 0.04], 2), [1, 2 / 3, 0.2, 0.4 / 3], rtol=1e-12)


def test_an_arm_with_its_floor_is_sure_to_be_played():
    assert chances(EVEN, 4).tolist() == [1, 1, 1, 1]
    assert chances(EVEN, 3).tolist() == [0.75] * 4
    assert chances([0.1] * 10, 10, 0).tolist() == [1.0] * 10


def test_the_same_seed_deals_the_same_samples():
    assert deal([0.4, 0.35, 0.25], 8, seed=5, times=9).tolist() == deal([0.4, 0.35, 0.25], 8, seed=5, times=9).tolist()


def test_an_arm_that_was_sure_to_be_played_loses_what_it_was_not_paid():
    losses = delegation_losses([1.0, 0.25, 0.0], [True] * 3, [1, 1, 1], [0.2, 0.3, 0.5], 5)
    assert losses.tolist() == [0, 0.75, 1]


def test_an_arm_played_by_chance_is_weighed_by_it_and_one_that_was_not_loses_nothing():
    losses = delegation_losses([1.0, 0.4, NONE], [True, True, False], [1, 0.5, 0.2], [0.5, 0.3, 0.2], 3)
    exploration = math.sqrt(math.log(3) / (3 * 3)) / 2
    np.testing.assert_allclose(losses, [0, 0.6 / (0.5 + exploration), 0], rtol=1e-12)


def test_a_payoff_of_an_arm_that_was_not_drawn_does_not_count():
    losses = delegation_losses([1.0, 0.0], [True, False], [1, 0.5], [0.5, 0.5], 3)
    assert losses.tolist() == [0, 0]


def test_an_arm_that_was_skipped_although_sure_of_its_turn_counts_what_it_is_paid():
    assert delegation_losses([1.0, 0.7], [True, False], [1, 1], [0.5, 0.5], 3)[1] == pytest.approx(0.3)


def test_a_failure_costs_what_the_others_lost_and_so_leaves_the_shares_as_they_are():
    losses = delegation_losses([0.9, 0.3, NONE], [True] * 3, [1, 1, 1], [0.5, 0.25, 0.25], 2)
    assert losses[2] == pytest.approx((0.5 * 0.1 + 0.25 * 0.7) / 0.75)


def test_an_arm_drawn_by_chance_that_failed_is_credited_by_its_chance_too():
    losses = delegation_losses([0.5, NONE], [True, True], [1, 0.25], [0.5, 0.5], 1)
    assert losses[1] == pytest.approx(0.5 / (0.25 + math.sqrt(math.log(2) / 2) / 2))


def test_where_nobody_is_paid_nobody_loses():
    assert delegation_losses([NONE, NONE], [True, True], [1, 1], [0.5, 0.5], 1).tolist() == [0, 0]


def test_arms_without_a_share_are_averaged_evenly():
    losses = delegation_losses([0.5, 0.7, NONE], [True] * 3, [1, 1, 1], [0, 0, 1], 1)
    assert losses[2] == pytest.approx(0.4)


def test_a_payoff_that_overshoots_by_rounding_costs_nothing():
    assert delegation_losses([1 + 1e-12], [True], [1], [1], 1).tolist() == [0]


def test_bounds_grow_with_what_makes_the_problem_harder():
    assert delegation_regret_bound(1, 100, 0) == 0
    assert delegation_regret_bound(4, 400, 0) < delegation_regret_bound(8, 400, 0) < delegation_regret_bound(8, 800, 0)
    changes = [forgetting_regret_bound(4, 1000, 30, number) for number in range(3)]
    assert np.diff(changes) == pytest.approx(np.full(2, changes[1] - changes[0]))
    assert changes[0] < changes[1]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: sample_shares([np.nan], 1), "losses: got nan"),
        (lambda: sample_shares([0, 0], -1), "tasks: got -1"),
        (lambda: sample_shares([0, 0], 1, 1.5), r"fixed_share: got 1\.5"),
        (lambda: chances([1.0, 0.0], 2), r"shares: got \[1.0, 0.0\] of 2 samples"),
        (lambda: chances([0.5, 0.5], 0), "of 0 samples"),
        (lambda: chances([0.5, 0.5], 2, -1), "a floor of -1"),
        (lambda: delegation_losses([1.5], [True], [1], [1], 1), r"payoffs: got \[1.5\]"),
        (lambda: delegation_losses([1], [True], [0], [1], 1), r"chance: got \[0.0\]"),
        (lambda: delegation_losses([1], [True, True], [1], [1], 1), "played: got shape"),
        (lambda: delegation_losses([1, 1], [True], [1], [1], 1), "payoffs: got shape"),
        (lambda: delegation_losses([1], [True], [1], [1], 0), "tasks: got 0"),
        (lambda: forgetting_regret_bound(3, 10, 0, 1), "half_life: got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
