import dataclasses
import math
from datetime import datetime, timedelta

import pytest

from aligngraph.persistence import Increment, Run
from aligngraph.persistence.records import utc_now


@pytest.mark.parametrize("changes", [{"payoff": math.nan}, {"payoff": -math.inf}, {"payoff": 0.5, "count": math.inf}])
def test_an_increment_that_would_spoil_a_sum_is_refused(changes):
    with pytest.raises(ValueError, match="is not finite"):
        Increment(arm="a", kind="agent", **changes)


def test_an_increment_may_take_back():
    assert Increment(arm="a", kind="agent", payoff=-0.5, count=0).payoff == -0.5


def test_records_are_values():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Increment(arm="a", kind="agent", payoff=0.5).payoff = 0.6


def test_a_run_begins_running():
    run = Run(run_id="r", domain="d", task="t", seed=0)
    assert (run.status, run.finished_at, run.decision) == ("running", None, None)


def test_times_are_utc_and_sort_as_text():
    first, second = utc_now(), utc_now()
    assert first <= second
    assert datetime.fromisoformat(first).utcoffset() == timedelta(0)
