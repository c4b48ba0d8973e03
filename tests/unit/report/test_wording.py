import math
from itertools import pairwise

import pytest

from aligngraph.report.wording import counted, interval, listed, number, percent, spread


@pytest.mark.parametrize(
    ("value", "places", "shown"),
    [(0.12345, 3, "0.123"), (-0.0001, 3, "0.000"), (2, 0, "2"), (None, 3, "-"), (math.nan, 3, "-"), (-1.5, 1, "-1.5")],
)
def test_a_number_has_its_places_and_no_sign_of_zero(value, places, shown):
    assert number(value, places) == shown


def test_shares_and_intervals_that_are_not_known_are_dashes():
    assert (percent(0.125), percent(None)) == ("12.5 %", "-")
    assert (interval(0.1, 0.25, 2), interval(None, 0.2)) == ("0.10 to 0.25", "-")


def test_words_follow_their_number():
    assert [counted(count, "task") for count in (0, 1, 1234)] == ["0 tasks", "1 task", "1,234 tasks"]
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "nobody",
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.mark.parametrize(("length", "most"), [(0, 5), (5, 5), (6, 5), (301, 16), (100_000, 400)])
def test_a_long_series_is_thinned_evenly_and_keeps_both_ends(length, most):
    kept = spread(length, most)
    assert len(kept) == min(length, most)
    assert kept == sorted(set(kept))
    if length:
        assert (kept[0], kept[-1]) == (0, length - 1)
        assert max(b - a for a, b in pairwise(kept)) <= -(-(length - 1) // (len(kept) - 1))
