import pytest

from aligngraph.randomness import generator
from aligngraph.trials.resampling import mean_difference


def test_the_difference_is_that_of_the_means():
    rows = [("a", True, True), ("b", False, True), ("c", True, False), ("d", True, False)]
    found = mean_difference(rows, generator(0, "test"))
    assert found.value == pytest.approx(1 / 4)
    assert found.low < found.value < found.high


def test_no_difference_has_no_width():
    found = mean_difference([(str(number), True, True) for number in range(9)], generator(0, "test"))
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_a_task_decided_by_several_teams_is_one_draw():
    """Ten times the same forty tasks tell no more about other tasks than the forty do once."""
    once = [(str(number), number % 4 == 0, number % 5 == 0) for number in range(40)]
    single, tenfold = (mean_difference(once * times, generator(0, "test")) for times in (1, 10))
    assert tenfold.value == pytest.approx(single.value)
    assert tenfold.high - tenfold.low == pytest.approx(single.high - single.low, rel=0.1)


def test_the_width_is_that_of_the_normal_approximation():
    rows = [(str(number), number % 2 == 0, False) for number in range(400)]
    found = mean_difference(rows, generator(1, "test"))
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / 20, rel=0.1)


def test_one_task_has_no_interval():
    found = mean_difference([("a", True, False)] * 3, generator(0, "test"))
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_the_same_seed_gives_the_same_interval():
    rows = [(str(number), number % 3 == 0, number % 2 == 0) for number in range(50)]
    assert mean_difference(rows, generator(2, "test")) == mean_difference(rows, generator(2, "test"))
