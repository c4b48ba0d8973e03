import pytest

from aligngraph.learning.teaching import Verdict
from aligngraph.persistence import Sums
from aligngraph.report.calibration import calibrate, forecast_of
from aligngraph.report.timeline import Point


@pytest.fixture
def point(make_evidence):
    def make(posterior, right, chosen=0):
        evidence = make_evidence(posterior=(posterior, 1 - posterior), chosen=chosen)
        return Point(1, "r", evidence, Sums({}, {}), Verdict(right))

    return make


def test_bins_error_and_brier_are_those_computed_by_hand(point):
    points = [
        point(0.95, (True, False)),
        point(0.91, (False, True)),
        point(0.55, (True, False)),
        point(1.0, (True, False)),
    ]
    found = calibrate(points)
    low, high = found.bins
    assert (low.lowest, low.highest, low.tasks, low.posterior, low.right) == (0.5, 0.6, 1, 0.55, 1.0)
    assert (high.tasks, high.posterior, high.right) == (3, pytest.approx(2.86 / 3), pytest.approx(2 / 3))
    assert found.tasks == 4
    assert found.error == pytest.approx((0.45 + 3 * (2.86 / 3 - 2 / 3)) / 4)
    assert found.brier == pytest.approx((0.05**2 + 0.91**2 + 0.45**2 + 0) / 4)
    assert high.low < high.right < high.high


def test_an_answer_that_is_only_known_to_be_wrong_is_wrong(point):
    assert forecast_of(point(0.8, None)).right is False


def test_the_chosen_answer_is_judged_and_no_other(point):
    assert forecast_of(point(0.8, (True, False), chosen=1)).right is False
    assert forecast_of(point(0.8, (False, True), chosen=1)).right is True


def test_without_feedback_nothing_is_known(make_evidence):
    silent = Point(1, "r", make_evidence(), Sums({}, {}))
    unanswered = Point(1, "r", make_evidence(chosen=None), Sums({}, {}), Verdict((True, False)))
    found = calibrate([silent, unanswered, Point(1, "r", None, Sums({}, {}), Verdict(None))])
    assert (found.bins, found.tasks, found.error, found.brier) == ((), 0, None, None)
