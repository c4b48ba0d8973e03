import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aligngraph.errors import MissingExtraError
from aligngraph.trials.shares import Share, paired_difference, require_intervals


def paired(both, first, second, neither):
    return [(True, True)] * both + [(True, False)] * first + [(False, True)] * second + [(False, False)] * neither


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404), ((18, 12, 2, 18), 0.0562, 0.3290), ((59, 6, 16, 80), -0.1186, -0.0046)],
)
def test_the_paired_interval_is_the_published_one(table, low, high):
    found = paired_difference(paired(*table))
    assert found.value == pytest.approx((table[1] - table[2]) / sum(table))
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_no_difference_in_a_few_pairs_is_no_certainty_that_there_is_none():
    found = paired_difference(paired(0, 0, 0, 12))
    assert found.value == 0
    assert found.low < -0.1
    assert found.high > 0.1


@settings(deadline=None)
@given(st.tuples(*[st.integers(0, 30)] * 4).filter(any))
def test_the_difference_lies_in_its_interval_and_turns_its_sign_with_the_pairs(table):
    both, first, second, neither = table
    found, turned = paired_difference(paired(*table)), paired_difference(paired(both, second, first, neither))
    assert -1 - 1e-9 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1 + 1e-9
    assert found.value == pytest.approx(-turned.value)
    assert found.low == pytest.approx(-turned.high)


def test_pairs_that_go_together_say_more_than_pairs_that_do_not():
    together, apart = paired_difference(paired(20, 4, 0, 20)), paired_difference(paired(12, 12, 8, 12))
    assert together.value == pytest.approx(apart.value, abs=0.01)
    assert together.high - together.low < apart.high - apart.low


def test_nothing_has_neither_share_nor_difference():
    assert Share(0, 0).value is None
    assert Share(0, 0).estimate is None
    assert paired_difference([]) is None
    assert Share(0, 0).as_json() == {"hits": 0, "of": 0, "value": None, "interval": None}


def test_a_share_leaves_out_what_is_not_known():
    assert Share.among([True, None, False, True]) == Share(2, 3)


def test_the_interval_of_a_share_is_wilson_s():
    found = Share(9, 12).as_json()
    assert found["value"] == 0.75
    assert found["interval"] == [pytest.approx(0.4677, abs=1e-4), pytest.approx(0.9111, abs=1e-4)]


def test_a_missing_package_is_named_before_anything_is_asked(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setattr("aligngraph.trials.shares.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"aligngraph\[bench\]"):
        require_intervals()
    with pytest.raises(MissingExtraError):
        _ = Share(1, 2).estimate
