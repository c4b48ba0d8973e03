import math

import numpy as np
import pytest

from aligngraph.policy import (
    competence,
    posterior,
    self_assessed_payoff,
    trust,
    weight,
)


def test_an_arm_starts_at_one_half():
    assert competence(0, 0) == 0.5


def test_competence_is_the_mean_with_two_successes_and_two_failures():
    assert competence(6, 6) == 8 / 10
    assert competence(0, 6) == 2 / 10


def test_many_arms_are_computed_at_once():
    assert competence([0, 6, 3], [0, 6, 4]).tolist() == [0.5, 0.8, 5 / 8]


def test_a_new_domain_borrows_eight_tasks_at_the_competence_elsewhere():
    pooled = (2 + 90) / (4 + 96)
    assert competence(0, 0, 90, 96) == pytest.approx((2 + 8 * pooled) / 12, rel=1e-15)


def test_no_more_tasks_are_borrowed_than_were_seen_elsewhere():
    pooled = (2 + 3) / (4 + 3)
    assert competence(1, 2, 3, 3) == pytest.approx((2 + 1 + 3 * pooled) / (4 + 2 + 3), rel=1e-15)


def test_what_is_borrowed_fades_with_own_tasks():
    for tasks in (100, 1000):
        alone, borrowing = competence(0.9 * tasks, tasks), competence(0.9 * tasks, tasks, 0, 500)
        assert 0 < alone - borrowing < 8 / tasks


def test_a_sum_that_overshoots_by_rounding_counts_as_full():
    assert competence(math.fsum([1.0] * 3) + 1e-12, 3) == 5 / 7


@pytest.mark.parametrize(
    ("sums", "name"),
    [((2, 1), "total"), ((-1, 1), "total"), ((0, -1), "total"), ((math.nan, 1), "total"), ((0, math.inf), "total"),
     ((0, 0, 5, 4), "borrowed_total"), ((0, 0, -1, 4), "borrowed_total")],
)  # fmt: skip
def test_sums_outside_their_range_are_refused(sums, name):
    with pytest.raises(ValueError, match=rf"^{name}: got .* allowed is 0 to 1 a task"):
        competence(*sums)


def test_a_weight_is_the_log_odds_plus_the_log_of_the_number_of_answers():
    np.testing.assert_allclose(weight([0.5, 0.8], 5), [math.log(5), math.log(4) + math.log(5)], rtol=1e-15)


def test_one_answer_weighs_as_two():
    assert weight(0.6, 1) == weight(0.6, 2)


def test_a_weight_never_falls_below_its_floor():
    assert weight(0.001, 2) == 0.01


def test_an_arm_that_is_right_more_often_weighs_more():
    weights = weight(np.linspace(0.35, 0.99, 30), 2)
    assert (np.diff(weights) > 0).all()


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_a_competence_without_finite_log_odds_is_refused(bad):
    with pytest.raises(ValueError, match="competence: got"):
        weight([0.5, bad], 3)


@pytest.mark.parametrize("ask", [lambda: weight(0.5, 0), lambda: trust(0.5, 0)])
def test_a_task_has_an_answer(ask):
    with pytest.raises(ValueError, match="answers: got 0, allowed is an integer >= 1"):
        ask()


def test_trust_is_the_log_odds_against_a_blind_guess():
    assert trust(0.8, 3) == pytest.approx(math.log(4) + math.log(2), rel=1e-15)


@pytest.mark.parametrize("answers", [2, 3, 10])
def test_a_principal_that_guesses_blindly_is_trusted_at_the_floor(answers):
    assert trust(1 / answers, answers) == 0.05


@pytest.mark.parametrize(("mean", "answers"), [(0.0, 4), (0.9, 1)])
def test_trust_has_a_floor(mean, answers):
    assert trust(mean, answers) == 0.05


def test_a_principal_that_never_erred_is_trusted_most_and_finitely():
    assert 36 < trust(1.0, 2) < 40
    assert trust(1.0, 2) > trust(1 - 1e-12, 2)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_a_mean_that_is_no_probability_is_refused(bad):
    with pytest.raises(ValueError, match="mean: got"):
        trust(bad, 2)


def test_up_to_four_samples_add_up_as_independent_votes():
    belief = posterior([1.5, 0.5], [1, 2], [[1.0, 0.0], [0.0, 1.0]])
    assert belief[0] / belief[1] == pytest.approx(math.exp(1.5 - 2 * 0.5), rel=1e-12)


def test_more_than_four_samples_weigh_as_four():
    rows = [[0.7, 0.3], [0.2, 0.8]]
    four, forty = posterior([1.0, 2.0], [1, 3], rows), posterior([1.0, 2.0], [10, 30], rows)
    np.testing.assert_allclose(forty, four, rtol=1e-14)


def test_an_arm_votes_with_its_policy_and_each_of_its_samples():
    belief = posterior([1.0, 3.0], [2, 1], [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    scores = np.array([1.0, 0.5 + 1.5, 0.5 + 1.5])
    np.testing.assert_allclose(belief, np.exp(scores) / np.exp(scores).sum(), rtol=1e-14)


def test_heavy_weights_do_not_overflow():
    assert posterior([1e6, 1.0], [2, 2], [[1.0, 0.0], [0.0, 1.0]]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("weights", "samples", "message"),
    [
        ([1.0], [1, 1], r"weights: got shape \(1,\), allowed is a first axis of 2"),
        ([1.0, 1.0], [2], r"samples: got shape \(1,\), allowed is a first axis of 2"),
        ([1.0, 1.0], [0, 0], r"sum of samples: got 0\.0"),
        ([1.0, 1.0], [1, -1], r"samples: got -1\.0"),
        ([1.0, math.inf], [1, 1], "weights: got inf"),
    ],
)
def test_a_posterior_needs_one_weight_and_some_samples_for_each_arm(weights, samples, message):
    with pytest.raises(ValueError, match=message):
        posterior(weights, samples, [[0.5, 0.5], [0.5, 0.5]])


def test_an_arm_is_paid_the_posterior_at_its_votes():
    paid = self_assessed_payoff([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [0.8, 0.2])
    np.testing.assert_allclose(paid, [0.8, 0.5, 0.2], rtol=1e-15)


def test_an_arm_without_votes_has_no_payoff():
    with pytest.raises(ValueError, match=r"votes: got a row with sum 0\.0"):
        self_assessed_payoff([[1.0, 0.0], [0.0, 0.0]], [0.8, 0.2])


def test_votes_and_posterior_speak_of_the_same_answers():
    with pytest.raises(ValueError, match=r"posterior: got shape \(1,\), allowed is a first axis of 2"):
        self_assessed_payoff([[1.0, 0.0]], [1.0])
