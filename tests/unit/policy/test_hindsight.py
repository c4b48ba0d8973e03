import math

import numpy as np
import pytest
from scipy.optimize import minimize

from aligngraph.policy import (
    JudgedTask,
    fixed_loss,
    gradient_posterior,
    gradient_regret_bound,
    hindsight,
    initial_policy,
    realised_gradient_regret_bound,
    vote_shares,
)
from aligngraph.policy.gradient import WEIGHT_RANGE
from aligngraph.policy.hindsight import GAP

LOW, HIGH = WEIGHT_RANGE


def tasks_of(rng, number, shares, answers=4, samples=3):
    """Return tasks in which each arm is right with its share; some arms have no sample in some tasks."""
    tasks = []
    for _ in range(number):
        width = rng.integers(2, answers + 1)
        drawn = rng.integers(0, samples + 1, size=len(shares))
        drawn[rng.integers(len(shares))] += 1
        chances = [np.full(width, (1 - share) / (width - 1)) for share in shares]
        for row, share in zip(chances, shares, strict=True):
            row[0] = share
        counts = np.array([rng.multinomial(number, row) for number, row in zip(drawn, chances, strict=True)])
        policy = np.zeros(counts.shape)
        policy[drawn > 0] = initial_policy(vote_shares(counts[drawn > 0]))
        tasks.append(JudgedTask(drawn, policy, np.eye(width)[0]))
    return tasks


def counted_out(weights, tasks):
    total = 0.0
    for task in tasks:
        playing = np.asarray(task.samples) > 0
        belief = gradient_posterior(weights[playing], task.samples[playing], task.policy[playing])
        total -= float(task.target @ np.log(belief))
    return total


def test_the_loss_of_fixed_weights_is_that_of_their_posteriors():
    tasks = tasks_of(np.random.default_rng(0), 30, [0.8, 0.5, 0.3])
    weights = np.array([0.7, 0.2, 3.0])
    assert fixed_loss(weights, tasks) == pytest.approx(counted_out(weights, tasks), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_weights_are_those_that_another_solver_finds(seed):
    rng = np.random.default_rng(seed)
    tasks = tasks_of(rng, 120, rng.uniform(0.2, 0.95, size=5))
    found = hindsight(tasks)
    theirs = minimize(
        lambda weights: counted_out(weights, tasks), np.ones(5), bounds=[WEIGHT_RANGE] * 5, options={"ftol": 1e-13}
    )
    assert found.loss == pytest.approx(theirs.fun, abs=1e-4)
    assert found.loss <= theirs.fun + GAP
    assert found.loss == pytest.approx(fixed_loss(found.weights, tasks), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_closes_and_no_weights_lose_less(seed):
    rng = np.random.default_rng(seed)
    tasks = tasks_of(rng, 60, [0.9, 0.6, 0.4, 0.2])
    found = hindsight(tasks)
    assert 0 <= found.gap <= GAP
    assert LOW <= found.weights.min() <= found.weights.max() <= HIGH
    for weights in np.exp(rng.uniform(math.log(LOW), math.log(HIGH), size=(200, 4))):
        assert fixed_loss(weights, tasks) >= found.loss - found.gap


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_an_arm_that_is_always_right_or_wrong_is_pushed_to_the_edge(share):
    found = hindsight(tasks_of(np.random.default_rng(1), 50, [share, 0.5]))
    assert found.weights[0] == pytest.approx(HIGH if share else LOW, abs=1e-3)


def test_neither_the_vote_nor_an_arm_alone_loses_less_than_the_best():
    tasks = tasks_of(np.random.default_rng(2), 100, [0.9, 0.7, 0.5])
    found = hindsight(tasks)
    assert min(found.vote_loss, *found.arm_losses) >= found.loss - found.gap
    assert found.arm_losses[0] < found.arm_losses[1] < found.arm_losses[2]


def test_the_vote_has_the_best_common_weight_and_an_arm_alone_its_own_best():
    tasks = tasks_of(np.random.default_rng(3), 80, [0.8, 0.6, 0.5])
    found, grid = hindsight(tasks), np.geomspace(LOW, HIGH, 400)
    assert found.vote_loss == pytest.approx(min(fixed_loss(np.full(3, one), tasks) for one in grid), abs=1e-2)
    alone = min(fixed_loss([one, LOW, LOW], tasks) for one in grid)
    assert found.arm_losses[0] == pytest.approx(alone, abs=1e-2)


def test_equal_arms_get_equal_weights():
    task = JudgedTask([1, 1], [[0.7, 0.3], [0.7, 0.3]], [0.8, 0.2])
    found = hindsight([task] * 5)
    assert found.weights[0] == pytest.approx(found.weights[1], rel=1e-6)


def test_one_arm_at_its_best_weight_has_the_posterior_that_the_targets_have_on_average():
    right, wrong = (JudgedTask([1], [[0.7, 0.3]], target) for target in ([1, 0], [0, 1]))
    found = hindsight([right] * 3 + [wrong])
    assert found.weights[0] * 0.4 == pytest.approx(math.log(3), abs=1e-3)
    assert found.loss == pytest.approx(-3 * math.log(3 / 4) - math.log(1 / 4), abs=1e-5)


def test_tasks_without_a_right_answer_cost_nothing_and_teach_nothing():
    told, untold = JudgedTask([1], [[0.7, 0.3]], [1, 0]), JudgedTask([1], [[0.7, 0.3]], [0, 0])
    assert hindsight([told, untold]).loss == hindsight([told]).loss
    assert hindsight([untold]).loss == 0


def test_an_arm_without_a_sample_needs_no_policy():
    task = JudgedTask([2, 0], [[0.7, 0.3], [0.0, 0.0]], [1, 0])
    assert fixed_loss([1.0, 15.0], [task]) == pytest.approx(-math.log(1 / (1 + math.exp(-0.8))))


def test_the_bound_known_beforehand_grows_like_the_root_of_the_tasks():
    best = [1.0, 1.0]
    short, long = (gradient_regret_bound(best, np.ones((tasks, 2))) for tasks in (2_500, 10_000))
    assert long / short == pytest.approx(2, rel=0.02)


def test_the_realised_bound_is_never_above_the_one_known_beforehand():
    rng = np.random.default_rng(0)
    samples = rng.integers(0, 4, size=(50, 3))
    weights, gradients = rng.uniform(LOW, HIGH, size=(50, 3)), samples * rng.uniform(-1, 1, size=(50, 3))
    best = [LOW, 1.0, HIGH]
    assert realised_gradient_regret_bound(best, weights, gradients) < gradient_regret_bound(best, samples)


def test_weights_that_are_the_best_already_and_slopes_of_nothing_leave_no_regret():
    assert realised_gradient_regret_bound([2.0], np.full((9, 1), 2.0), np.zeros((9, 1))) == 0


def test_a_great_many_samples_do_not_overflow_the_bound():
    assert gradient_regret_bound([1.0], [[10_000.0]]) == pytest.approx(14.999 * 10_000, rel=1e-2)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: hindsight([]), "tasks: got none"),
        (lambda: hindsight([JudgedTask([1], [[0.5, 0.5]], [1.0])]), "target: got shape"),
        (lambda: hindsight([JudgedTask([1], [[0.5, 0.4]], [1.0, 0])]), "policy: got a row with sum 0.9"),
        (lambda: hindsight([JudgedTask([1, 1], [[0.5, 0.5]], [1.0, 0])]), "policy: got shape"),
        (
            lambda: hindsight(
                [JudgedTask([1], [[0.5, 0.5]], [1.0, 0]), JudgedTask([1, 1], [[0.5, 0.5]] * 2, [1.0, 0])]
            ),
            "samples: got shape",
        ),
        (lambda: fixed_loss([1.0, 1.0], [JudgedTask([1], [[0.5, 0.5]], [1.0, 0])]), "weights: got shape"),
        (lambda: gradient_regret_bound([16.0], [[1]]), r"best: got \[16.0\]"),
        (lambda: gradient_regret_bound([1.0, 1.0], [[1]]), "best: got shape"),
        (lambda: realised_gradient_regret_bound([1.0], [[1.0]], [[0.1], [0.2]]), "weights: got shape"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
