import math

import numpy as np
import pytest

from aligngraph.policy import decay, has_drifted
from aligngraph.policy.drift import LEAST_RECENT


def test_after_the_half_life_half_is_left():
    assert decay(40) ** 40 == pytest.approx(0.5)
    assert decay(1) == 0.5
    assert decay(10) < decay(100) < 1


def test_payoffs_like_those_before_are_no_drift():
    assert not has_drifted(80, 100, [1, 1, 1, 1, 0] * 12)


@pytest.mark.parametrize("recent", [[0, 1] * 30, [1.0] * 60])
def test_payoffs_far_below_or_above_those_before_are(recent):
    total = 90 if recent[0] == 0 else 60
    assert has_drifted(total, 100, recent)


def test_the_line_is_that_of_hoeffding():
    reach = math.sqrt((1 / 200 + 1 / 50) * math.log(2 / 0.05) / 2)
    assert not has_drifted(100, 200, [0.5 + reach - 1e-6] * 50, 0.05)
    assert has_drifted(100, 200, [0.5 + reach + 1e-6] * 50, 0.05)


def test_too_few_payoffs_tell_nothing():
    assert not has_drifted(1000, 1000, [0.0] * (LEAST_RECENT - 1))
    assert has_drifted(1000, 1000, [0.0] * LEAST_RECENT)
    assert not has_drifted(LEAST_RECENT - 1, LEAST_RECENT - 1, [0.0] * 500)
    assert not has_drifted(0, 0, [])


def alarms(before, after, tasks, looks=(60,), runs=2000, seed=0):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(runs):
        total, recent = rng.binomial(tasks, before), rng.random(max(looks)) < after
        found += any(has_drifted(total, tasks, recent[:look]) for look in looks)
    return found / runs


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_arms_that_stay_as_they_are_raise_fewer_false_alarms_than_stated(share):
    assert alarms(share, share, 200) < 0.01


@pytest.mark.parametrize(("before", "after"), [(0.8, 0.5), (0.65, 0.35), (0.5, 0.8)])
def test_a_change_by_three_tenths_is_found_within_sixty_tasks(before, after):
    assert alarms(before, after, 300, looks=range(20, 61, 5), runs=500) > 0.8


def test_partly_forgotten_sums_raise_no_more_false_alarms():
    rng, kept, found = np.random.default_rng(1), decay(50), 0
    worth = kept ** np.arange(400)
    for _ in range(2000):
        found += has_drifted(float(worth @ (rng.random(400) < 0.5)), float(worth.sum()), rng.random(60) < 0.5)
    assert found / 2000 < 0.01


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: decay(0), "half_life: got 0"),
        (lambda: decay(math.inf), "half_life: got inf"),
        (lambda: has_drifted(3, 2, []), "total: got 3 in 2.0 tasks"),
        (lambda: has_drifted(1, -2, []), "count: got -2"),
        (lambda: has_drifted(10, 20, [0.5] * 20, 0), "false_alarms: got 0"),
        (lambda: has_drifted(10, 20, [1.5] * 20), "recent_payoffs: got 1.5 to 1.5"),
        (lambda: has_drifted(10, 20, [math.nan] * 20), "recent_payoffs: got nan"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
