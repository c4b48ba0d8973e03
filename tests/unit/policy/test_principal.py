import math

import numpy as np
import pytest

from aligngraph.policy.principal import (
    NO_RECORD,
    PrincipalRecord,
    earned_anchor,
    posterior_clarity,
    principal_payoff,
    principal_trust,
    relative_anchor,
)

FIRST_WINS = [[0.5, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]]


def duels(tasks, skill, clarity=1.0):
    """Return the record that a principal of this skill earns on average."""
    return PrincipalRecord(tasks * (0.5 + clarity * (skill - 0.5)), tasks, tasks * clarity)


def test_a_principal_is_paid_the_duels_that_the_right_answer_wins():
    assert principal_payoff([1, 0, 0], FIRST_WINS) == 1.0
    assert principal_payoff([0, 1, 0], FIRST_WINS) == 0.5
    assert principal_payoff([0.5, 0, 0.5], FIRST_WINS) == 0.5
    assert principal_payoff([0.2, 0.3, 0.5], FIRST_WINS) == pytest.approx(0.2 + 0.15, rel=1e-15)


def test_a_principal_that_says_nothing_is_paid_one_half():
    assert principal_payoff([0.7, 0.2, 0.1], np.full((3, 3), 0.5)) == pytest.approx(0.5, rel=1e-15)


def test_of_two_answers_it_is_paid_the_posterior_at_its_choice():
    assert principal_payoff([0.3, 0.7], [[0.5, 0], [1, 0.5]]) == 0.7


@pytest.mark.parametrize("answers", [2, 3, 7])
def test_clarity_goes_from_even_to_certain(answers):
    assert posterior_clarity(np.full(answers, 1 / answers)) == pytest.approx(0, abs=1e-15)
    assert posterior_clarity(np.eye(answers)[0]) == 1
    assert 0 < posterior_clarity([0.5 + 0.5 / answers, *[0.5 / answers] * (answers - 1)]) < 1


@pytest.mark.parametrize("skill", [0.0, 0.5, 0.64, 0.86, 1.0])
def test_clarity_is_the_share_of_the_skill_that_is_seen(skill):
    """Summed over which answer is right, by the posterior, and over the duels, by the skill."""
    belief = np.array([0.6, 0.3, 0.1])
    paid = 0.0
    for right, chance in enumerate(belief):
        preference = np.full((3, 3), 0.5)
        preference[right], preference[:, right], preference[right, right] = skill, 1 - skill, 0.5
        paid += chance * principal_payoff(belief, preference)
    assert paid == pytest.approx(0.5 + posterior_clarity(belief) * (skill - 0.5), rel=1e-12)


@pytest.mark.parametrize("ask", [lambda: principal_payoff([1.0], [[0.5]]), lambda: posterior_clarity([1.0])])
def test_a_duel_takes_two(ask):
    with pytest.raises(ValueError, match="posterior: got 1 answer, allowed are two or more"):
        ask()


def test_a_preference_speaks_of_the_same_answers():
    with pytest.raises(ValueError, match="preference: got shape"):
        principal_payoff([0.5, 0.5], FIRST_WINS)


@pytest.mark.parametrize(
    ("sums", "name"), [((2, 1, 1), "total"), ((-1, 1, 1), "total"), ((1, 1, 2), "clarity"), ((0, -1, 0), "count"),
                       ((math.nan, 1, 1), "total")]
)  # fmt: skip
def test_sums_outside_their_range_are_refused(sums, name):
    with pytest.raises(ValueError, match=f"^{name}: got"):
        PrincipalRecord(*sums)


def test_an_unknown_principal_has_no_trust_and_three_clear_tasks_earn_a_good_one_some():
    assert principal_trust(NO_RECORD) == 0
    assert 0 < principal_trust(PrincipalRecord(3, 3, 3)) < principal_trust(PrincipalRecord(9, 9, 9))


def test_one_that_guesses_is_seldom_trusted():
    won = np.random.default_rng(1).binomial(50, 0.5, 4000)
    trusted = [principal_trust(PrincipalRecord(total, 50, 50)) > 0.2 for total in won.tolist()]
    assert 0 < np.mean(trusted) < 0.06


def test_trust_comes_near_the_log_odds_of_the_skill():
    assert principal_trust(duels(1e6, 0.8)) == pytest.approx(math.log(4), abs=0.01)


def test_what_poor_votes_see_of_a_skill_is_scaled_up():
    assert principal_trust(duels(1e7, 0.8, clarity=0.1)) == pytest.approx(math.log(4), abs=0.01)


def test_the_same_skill_seen_less_clearly_is_trusted_less():
    trusts = [principal_trust(duels(100, 0.8, clarity)) for clarity in (0.05, 0.2, 0.5, 1.0)]
    assert trusts == sorted(trusts)
    assert trusts[0] < trusts[-1] / 2


@pytest.mark.parametrize("skill", [0.0, 0.3, 0.5])
def test_a_principal_no_better_than_chance_ends_without_trust(skill):
    assert principal_trust(duels(100, skill)) == 0


def test_trust_has_a_ceiling():
    assert principal_trust(duels(1e6, 1.0)) == pytest.approx(math.log(0.95 / 0.05), rel=1e-12)


def test_a_record_elsewhere_counts_as_eight_clear_tasks_at_most():
    assert principal_trust(NO_RECORD, duels(500, 0.9)) == pytest.approx(principal_trust(duels(8, 0.9)), rel=1e-12)
    assert principal_trust(NO_RECORD, duels(5, 0.9)) == pytest.approx(principal_trust(duels(5, 0.9)), rel=1e-12)


def test_the_anchor_is_the_weight_of_the_players_next_to_the_principal_s():
    assert relative_anchor(1.5, [2.0, 4.0], 2) == pytest.approx(3 / (2 * 1.5), rel=1e-15)
    assert relative_anchor(1.5, [2.0, 4.0], 3) == pytest.approx(3 / (2 * 1.5 * 2), rel=1e-15)


@pytest.mark.parametrize(("trust", "answers"), [(0.0, 3), (1e-9, 3), (2.0, 1)])
def test_without_trust_or_rivals_players_stay_as_firm_as_can_be(trust, answers):
    assert relative_anchor(trust, [1.0], answers) == 5


def test_no_anchor_is_below_its_range():
    assert relative_anchor(3.0, [0.01], 9) == 0.1


@pytest.mark.parametrize(
    ("trust", "weights", "answers", "name"),
    [
        (-1.0, [1.0], 2, "trust"),
        (1.0, [0.0], 2, "weights"),
        (1.0, [1.0], 0, "answers"),
        (1.0, [math.nan], 2, "weights"),
    ],
)
def test_an_anchor_needs_trust_weights_and_answers(trust, weights, answers, name):
    with pytest.raises(ValueError, match=f"^{name}: got"):
        relative_anchor(trust, weights, answers)


def test_a_record_earns_the_anchor_of_its_trust():
    record, elsewhere = duels(40, 0.8), duels(3, 0.6)
    expected = relative_anchor(principal_trust(record, elsewhere), [1.0, 2.0], 4)
    assert earned_anchor(record, [1.0, 2.0], 4, elsewhere) == expected
    assert earned_anchor(duels(40, 0.9), [1.0], 4) < earned_anchor(duels(40, 0.7), [1.0], 4)
