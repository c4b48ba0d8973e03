import dataclasses
import math

import pytest

from aligngraph.persistence import ArmKey, ArmSums, Counted, Increment, Learned, Sums, Update


@pytest.mark.parametrize(
    "changes",
    [
        {"payoff": math.nan},
        {"payoff": -math.inf},
        {"payoff": 0.5, "count": math.inf},
        {"payoff": 0.5, "gradient": math.nan},
        {"payoff": 0.5, "loss": math.inf},
    ],
)
def test_an_increment_that_would_spoil_a_sum_is_refused(changes):
    """F18: what was added once could never be taken out again."""
    with pytest.raises(ValueError, match="is not finite"):
        Increment(arm="a/x", kind="agent", **changes)


def test_an_increment_may_take_back():
    assert Increment(arm="a/x", kind="agent", payoff=-0.5, count=0).payoff == -0.5


def test_an_increment_taken_back_leaves_failures_where_they_are():
    one = Increment("a/x", "agent", 0.5, 1.0, 3, "m1", gradient=0.25, loss=0.125)
    assert one.scaled(-1) == Increment("a/x", "agent", -0.5, -1.0, 0, "m1", -0.25, -0.125)
    assert one.scaled(0.5) == Increment("a/x", "agent", 0.25, 0.5, 0, "m1", 0.125, 0.0625)
    assert one.key == ArmKey("a/x", "m1")


def test_records_are_values():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Increment(arm="a/x", kind="agent", payoff=0.5).payoff = 0.6


@pytest.mark.parametrize("decay", [0.0, -0.5, 1.01, math.nan, math.inf])
def test_an_update_that_forgets_everything_or_makes_it_grow_is_refused(decay):
    with pytest.raises(ValueError, match=r"decay .*: a number above 0, up to 1"):
        Update("r", 1, "maths", (), decay=decay)


def test_sums_add_up_with_the_later_change():
    first = ArmSums("agent", 0.5, 1.0, 2, -0.25, 0.5, changed_at="2026-01-02")
    second = ArmSums("agent", 0.25, 1.0, 1, 0.5, 0.25, changed_at="2026-01-01")
    both = first + second
    assert both == ArmSums("agent", 0.75, 2.0, 3, 0.25, 0.75)
    assert both.changed_at == "2026-01-02"
    assert (second + ArmSums("agent")).changed_at == "2026-01-01"
    assert (ArmSums("agent") + ArmSums("agent")).changed_at is None


def test_when_sums_changed_is_no_part_of_them():
    assert ArmSums("agent", 0.5, 1.0, changed_at="2026-01-01") == ArmSums("agent", 0.5, 1.0)


def test_sums_are_made_of_nothing_by_their_increment():
    sums = ArmSums("learner", 0.0, 3.0, 0, 0.0, 1.5)
    assert sums.as_increment(ArmKey("gradient", "m")) == Increment("gradient", "learner", 0.0, 3.0, 0, "m", 0.0, 1.5)


def test_legacy_sums_count_once_also_for_an_arm_that_nobody_described():
    sums = Sums({ArmKey("a/x"): ArmSums("agent", 0.5, 1.0)}, {})
    assert sums.find("a/x", "m1") == sums.find("a/x", "") == ArmSums("agent", 0.5, 1.0)
    assert sums.find("b/x", "m1") == ArmSums("agent")


def test_a_run_counts_while_anything_of_it_is_left():
    update = Update("r", 1, "maths", (Increment("a/x", "agent", 0.5),))
    gone, left = Counted(update, 0.0, ()), Counted(update, 1.0, update.increments)
    assert Learned("r", 1, update.at, {}, (gone, left)).counts
    assert not Learned("r", 1, update.at, {}, (gone,)).counts
