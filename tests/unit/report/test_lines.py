from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.report.lines import apart


def test_labels_that_do_not_meet_stay_where_they_are():
    assert apart([0.1, 0.9, 0.5], 0.1) == pytest.approx([0.1, 0.9, 0.5])


def test_labels_that_meet_move_apart_in_their_order():
    assert apart([0.5, 0.5, 0.45], 0.1) == pytest.approx([0.55, 0.65, 0.45])


def test_a_stack_at_the_top_moves_down():
    assert apart([1.0, 1.0, 0.99], 0.1) == pytest.approx([0.9, 1.0, 0.8])


@given(st.lists(st.floats(0, 1), max_size=9))
def test_no_two_labels_are_nearer_than_the_gap_and_none_is_above_the_panel(places):
    moved = apart(places, 0.1)
    ordered = sorted(moved)
    assert all(above - below >= 0.1 - 1e-9 for below, above in pairwise(ordered))
    assert max(moved, default=0) <= 1.0
    assert [moved[number] for number in sorted(range(len(places)), key=lambda n: places[n])] == ordered
