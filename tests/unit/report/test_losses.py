import math

import numpy as np
import pytest

from aligngraph.learning.teaching import Verdict
from aligngraph.persistence import Sums
from aligngraph.policy import log_loss
from aligngraph.report import losses
from aligngraph.report.losses import record_losses
from aligngraph.report.timeline import Point


def point(number, evidence, right):
    return Point(number, f"r{number}", evidence, Sums({}, {}), None if right is None else Verdict(right))


@pytest.fixture(scope="module")
def learned(make_domain):
    domain = make_domain()
    for number in range(40):
        domain.ask(feedback=number % 4 != 3)
    return domain.timeline().points


def test_only_tasks_whose_right_answer_is_known_count(make_evidence):
    evidence = make_evidence()
    points = [
        point(1, evidence, None),
        point(2, evidence, (False, False)),
        point(3, evidence, (True, False)),
        point(4, None, (True,)),
    ]
    assert record_losses(points).numbers.tolist() == [3]
    assert record_losses(points[:2]) is None
    assert record_losses([]) is None


def test_the_decisions_lose_what_their_posterior_says(make_evidence):
    right, wrong = make_evidence(posterior=(0.75, 0.25)), make_evidence(posterior=(0.1, 0.9))
    record = record_losses([point(1, right, (True, False)), point(5, wrong, (True, False))])
    assert record.decisions.losses == pytest.approx([log_loss([0.75, 0.25], [1, 0]), log_loss([0.1, 0.9], [1, 0])])
    assert record.decisions.losses == pytest.approx([-math.log(0.75), -math.log(0.1)], abs=0.01)
    assert record.decisions.total == pytest.approx(record.decisions.losses.sum())


def test_an_agent_alone_is_judged_on_its_votes_and_guesses_where_it_has_none(make_evidence):
    evidence = make_evidence(first=((2.0, 0.0, 0.0), (0.0, 0.0, 0.0)), counts=((2.0, 0.0), (0.0, 0.0)))
    record = record_losses([point(1, evidence, (True, False))])
    careful, quick = record.agents
    assert (careful.name, quick.name) == ("careful alone", "quick alone")
    assert quick.total == pytest.approx(math.log(2))
    assert careful.total < 0.01  # one right vote, listened to as loudly as it may


def test_the_plain_vote_knows_of_no_principal(make_evidence):
    """Both tasks have the same votes; what the principal says of them must not move the plain vote."""
    liked, disliked = make_evidence(), make_evidence(preference=((0.5, 0.0), (1.0, 0.5)))
    told = [record_losses([point(1, evidence, (True, False))]).vote.total for evidence in (liked, disliked)]
    assert told[0] == pytest.approx(told[1], abs=1e-9)


def test_no_rule_on_the_same_policies_loses_less_than_the_best_fixed_weights(learned):
    record = record_losses(learned)
    assert record.learner.total >= record.best.total - 1e-6
    assert set(record.best_weights) == {"careful/step_by_step", "quick/direct", "tiny/direct"}
    assert all(0.001 <= weight <= 15 for weight in record.best_weights.values())


def test_the_regret_told_at_once_stays_within_its_bound_at_every_task(learned):
    record = record_losses(learned)
    assert [bound.number for bound in record.bounds] == record.numbers.tolist()
    nats = np.array([bound.nats for bound in record.bounds])
    assert (np.diff(nats) >= -1e-9).all()
    assert (np.cumsum(record.learner.losses) - np.cumsum(record.best.losses) <= nats).all()
    assert record.decisions.total - record.best.total <= nats[-1]


def test_the_bound_has_the_nats_of_the_mixture_and_of_the_floor(make_evidence):
    """Even votes have no slope, so that only the start's distance from the best weights is left; both start at 1."""
    even = make_evidence(
        first=((1.0, 1.0, 0.0),) * 2, counts=((1.0, 1.0),) * 2, posterior=(0.5, 0.5), preference=None, tiers=()
    )
    record = record_losses([point(1, even, (True, False))])
    distance = sum(weight * math.log(weight) - weight + 1 for weight in record.best_weights.values())
    assert record.bounds[0].nats == pytest.approx(distance / 1.5 - math.log(0.45) - math.log(0.999))


def test_an_arm_that_came_late_takes_part_from_then_on(make_evidence):
    late = make_evidence(arms=("careful/direct", "new/direct"))
    record = record_losses([point(1, make_evidence(), (True, False)), point(2, late, (True, False))])
    assert [rule.name for rule in record.agents] == ["careful alone", "quick alone", "new alone"]
    assert record.agents[2].losses[0] == pytest.approx(math.log(2))


def test_of_very_many_tasks_the_latest_are_played_again(make_evidence, monkeypatch):
    monkeypatch.setattr(losses, "MOST_TASKS", 2)
    points = [point(number, make_evidence(), (True, False)) for number in (1, 2, 3)]
    assert record_losses(points).numbers.tolist() == [2, 3]
