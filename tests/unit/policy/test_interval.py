import numpy as np
import pytest

from aligngraph.policy import competence, competence_interval


def test_an_unknown_arm_may_be_nearly_anything():
    interval = competence_interval(0, 0)
    assert interval.low < 0.2
    assert interval.high > 0.8


def test_it_is_wilsons_interval_over_the_tasks_and_the_prior():
    interval = competence_interval(48, 60)
    share, tasks, normal = 50 / 64, 64, 1.6448536269514722
    for end in (interval.low, interval.high):  # both ends are where the score test just fails
        assert (share - end) ** 2 == pytest.approx(normal**2 * end * (1 - end) / tasks, rel=1e-9)
    assert interval.low < share < interval.high


def test_borrowed_tasks_narrow_it_no_more_than_eight_do():
    alone, eight, many = (competence_interval(3, 5, lent / 2, lent) for lent in (0, 8, 8000))
    widths = [one.high - one.low for one in (alone, eight, many)]
    assert widths[0] > widths[1]
    assert widths[1] == pytest.approx(widths[2], abs=1e-3)


def test_it_shrinks_with_the_root_of_the_tasks():
    few, many = (competence_interval(0.7 * tasks, tasks) for tasks in (1_000, 100_000))
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(10, rel=0.02)


def test_a_higher_level_is_wider():
    usual, wide = competence_interval(6, 9), competence_interval(6, 9, level=0.99)
    assert wide.low < usual.low < usual.high < wide.high


def test_many_arms_are_computed_at_once_and_contain_their_competence():
    total, count = np.array([0, 5, 50, 1e6, 0]), np.array([0, 5, 60, 1e6, 1e6])
    interval = competence_interval(total, count)
    mean = competence(total, count)
    assert ((interval.low > 0) & (interval.low < mean) & (mean < interval.high) & (interval.high < 1)).all()


@pytest.mark.parametrize(("share", "least"), [(0.2, 0.87), (0.5, 0.87), (0.8, 0.87), (0.95, 0.84)])
def test_nine_of_ten_intervals_hold_the_truth_and_a_few_less_near_the_ends(share, least):
    wins = np.random.default_rng(3).binomial(120, share, size=20_000)
    interval = competence_interval(wins, np.full(wins.shape, 120))
    assert least < ((interval.low <= share) & (share <= interval.high)).mean() < 0.95


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: competence_interval(2, 1), "total: got"),
        (lambda: competence_interval(1, 2, 4, 3), "borrowed_total: got"),
        (lambda: competence_interval(1, 2, level=1.0), r"level: got 1\.0"),
        (lambda: competence_interval(1, 2, level=0), "level: got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
