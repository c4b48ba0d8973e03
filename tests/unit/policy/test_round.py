import math

import numpy as np

from aligngraph.policy import GameRules, Learners, believe, initial_policy, play_round, vote_shares

RULES = GameRules(step_size=1.0, anchor=0.3, smoothing=0.5, max_steps=200)
COUNTS = [[2, 0], [0, 1]]
SECOND_FIRST = [[0.5, 0.0], [1.0, 0.5]]
EVEN = [[0.5, 0.5], [0.5, 0.5]]


def known(**changes):
    nothing = {"competence": [0.5, 0.5], "gradient": [0.0, 0.0], "shares": [0.5, 0.5], "team_samples": 3}
    return Learners(**{**nothing, **changes})


def test_without_a_preference_nobody_moves_and_the_votes_decide():
    played = play_round(COUNTS, EVEN, known(), RULES)
    start = initial_policy(vote_shares(COUNTS), 0.5)
    np.testing.assert_allclose(played.game.policy, start)
    np.testing.assert_allclose(played.posterior, believe(known(), [2, 1], start, vote_shares(COUNTS)).posterior)
    np.testing.assert_allclose(played.unranked_posterior, played.posterior)
    assert (played.chosen, played.majority) == (0, 0)


def test_the_principal_moves_the_players_and_the_vote_stays_what_it_was():
    played = play_round(COUNTS, SECOND_FIRST, known(), RULES)
    unranked = play_round(COUNTS, EVEN, known(), RULES)
    assert (played.chosen, played.majority) == (1, 0)
    np.testing.assert_allclose(played.unranked_posterior, unranked.posterior)
    assert played.posterior[1] > played.unranked_posterior[1]


def test_the_firmer_the_anchor_the_less_it_moves_them():
    shares = [
        play_round(COUNTS, SECOND_FIRST, known(), GameRules(1.0, anchor, 0.5, 400)).posterior[1]
        for anchor in (0.1, 0.3, 1.0, 5.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert play_round(COUNTS, SECOND_FIRST, known(), GameRules(1.0, 5.0, 0.5, 400)).anchor == 5.0


def test_who_proved_right_outweighs_two_samples():
    assert play_round(COUNTS, EVEN, known(competence=[0.2, 0.9]), RULES).chosen == 1


def test_feedback_decides_too_where_the_gradient_forecast_better():
    moved = {"gradient": [-3.0, 2.0], "losses": (5.0, 0.0, 5.0)}
    assert play_round(COUNTS, EVEN, known(**moved), RULES).chosen == 0
    assert play_round(COUNTS, EVEN, known(**moved, fed_back=5.0), RULES).chosen == 1


def test_a_tie_goes_to_the_principal_s_order_then_to_what_was_seen_first():
    tied = [[1, 0], [0, 1]]
    assert play_round(tied, EVEN, known(), RULES).chosen == 0
    assert play_round(tied, EVEN, known(), RULES, principal_order=[1, 0]).chosen == 1
    assert play_round(tied, EVEN, known(), RULES, principal_order=[math.nan, 0]).chosen == 0


def test_one_answer_is_sure():
    played = play_round([[3]], [[0.5]], known(competence=[0.3], gradient=[0.0], shares=[1.0]), RULES)
    assert (played.posterior.tolist(), played.chosen) == ([1.0], 0)
