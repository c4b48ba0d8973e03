import pytest
from scipy.stats import binomtest

from aligngraph.policy import competence_interval
from aligngraph.report.wilson import wilson


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (1, 1), (3, 10), (150, 150), (77, 200)])
def test_the_interval_of_a_share_is_scipy_s(hits, of):
    expected = binomtest(hits, of).proportion_ci(confidence_level=0.9, method="wilson")
    found = wilson(hits, of)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_it_is_the_interval_of_competence_once_the_prior_is_counted():
    expected = competence_interval(7.5, 12)
    found = wilson(7.5 + 2, 12 + 4)
    assert (found.low, found.high) == pytest.approx((float(expected.low), float(expected.high)), abs=1e-12)


@pytest.mark.parametrize(("total", "count"), [(1, 0), (-0.1, 3), (3.1, 3)])
def test_a_sum_outside_its_range_is_refused(total, count):
    with pytest.raises(ValueError, match="allowed is a sum in"):
        wilson(total, count)
