import numpy as np
import pytest

from aligngraph.policy import checks


@pytest.mark.parametrize("empty", [[], [[]]])
def test_an_empty_array_is_refused_by_its_shape(empty):
    with pytest.raises(ValueError, match=r"scores: got shape \(.*0,?\), allowed is a non-empty array"):
        checks.finite_array("scores", empty, ndim=np.ndim(empty))


def test_the_wrong_number_of_dimensions_is_refused_by_its_shape():
    with pytest.raises(ValueError, match=r"scores: got shape \(2,\).* 2 dimension"):
        checks.finite_array("scores", [1, 2], ndim=2)


@pytest.mark.parametrize(("bad", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_what_is_not_finite_is_refused_and_shown(bad, shown):
    with pytest.raises(ValueError, match=rf"scores: got {shown}, allowed are finite"):
        checks.finite_array("scores", [0.0, bad], ndim=1)


def test_integers_become_float64():
    array = checks.finite_array("scores", [1, 2], ndim=1)
    assert array.dtype == np.float64
    assert array.tolist() == [1.0, 2.0]


def test_a_negative_number_is_refused():
    with pytest.raises(ValueError, match=r"counts: got -1\.0 in shape \(1, 2\), allowed are numbers >= 0"):
        checks.non_negative("counts", [[2, -1]], ndim=2)


@pytest.mark.parametrize("sums_to", [0.99, 1.01, 0.0])
def test_a_row_off_the_simplex_is_refused_by_its_sum(sums_to):
    with pytest.raises(ValueError, match=r"votes: got a row with sum .* in shape \(2, 2\), allowed is a sum of 1"):
        checks.simplex_rows("votes", [[0.5, 0.5], [sums_to, 0.0]])


def test_rounding_leaves_a_row_on_the_simplex():
    row = [[0.1] * 10]
    assert checks.simplex_rows("votes", row).tolist() == row


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (1, 1)])
def test_a_preference_of_the_wrong_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"preference: got shape \(\d, \d\), allowed is \(2, 2\)"):
        checks.preference_matrix(np.full(shape, 0.5), answers=2)


def test_a_preference_whose_pairs_do_not_add_up_is_refused_by_the_pair():
    with pytest.raises(ValueError, match=r"got \[0, 1\] = 0\.7 with \[1, 0\] = 0\.4 in shape \(2, 2\)"):
        checks.preference_matrix([[0.5, 0.7], [0.4, 0.5]], answers=2)


def test_a_preference_whose_diagonal_is_not_one_half_is_refused():
    with pytest.raises(ValueError, match=r"got \[1, 1\] = 0\.6"):
        checks.preference_matrix([[0.5, 0.7], [0.3, 0.6]], answers=2)


def test_a_preference_beyond_probabilities_is_refused():
    with pytest.raises(ValueError, match=r"preference: got -0\.5"):
        checks.preference_matrix([[0.5, 1.5], [-0.5, 0.5]], answers=2)


def test_certain_preferences_are_accepted():
    certain = [[0.5, 1.0], [0.0, 0.5]]
    assert checks.preference_matrix(certain, answers=2).tolist() == certain


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf])
def test_a_number_that_must_be_positive(bad):
    with pytest.raises(ValueError, match=r"step_size: got .*, allowed is a finite number > 0"):
        checks.positive_number("step_size", bad)


@pytest.mark.parametrize("bad", [-1e-9, np.nan, np.inf])
def test_a_number_that_must_not_be_negative(bad):
    with pytest.raises(ValueError, match=r"anchor: got .*, allowed is a finite number >= 0"):
        checks.non_negative_number("anchor", bad)


def test_the_least_numbers_that_are_accepted():
    assert checks.non_negative_number("anchor", 0) == 0.0
    assert checks.positive_number("step_size", 1e-300) == 1e-300


def test_a_length_is_compared_on_the_first_axis():
    checks.same_length("weights", np.zeros((2, 5)), 2)
    with pytest.raises(ValueError, match=r"weights: got shape \(2, 5\), allowed is a first axis of 5"):
        checks.same_length("weights", np.zeros((2, 5)), 5)


@pytest.mark.parametrize("bad", [[0, 1], [[0, 1, 2]], [0.0, 1.0, 2.0], [0, 0, 1]])
def test_positions_that_leave_ties_open_are_refused(bad):
    with pytest.raises(ValueError, match="first_seen: got"):
        checks.seed_positions(bad, answers=3)


def test_positions_need_not_be_consecutive():
    assert checks.seed_positions([7, 0, 3], answers=3).tolist() == [7, 0, 3]
