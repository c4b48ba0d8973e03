"""What a task reads of earlier ones: by arm and by what the arm is made of, here and elsewhere."""

import math

import pytest

from aligngraph.learning.known import (
    DELEGATION,
    earned_anchor,
    judge_trust,
    known_tasks,
    missed_loss,
    read_competence,
    read_learned,
    read_learners,
    share_samples,
    trust_principal,
    weigh_arms,
)
from aligngraph.persistence import ArmKey, ArmSums, Sums
from aligngraph.policy import LEARNERS

ARM = "a/direct"


def sums_of(here=(), elsewhere=()):
    return Sums(dict(here), dict(elsewhere))


def paid(total, count, **more):
    return ArmSums("agent", total=total, count=count, **more)


def test_nothing_is_known_of_anybody_at_first():
    learned = read_learned(sums_of(), {ARM: "m"}, {"principal": "p"})
    assert read_competence(learned, [ARM]) == [0.5]
    assert known_tasks(learned, [ARM]) == [0.0]
    assert weigh_arms(learned, answers=4) == {ARM: pytest.approx(math.log(4))}
    assert learned["arms"][ARM]["made_of"] == "m"


def test_an_arm_finds_what_those_made_like_it_earned_and_what_nobody_noted_the_making_of():
    here = {ArmKey(ARM, "m"): paid(3.0, 4.0), ArmKey(ARM): paid(1.0, 2.0), ArmKey(ARM, "other"): paid(0.0, 90.0)}
    learned = read_learned(sums_of(here), {ARM: "m"}, {})
    assert (learned["arms"][ARM]["total"], learned["arms"][ARM]["count"]) == (4.0, 6.0)
    assert read_competence(learned, [ARM]) == [pytest.approx((4 + 2) / (6 + 4))]


def test_other_domains_lend_no_more_than_eight_tasks_and_neither_gradient_nor_loss():
    elsewhere = {ArmKey(ARM, "m"): paid(80.0, 100.0, gradient=2.0, loss=7.0)}
    learned = read_learned(sums_of(elsewhere=elsewhere), {ARM: "m"}, {})
    lent = (2 + 80) / (4 + 100)
    assert read_competence(learned, [ARM]) == [pytest.approx((2 + 8 * lent) / (4 + 8))]
    assert (learned["arms"][ARM]["gradient"], learned["arms"][ARM]["loss"]) == (0.0, 0.0)


def test_what_another_making_earned_elsewhere_is_not_lent():
    learned = read_learned(sums_of(elsewhere={ArmKey(ARM, "other"): paid(100.0, 100.0)}), {ARM: "m"}, {})
    assert read_competence(learned, [ARM]) == [0.5]


def test_arms_that_the_state_does_not_know_are_as_new_ones():
    learned = read_learned(sums_of({ArmKey(ARM, "m"): paid(9.0, 9.0)}), {ARM: "m"}, {})
    assert read_competence(learned, ["x/direct", ARM]) == [0.5, pytest.approx(11 / 13)]


def test_learners_know_their_losses_and_the_players_gradients():
    here = {
        ArmKey("competence"): ArmSums("learner", count=3.0, loss=1.5),
        ArmKey("gradient"): ArmSums("learner", count=3.0, loss=0.5),
        ArmKey(ARM, "m"): paid(1.0, 3.0, gradient=0.75),
    }
    learners = read_learners(read_learned(sums_of(here), {ARM: "m"}, {}), [ARM], team_samples=6)
    losses = dict(zip(LEARNERS, learners.losses, strict=True))
    assert (losses["competence"], losses["gradient"], learners.fed_back, learners.team_samples) == (1.5, 0.5, 3.0, 6)
    assert learners.gradient == [0.75]


def test_samples_are_shared_by_the_losses_and_no_arm_is_given_up():
    arms = {"a/direct": "m", "b/direct": "m"}
    here = {ArmKey("b/direct", "m"): paid(0.0, 100.0, loss=100.0), ArmKey(DELEGATION): ArmSums("learner", count=100.0)}
    shares = share_samples(read_learned(sums_of(here), arms, {}))
    assert math.fsum(shares.values()) == pytest.approx(1)
    assert shares["b/direct"] == pytest.approx(0.01, abs=1e-6), "half of the 2 % that are spread evenly"
    assert share_samples(read_learned(sums_of(), arms, {})) == {"a/direct": 0.5, "b/direct": 0.5}


def test_a_principal_is_another_where_it_is_made_of_something_else():
    here = {ArmKey("principal", "p"): ArmSums("principal", total=45.0, count=50.0)}
    known, other = (read_learned(sums_of(here), {ARM: "m"}, {"principal": made_of}) for made_of in ("p", "q"))
    assert trust_principal(known) > 0 == trust_principal(other)
    assert earned_anchor(known, [ARM], 3) < earned_anchor(other, [ARM], 3)


def test_what_the_votes_could_not_see_of_a_principal_does_not_count_against_it():
    """Its loss is what its tasks lacked in clarity; of tasks without any, nothing is known."""
    clear, unclear = (
        read_learned(
            sums_of({ArmKey("principal", "p"): ArmSums("principal", total=29.0, count=50.0, loss=loss)}),
            {ARM: "m"},
            {"principal": "p"},
        )
        for loss in (0.0, 40.0)
    )
    assert trust_principal(unclear) > trust_principal(clear)


def test_a_principal_s_record_is_lent_to_other_domains():
    lent = {ArmKey("principal", "p"): ArmSums("principal", total=90.0, count=100.0)}
    learned = read_learned(sums_of(elsewhere=lent), {ARM: "m"}, {"principal": "p"})
    assert trust_principal(learned) > 0


def test_judges_start_alike_and_are_trusted_by_what_they_earned():
    good, bad = "principal/listwise@x", "principal/listwise@y"
    here = {
        ArmKey(good, "x"): ArmSums("principal", total=18.0, count=20.0),
        ArmKey(bad, "y"): ArmSums("principal", total=2.0, count=20.0),
    }
    learned = read_learned(sums_of(here), {}, {good: "x", bad: "y"})
    unknown = judge_trust(read_learned(sums_of(), {}, {}), good, answers=3)
    assert judge_trust(learned, bad, answers=3) < unknown < judge_trust(learned, good, answers=3)


def test_a_newcomer_is_dealt_a_fair_share_and_not_nearly_everything(learned_of):
    """With nothing lost it would have 0.987 of the samples after 100 tasks of arms that lost 30 and 45."""
    dealt = {"delegation": {"count": 100.0, "loss": 31.0}}
    old, poor = {"count": 100.0, "loss": 30.0}, {"count": 100.0, "loss": 45.0}
    shares = share_samples(learned_of(("old/x", "poor/x", "new/x"), learners=dealt, o=old, p=poor))
    assert shares["poor/x"] < shares["new/x"] < shares["old/x"]


def test_a_newcomer_keeps_its_place_once_it_has_played(learned_of):
    dealt = {"delegation": {"count": 100.0, "loss": 31.0}}
    assert missed_loss(learned_of(("new/x",), learners=dealt), "new/x") == 31.0
    assert missed_loss(learned_of(("new/x",), learners=dealt, n={"count": 1.0, "loss": 31.5}), "new/x") == 0.0
