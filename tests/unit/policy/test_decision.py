import itertools
import math

import numpy as np
import pytest

from aligngraph.policy import choose, entropy, pooled_majority

TIED = [0.4, 0.4, 0.2]


def test_the_highest_posterior_wins_over_any_rank():
    assert choose([0.2, 0.5, 0.3], [0, 2, 1], [0, 2, 1]) == 1


def test_a_tie_goes_to_the_answer_the_principal_ranked_higher():
    assert choose(TIED, [1, 0, 2], [0, 1, 2]) == 1
    assert choose(TIED, [0, 1, 2], [1, 0, 2]) == 0


def test_a_tie_of_the_principal_goes_to_the_answer_seen_first():
    assert choose(TIED, [1, 1, 0], [0, 1, 2]) == 0
    assert choose(TIED, [1, 1, 0], [1, 0, 2]) == 1


def test_an_answer_outside_the_tie_gains_nothing_by_its_rank():
    assert choose(TIED, [2, 1, 0], [1, 2, 0]) == 1


def test_a_principal_that_abstained_leaves_ties_to_seed_order():
    assert choose(TIED, None, [5, 3, 0]) == 1


def test_the_order_of_a_summation_breaks_no_tie():
    below = math.nextafter(0.4, 0)
    assert choose([below, 0.4, 0.2], None, [0, 1, 2]) == 0
    assert choose([0.4, below, 0.2], [1, 0, 2], [0, 1, 2]) == 1


def test_a_real_difference_is_no_tie():
    assert choose([0.4 - 1e-6, 0.4 + 1e-6, 0.2], [0, 1, 2], [0, 1, 2]) == 1


def test_a_choice_follows_its_answer_when_the_columns_are_permuted():
    belief, ranks, seen = np.array([0.3, 0.3, 0.3, 0.1]), np.array([2, 1, 1, 0]), np.array([0, 3, 2, 1])
    for order in map(list, itertools.permutations(range(4))):
        assert order[choose(belief[order], ranks[order], seen[order])] == 2


def test_a_choice_is_a_plain_integer():
    assert type(choose([1.0], [0], [0])) is int
    assert type(pooled_majority([[1]], [0])) is int


@pytest.mark.parametrize(
    ("belief", "ranks", "seen", "message"),
    [
        ([0.4, 0.4], [0, 1], [0, 1], "posterior: got a row with sum"),
        ([0.5, 0.5], [0, 1, 2], [0, 1], r"principal_order: got \[0.0, 1.0, 2.0\], allowed are 2 ranks"),
        ([0.5, 0.5], [0, math.inf], [0, 1], r"principal_order: got \[0.0, inf\]"),
        ([0.5, 0.5], [0, 1], [0, 0], "first_seen: got"),
        ([0.5, 0.5], [0, 1], [0], "first_seen: got"),
    ],
)
def test_what_leaves_a_choice_open_is_refused(belief, ranks, seen, message):
    with pytest.raises(ValueError, match=message):
        choose(belief, ranks, seen)


def test_the_majority_is_of_samples_not_of_agents():
    assert pooled_majority([[5, 0], [1, 2], [1, 2]], [1, 0]) == 0


def test_a_tied_majority_goes_to_the_answer_seen_first():
    assert pooled_majority([[1, 2, 0], [1, 0, 2]], [2, 1, 0]) == 2
    assert pooled_majority([[1, 2, 0], [1, 0, 2]], [0, 1, 2]) == 0


def test_fractional_samples_tie_whatever_the_order_of_their_sum():
    assert pooled_majority([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]], [1, 0]) == 1
    assert pooled_majority([[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]], [1, 0]) == 1


def test_entropy_of_certainty_is_zero_and_not_minus_zero():
    assert math.copysign(1, entropy([1.0, 0.0])) == 1
    assert entropy([1.0, 0.0]) == 0


@pytest.mark.parametrize("answers", [1, 2, 7])
def test_entropy_of_ignorance_is_the_log_of_the_number_of_answers(answers):
    assert entropy(np.full(answers, 1 / answers)) == pytest.approx(math.log(answers), abs=1e-15)


def test_entropy_needs_a_distribution():
    with pytest.raises(ValueError, match="posterior: got"):
        entropy([0.5, 0.6])


def test_a_tie_with_an_answer_that_the_principal_left_out_goes_to_the_first_seen():
    assert choose([0.4, 0.4, 0.2], [1, math.nan, 0], [1, 0, 2]) == 1
    assert choose([0.4, 0.4, 0.2], [1, 0, math.nan], [0, 1, 2]) == 1, "both of the tie are ranked"
