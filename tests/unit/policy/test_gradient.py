import math

import numpy as np
import pytest

from aligngraph.policy import gradient_increment, gradient_posterior, gradient_weights, loss_gradient
from aligngraph.policy.gradient import WEIGHT_RANGE

POLICY = np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
SAMPLES = [2, 1, 3]
WEIGHTS = [0.5, 2.0, 0.25]
TARGET = [1.0, 0.0]


def test_a_team_of_up_to_four_samples_starts_at_one_and_a_larger_one_shares_four():
    assert gradient_weights([0, 0], 3).tolist() == [1, 1]
    np.testing.assert_allclose(gradient_weights([0, 0], 16), [0.25, 0.25], rtol=1e-12)


def test_a_sum_is_the_log_of_what_the_start_is_multiplied_by():
    np.testing.assert_allclose(gradient_weights([1.0, -2.0], 8), 0.5 * np.exp([1.0, -2.0]), rtol=1e-12)


def test_weights_stay_in_their_range_whatever_the_sums():
    weights = gradient_weights([1e6, -1e6, 800.0], 4)
    assert weights == pytest.approx([15.0, 0.001, 15.0])
    assert WEIGHT_RANGE[0] <= weights.min() <= weights.max() <= WEIGHT_RANGE[1]


def test_the_posterior_is_the_softmax_of_the_weighed_samples():
    scores = sum(w * n * row for w, n, row in zip(WEIGHTS, SAMPLES, POLICY, strict=True))
    np.testing.assert_allclose(
        gradient_posterior(WEIGHTS, SAMPLES, POLICY), np.exp(scores) / np.exp(scores).sum(), rtol=1e-13
    )


def test_many_heavy_samples_do_not_overflow():
    belief = gradient_posterior([15.0], [1000], [[0.9, 0.1]])
    np.testing.assert_allclose(belief, [1, 0], atol=1e-12)


def test_an_arm_without_samples_neither_votes_nor_learns():
    belief = gradient_posterior(WEIGHTS[:2], [2, 0], POLICY[:2])
    np.testing.assert_allclose(belief, gradient_posterior(WEIGHTS[:1], [2], POLICY[:1]), rtol=1e-14)
    assert gradient_increment(WEIGHTS[:2], [2, 0], POLICY[:2], TARGET, 1)[1] == 0


def loss(weights, target=TARGET):
    return -float(np.asarray(target) @ np.log(gradient_posterior(weights, SAMPLES, POLICY)))


@pytest.mark.parametrize("target", [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
def test_the_gradient_is_that_of_the_log_loss(target):
    step = 1e-6
    differences = [
        (loss(WEIGHTS + step * unit, target) - loss(WEIGHTS - step * unit, target)) / (2 * step) for unit in np.eye(3)
    ]
    np.testing.assert_allclose(loss_gradient(WEIGHTS, SAMPLES, POLICY, target), differences, atol=1e-8)


@pytest.mark.parametrize("tasks", [1, 2.5, 100])
def test_an_increment_is_a_step_of_one_and_a_half_by_the_root_of_the_tasks_against_the_gradient(tasks):
    expected = -1.5 / math.sqrt(tasks) * loss_gradient(WEIGHTS, SAMPLES, POLICY, TARGET)
    np.testing.assert_allclose(gradient_increment(WEIGHTS, SAMPLES, POLICY, TARGET, tasks), expected, rtol=1e-12)


def test_an_arm_that_leaned_to_the_right_answer_gains_and_one_that_did_not_loses():
    gained, leaning, lost = gradient_increment(WEIGHTS, SAMPLES, POLICY, TARGET, 1)
    assert gained > leaning > 0 > lost


def test_an_increment_is_cut_where_the_weight_would_leave_its_range():
    low, high = WEIGHT_RANGE
    up = gradient_increment([14.9], [1], [[0.51, 0.49]], TARGET, 1)
    down = gradient_increment([0.00101], [40], [[0.1, 0.9]], TARGET, 1)
    assert up == pytest.approx([math.log(high / 14.9)], rel=1e-9)
    assert down == pytest.approx([math.log(low / 0.00101)], rel=1e-9)


def test_a_weight_at_the_edge_moves_back_inside_at_once():
    increment = gradient_increment([15.0], [1], [[0.9, 0.1]], [0.0, 1.0], 10_000)
    assert increment[0] < -0.01


def test_a_task_without_a_right_answer_teaches_nothing():
    assert gradient_increment(WEIGHTS, SAMPLES, POLICY, [0, 0], 1).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: gradient_weights([np.nan], 4), "sums: got nan"),
        (lambda: gradient_weights([0.0], 0), "team_samples: got 0"),
        (lambda: gradient_posterior([0.0, 1, 1], SAMPLES, POLICY), r"weights: got 0\.0, allowed are numbers > 0"),
        (lambda: gradient_posterior(WEIGHTS, [1, 1], POLICY), "samples: got shape"),
        (lambda: gradient_posterior(WEIGHTS[:2], SAMPLES, POLICY), "weights: got shape"),
        (lambda: gradient_posterior(WEIGHTS, [-1, 1, 1], POLICY), r"samples: got -1\.0"),
        (lambda: gradient_posterior(WEIGHTS, SAMPLES, POLICY / 2), "policy: got a row with sum"),
        (lambda: gradient_increment(WEIGHTS, SAMPLES, POLICY, [1.0], 1), "target: got shape"),
        (lambda: gradient_increment(WEIGHTS, SAMPLES, POLICY, [0.5, 0.4], 1), "target: got a row with sum 0.9"),
        (lambda: gradient_increment(WEIGHTS, SAMPLES, POLICY, TARGET, 0), "at task 0, allowed"),
        (lambda: gradient_increment([16.0, 1, 1], SAMPLES, POLICY, TARGET, 1), r"weights: got \[16.0, 1.0, 1.0\]"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
