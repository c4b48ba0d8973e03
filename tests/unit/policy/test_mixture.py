import math

import numpy as np
import pytest

from aligngraph.policy import log_loss, mix, mixture_shares


def test_without_feedback_all_learners_share_alike():
    assert mixture_shares([0.0, 0.0, 0.0, 0.0]).tolist() == [0.25] * 4


def test_a_learner_that_lost_a_nat_more_has_the_share_of_a_nat_less():
    shares = mixture_shares([3.0, 4.0])
    assert shares[0] / shares[1] == pytest.approx(math.e)


def test_shares_are_those_of_bayes_over_the_likelihoods_of_the_tasks():
    likelihoods = np.array([[0.9, 0.5, 0.2], [0.4, 0.6, 0.7]])
    evidence = likelihoods.prod(axis=1)
    np.testing.assert_allclose(mixture_shares(-np.log(likelihoods).sum(axis=1)), evidence / evidence.sum(), rtol=1e-12)


def test_shares_start_from_a_prior():
    assert mixture_shares([0.0, 0.0, 0.0], [0.45, 0.45, 0.1]) == pytest.approx([0.45, 0.45, 0.1], rel=1e-12)


def test_a_learner_with_less_prior_must_forecast_better_by_its_log():
    """0.9 / 4.5 to 0.1 is two to one."""
    assert mixture_shares([1.0 + math.log(4.5), 1.0], [0.9, 0.1]) == pytest.approx([2 / 3, 1 / 3], rel=1e-12)


def test_an_even_prior_is_that_of_none():
    assert mixture_shares([1.0, 3.0], [0.5, 0.5]) == pytest.approx(mixture_shares([1.0, 3.0]), rel=1e-12)


def test_heavy_losses_do_not_underflow_to_nothing():
    np.testing.assert_allclose(mixture_shares([5000.0, 5000.0 + math.log(3)]), [0.75, 0.25], rtol=1e-9)


def test_a_mixture_lies_between_its_learners():
    mixed = mix([[0.9, 0.1], [0.3, 0.7]], [0.0, math.log(2)])
    np.testing.assert_allclose(mixed, [2 / 3 * 0.9 + 1 / 3 * 0.3, 2 / 3 * 0.1 + 1 / 3 * 0.7], rtol=1e-12)


def test_a_mixture_with_a_prior_lies_nearer_to_who_had_more_of_it():
    mixed = mix([[0.9, 0.1], [0.3, 0.7]], [1.0, 1.0], [0.75, 0.25])
    np.testing.assert_allclose(mixed, [0.75, 0.25], rtol=1e-12)


def test_one_learner_is_its_own_mixture():
    assert mix([[0.25, 0.75]], [123.0]).tolist() == [0.25, 0.75]


def test_the_log_loss_is_that_of_the_right_answer():
    assert log_loss([0.7, 0.3], [1, 0]) == pytest.approx(-math.log(0.7), abs=2e-3)


def test_the_log_loss_of_two_right_answers_is_the_mean_of_theirs():
    belief = [0.5, 0.3, 0.2]
    halves = log_loss(belief, [1, 0, 0]) / 2 + log_loss(belief, [0, 1, 0]) / 2
    assert log_loss(belief, [0.5, 0.5, 0]) == pytest.approx(halves, rel=1e-12)


def test_a_posterior_that_is_sure_and_wrong_loses_the_log_of_the_floor():
    assert log_loss([1.0, 0.0], [0, 1]) == pytest.approx(-math.log(0.001), rel=1e-12)


@pytest.mark.parametrize("answers", [2, 500, 501, 5000])
def test_the_floor_keeps_a_posterior_on_the_simplex_however_many_answers_there_are(answers):
    belief = np.random.default_rng(answers).dirichlet(np.full(answers, 0.1))
    assert sum(math.exp(-log_loss(belief, row)) for row in np.eye(answers)) == pytest.approx(1, abs=1e-9)


def test_a_floored_mixture_is_the_mixture_of_the_floored():
    rows, losses = np.array([[1.0, 0.0, 0.0], [0.0, 0.2, 0.8]]), [1.0, 1.5]
    for target in np.eye(3):
        floored = [math.exp(-log_loss(row, target)) for row in rows]
        assert math.exp(-log_loss(mix(rows, losses), target)) == pytest.approx(mixture_shares(losses) @ floored)


def test_a_task_without_a_right_answer_costs_nobody_anything():
    assert log_loss([0.9, 0.1], [0, 0]) == 0


def test_the_only_answer_costs_nothing_when_it_is_right():
    assert log_loss([1.0], [1.0]) == 0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: mixture_shares([]), "losses: got shape"),
        (lambda: mixture_shares([np.inf, 0]), "losses: got inf"),
        (lambda: mixture_shares([0.0, 0.0], [1.0]), "prior: got shape"),
        (lambda: mixture_shares([0.0, 0.0], [0.5, 0.6]), "prior: got a row with sum 1.1"),
        (lambda: mixture_shares([0.0, 0.0], [1.0, 0.0]), r"prior: got \[1.0, 0.0\], allowed are shares > 0"),
        (lambda: mix([[0.5, 0.5]], [0.0, 0.0]), "losses: got shape"),
        (lambda: mix([[0.5, 0.4]], [0.0]), "posteriors: got a row with sum 0.9"),
        (lambda: log_loss([0.5, 0.5], [1.0]), "target: got shape"),
        (lambda: log_loss([0.5, 0.5], [1.0, 1.0]), r"target: got a row with sum 2\.0"),
        (lambda: log_loss([0.5, 0.6], [1.0, 0.0]), "posterior: got a row with sum 1.1"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
