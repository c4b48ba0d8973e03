import math
from dataclasses import replace

import numpy as np
import pytest

from aligngraph.policy import LEARNERS, trust
from aligngraph.policy.principal import PrincipalRecord, earned_anchor
from aligngraph.trials.replay_rules import (
    FedBack,
    SelfTaught,
    anchor_from_trust,
    judge_alone,
    principal_anchor,
    vote,
)
from aligngraph.trials.replay_tasks import ReplayedTask


def task_of(counts, preference=None, right=(True, False)):
    votes = np.array(counts, dtype=np.float64)
    answers = votes.shape[1]
    liked = np.full((answers, answers), 0.5) if preference is None else np.array(preference)
    return ReplayedTask("0", "general", int(votes.sum()), votes, np.array(right), liked)


def test_vote_and_judge_alone_take_the_first_seen_of_equals():
    task = task_of([[1, 0], [0, 1]])
    assert (vote(task), judge_alone(task)) == (0, 0)
    assert judge_alone(task_of([[1, 0], [0, 1]], [[0.5, 0], [1, 0.5]])) == 1


@pytest.mark.parametrize("rule", [SelfTaught("own", 3, None), FedBack(3)])
def test_an_arm_without_an_answer_is_neither_heard_nor_paid(rule):
    chosen = rule.decide(task_of([[0, 0], [0, 1], [0, 1]]))
    assert set(chosen.values()) == {1}
    assert rule._agents.known("general")[1].tolist() == [0, 1, 1]


def test_a_rule_without_a_game_does_not_hear_the_judge():
    against = [[0.5, 0.0], [1.0, 0.5]]
    assert SelfTaught("own", 3, None).decide(task_of([[1, 0], [1, 0], [0, 1]], against)) == {"own": 0}
    assert SelfTaught("own", 3, 0.02).decide(task_of([[1, 0], [1, 0], [0, 1]], against)) == {"own": 1}


def test_what_no_answer_was_right_for_teaches_the_learners_of_the_log_loss_nothing():
    rule = FedBack(2)
    rule.decide(task_of([[1, 0], [0, 1]], right=(False, False)))
    assert rule._tasks["general"] == 0
    assert not rule._gradient["general"].any()
    assert rule._agents.known("general")[:2].tolist() == [[0, 0], [1, 1]]


def test_a_task_told_costs_hedge_the_even_vote_of_its_arms_and_moves_the_gradient_to_who_was_right():
    rule = FedBack(3)
    assert list(rule.decide(task_of([[1, 0], [1, 0], [0, 1]]))) == [*LEARNERS, "mixture"]
    assert rule._losses["general"][2] == pytest.approx(-math.log(0.001 + 0.998 * 2 / 3))
    first, second, wrong = rule._gradient["general"]
    assert first == second > 0 > wrong


def test_a_new_judge_of_duels_is_not_heard_and_one_that_won_twenty_is():
    """Sure arms: every task is clear, so that 20 of them earn what 20 won duels of 20 earn, less what votes leave open."""
    rule, against = SelfTaught("own", 3, "duels"), task_of([[2, 0], [2, 0], [0, 1]], [[0.5, 0.0], [1.0, 0.5]])
    assert rule._anchor(against, np.full(3, 0.5)) == 5
    liked = task_of([[9, 0]] * 3, [[0.5, 1.0], [0.0, 0.5]])
    for _ in range(20):
        rule.decide(liked)
    paid, tasks, *_ = rule._duels.known("general").tolist()
    assert tasks == [20, 20]
    assert 10 < paid[0] < 20
    expected = earned_anchor(PrincipalRecord(paid[0], 20, paid[1]), [math.log(2)] * 3, 2)
    assert rule._anchor(against, np.full(3, 0.5)) == pytest.approx(expected)
    assert expected < 1


def test_judges_of_two_kinds_of_task_lend_each_other_their_duels():
    rule = SelfTaught("own", 3, "duels")
    for _ in range(60):
        rule.decide(replace(task_of([[9, 0]] * 3, [[0.5, 1.0], [0.0, 0.5]]), domain="other"))
    task = task_of([[1, 0], [1, 0], [0, 1]])
    own = SelfTaught("own", 3, "duels")._anchor(task, np.full(3, 0.5))
    assert rule._anchor(task, np.full(3, 0.5)) < own


def test_the_anchor_of_trust_is_inverse_to_it_within_its_range():
    assert [anchor_from_trust(nats, 10) for nats in (0.05, 0.1, 1.0, 2.5, 5.0, 30.0)] == [5.0, 5.0, 0.5, 0.2, 0.1, 0.1]


@pytest.mark.parametrize("nats", [0.05, 2.0, 30.0])
def test_trust_is_not_used_before_ten_tasks(nats):
    assert [anchor_from_trust(nats, tasks) for tasks in (0, 9)] == [0.3, 0.3]
    assert anchor_from_trust(nats, 10) != 0.3


def test_the_anchor_of_a_judge_s_first_choices_follows_their_record():
    assert principal_anchor(0, 0, 3) == principal_anchor(9, 9, 3) == 0.3
    assert principal_anchor(9, 10, 3) == anchor_from_trust(trust(0.9, 3), 10)
    assert principal_anchor(10, 10, 3) == 0.1
    assert principal_anchor(0, 10, 3) == 5.0


def test_a_judge_s_record_elsewhere_counts_as_eight_tasks_at_most():
    assert principal_anchor(1, 1, 3, 5, 10) == 0.3
    assert principal_anchor(2, 2, 3, 50, 100) == anchor_from_trust(trust((2 + 4) / 10, 3), 10)
    assert principal_anchor(8, 10, 3, 3, 4) == anchor_from_trust(trust(11 / 14, 3), 14)
