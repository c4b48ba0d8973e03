"""Nash gaps and regret as another implementation counts them, and as counting them out by hand does."""

import itertools

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

from aligngraph.policy import initial_policy, nash_gap, payoff, play, trace, vote_shares

SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3)]
SEEDS = range(5)


def preference_of(rng, answers):
    above = np.triu(rng.random((answers, answers)), 1)
    return above + np.tril(1 - above.T, -1) + np.eye(answers) / 2


def profile_of(rng, shape):
    return rng.dirichlet(np.full(shape[1], 0.7), size=shape[0])


def utilities(preference, players):
    """Return what each pure profile pays each player, counted out one by one."""
    answers = len(preference)
    paid = np.zeros((players, *[answers] * players))
    for profile in itertools.product(range(answers), repeat=players):
        for player, own in enumerate(profile):
            others = [answer for other, answer in enumerate(profile) if other != player]
            paid[(player, *profile)] = np.mean([preference[own, answer] for answer in others])
    return paid


def delegation_game(preference, players):
    game = pyspiel.create_tensor_game(list(utilities(preference, players)))
    return pyspiel.convert_to_turn_based(game)


def as_spiel(game, profile):
    table = spiel_policy.TabularPolicy(game)
    for row, states in zip(profile, table.states_per_player, strict=True):
        (state,) = states
        table.action_probability_array[table.state_lookup[state]] = row
    return table


def value(game, profile, player):
    everyone = [as_spiel(game, profile)] * len(profile)
    return expected_game_score.policy_value(game.new_initial_state(), everyone)[player]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_nash_gaps_and_their_sum_are_those_of_open_spiel(shape, seed):
    rng = np.random.default_rng(seed)
    preference, profile = preference_of(rng, shape[1]), profile_of(rng, shape)
    game = delegation_game(preference, shape[0])
    theirs = exploitability.nash_conv(game, as_spiel(game, profile), return_only_nash_conv=False)
    ours = nash_gap(profile, payoff(profile, preference))
    np.testing.assert_allclose(ours, theirs.player_improvements, rtol=0, atol=1e-9)
    assert ours.sum() == pytest.approx(theirs.nash_conv, abs=1e-9)
    assert ours.sum() > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_payoffs_are_the_expectation_over_all_pure_profiles(shape, seed):
    rng = np.random.default_rng(seed)
    preference, profile = preference_of(rng, shape[1]), profile_of(rng, shape)
    paid = np.zeros(shape)
    for player, own in itertools.product(range(shape[0]), range(shape[1])):
        sure = profile.copy()
        sure[player] = np.eye(shape[1])[own]
        for pure in itertools.product(range(shape[1]), repeat=shape[0]):
            chance = np.prod([sure[row, answer] for row, answer in enumerate(pure)])
            paid[player, own] += chance * utilities(preference, shape[0])[(player, *pure)]
    np.testing.assert_allclose(payoff(profile, preference), paid, rtol=0, atol=1e-12)


@pytest.mark.parametrize("anchor", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_nash_conv_of_a_game_is_that_of_its_last_profile(shape, anchor):
    rng = np.random.default_rng(11)
    preference = preference_of(rng, shape[1])
    start = initial_policy(vote_shares(rng.integers(1, 5, size=shape)))
    outcome = play(start, preference, anchor=anchor, max_steps=7)
    game = delegation_game(preference, shape[0])
    assert outcome.nash_conv == pytest.approx(exploitability.nash_conv(game, as_spiel(game, outcome.policy)), abs=1e-9)


@pytest.mark.parametrize("anchor", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_regret_is_what_the_best_fixed_answer_would_have_earned_more_at_every_step(shape, anchor):
    rng, steps = np.random.default_rng(7), 6
    preference = preference_of(rng, shape[1])
    start = initial_policy(vote_shares(rng.integers(1, 5, size=shape)))
    rules = {"anchor": anchor, "max_steps": steps, "tolerance": 0}
    game, regret = delegation_game(preference, shape[0]), []
    profiles = trace(start, preference, **rules)[:steps]
    for player in range(shape[0]):
        fixed = [
            sum(value(game, deviating(profile, player, y), player) for profile in profiles) for y in range(shape[1])
        ]
        regret.append(max(fixed) - sum(value(game, profile, player) for profile in profiles))
    np.testing.assert_allclose(play(start, preference, **rules).regret, regret, rtol=0, atol=1e-9)


def deviating(profile, player, answer):
    changed = profile.copy()
    changed[player] = np.eye(profile.shape[1])[answer]
    return changed
