from datetime import datetime, timedelta

from aligngraph.persistence import Run
from aligngraph.persistence.records import days_ago, utc_now


def test_a_run_begins_running():
    run = Run(run_id="r", domain="d", task="t", seed=0)
    assert (run.status, run.finished_at, run.decision, run.evidence) == ("running", None, None, None)
    assert not run.pruned


def test_a_run_without_texts_says_so():
    assert Run(run_id="r", domain="d", task="", seed=0, pruned_at=utc_now()).pruned


def test_times_are_utc_and_sort_as_text():
    first, second = utc_now(), utc_now()
    assert days_ago(0.001) < first <= second
    assert datetime.fromisoformat(first).utcoffset() == timedelta(0)
