"""What the mathematics promises of the game, for any game: each test is one theorem."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aligngraph.policy import (
    choose,
    competence,
    external_regret,
    initial_policy,
    mirror_step,
    play,
    pooled_majority,
    posterior,
    regret_bound,
    tilted,
    vote_shares,
    weight,
)

EXAMPLES = settings(max_examples=60, deadline=None)
ROCK_PAPER_SCISSORS = np.array([[0.5, 1, 0], [0, 0.5, 1], [1, 0, 0.5]])
unit = st.floats(0, 1, allow_subnormal=False)
step_sizes = st.floats(0.05, 3)
anchors = st.floats(0, 5, allow_subnormal=False)
few, several = st.integers(1, 5), st.integers(2, 5)


@dataclass(frozen=True)
class Game:
    counts: np.ndarray
    preference: np.ndarray

    @property
    def initial(self):
        return initial_policy(vote_shares(self.counts))


def complemented(upper):
    above = np.triu(upper, 1)
    return above + np.tril(1 - above.T, -1) + np.eye(len(upper)) / 2


@st.composite
def vote_counts(draw, players=few, answers=few):
    shape = draw(players), draw(answers)
    counts = draw(arrays(np.int64, shape, elements=st.integers(0, 6)))
    sure = draw(arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)))
    counts[np.arange(shape[0]), sure] += 1
    return counts


@st.composite
def games(draw, players=few, answers=few):
    counts = draw(vote_counts(players, answers))
    size = counts.shape[1]
    return Game(counts, complemented(draw(arrays(np.float64, (size, size), elements=unit))))


@st.composite
def dominated_games(draw):
    game = draw(games(answers=several))
    loser = draw(st.integers(0, game.counts.shape[1] - 1))
    preference = 0.2 + 0.6 * game.preference
    preference[loser] = draw(arrays(np.float64, len(preference), elements=st.floats(0, 0.15)))
    preference[:, loser] = 1 - preference[loser]
    preference[loser, loser] = 0.5
    return Game(game.counts, preference), loser


@st.composite
def transitive_games(draw):
    counts = draw(vote_counts(answers=several))
    strength = np.array(draw(st.permutations(range(counts.shape[1])))) / 2
    return Game(counts, 1 / (1 + np.exp(strength[np.newaxis] - strength[:, np.newaxis]))), int(strength.argmax())


@EXAMPLES
@given(games(), step_sizes, anchors)
def test_1_policies_stay_on_the_simplex_and_payoffs_in_the_unit_interval(game, step_size, anchor):
    outcome = play(game.initial, game.preference, step_size=step_size, anchor=anchor)
    np.testing.assert_allclose(outcome.policy.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert outcome.policy.min() >= 0
    assert -1e-12 <= outcome.payoff.min() <= outcome.payoff.max() <= 1 + 1e-12


@EXAMPLES
@given(games(players=several), anchors, st.randoms(use_true_random=False))
def test_1_permuting_agents_permutes_rows(game, anchor, random):
    order = random.sample(range(len(game.counts)), len(game.counts))
    rules = {"anchor": anchor, "max_steps": 20, "tolerance": 0}
    plain = play(game.initial, game.preference, **rules)
    permuted = play(game.initial[order], game.preference, **rules)
    np.testing.assert_allclose(permuted.policy, plain.policy[order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(permuted.regret, plain.regret[order], rtol=0, atol=1e-9)


@EXAMPLES
@given(games(answers=several), anchors, st.randoms(use_true_random=False))
def test_1_permuting_answers_permutes_columns(game, anchor, random):
    order = random.sample(range(len(game.preference)), len(game.preference))
    rules = {"anchor": anchor, "max_steps": 20, "tolerance": 0}
    plain = play(game.initial, game.preference, **rules)
    permuted = play(game.initial[:, order], game.preference[np.ix_(order, order)], **rules)
    np.testing.assert_allclose(permuted.policy, plain.policy[:, order], rtol=0, atol=1e-9)
    assert permuted.nash_conv == pytest.approx(plain.nash_conv, abs=1e-9)


@EXAMPLES
@given(dominated_games(), step_sizes, anchors)
def test_1_the_mass_of_a_dominated_answer_falls(dominated, step_size, anchor):
    game, loser = dominated
    outcome = play(game.initial, game.preference, step_size=step_size, anchor=anchor)
    assert (outcome.policy[:, loser] < game.initial[:, loser]).all()


@EXAMPLES
@given(games(players=st.just(1)), st.lists(step_sizes, min_size=1, max_size=20))
def test_2_without_an_anchor_constant_payoffs_add_up_to_one_tilt(game, schedule):
    outcome = play(
        game.initial,
        game.preference,
        step_size=lambda step: schedule[step - 1],
        anchor=0,
        max_steps=len(schedule),
        tolerance=0,
    )
    constant = game.preference @ game.initial[0]
    once = game.initial[0] * np.exp(sum(schedule) * constant)
    np.testing.assert_allclose(outcome.policy[0], once / once.sum(), rtol=0, atol=1e-12)


@EXAMPLES
@given(games(), st.sampled_from([1e6, 1e9]))
def test_3_a_heavy_anchor_returns_the_initial_policy(game, anchor):
    outcome = play(game.initial, game.preference, anchor=anchor)
    np.testing.assert_allclose(outcome.policy, game.initial, rtol=0, atol=2 / anchor)


@EXAMPLES
@given(transitive_games(), st.sampled_from([0, 1e-3]))
def test_3_a_light_anchor_returns_the_best_answer_of_a_transitive_principal(transitive, anchor):
    game, best = transitive
    outcome = play(game.initial, game.preference, step_size=5, anchor=anchor)
    assert outcome.policy[:, best].min() > 0.99


def realised_regret(initial, next_payoff, steps, step_size, anchor=0.0):
    log_initial, tilt = np.log(initial), np.zeros_like(initial)
    totals, earned = np.zeros_like(initial), np.zeros(len(initial))
    for step in range(steps):
        policy = tilted(log_initial, tilt)
        paid = next_payoff(step, policy)
        totals += paid
        earned += (policy * paid).sum(axis=1)
        tilt = mirror_step(tilt, paid, step_size=step_size, anchor=anchor)
    bound = regret_bound(initial, totals, step_size=step_size, steps=steps, anchor=anchor)
    return external_regret(totals, earned), bound


@EXAMPLES
@given(vote_counts(), st.integers(1, 12), step_sizes, anchors, st.data())
def test_4_regret_is_within_the_bound_for_any_payoffs(counts, steps, step_size, anchor, drawn):
    initial = initial_policy(vote_shares(counts))
    sequence = drawn.draw(arrays(np.float64, (steps, *counts.shape), elements=unit))
    regret, bound = realised_regret(initial, lambda step, _: sequence[step], steps, step_size, anchor)
    assert (regret <= bound + 1e-9).all()


@EXAMPLES
@given(vote_counts(), st.integers(1, 60), step_sizes, anchors)
def test_4_regret_is_within_the_bound_against_an_adversary_who_sees_the_policy(counts, steps, step_size, anchor):
    def spite(_, policy):
        return (policy == policy.min(axis=1, keepdims=True)).astype(float)

    regret, bound = realised_regret(initial_policy(vote_shares(counts)), spite, steps, step_size, anchor)
    assert (regret <= bound + 1e-9).all()


def test_4_the_bound_is_nearly_reached_by_two_answers_that_pay_in_turn():
    regret, bound = realised_regret(np.array([[0.5, 0.5]]), lambda step, _: np.eye(2)[[step % 2]], 4000, 0.1)
    assert 0.85 * bound < regret <= bound


@EXAMPLES
@given(games(), step_sizes, anchors)
def test_4_the_games_own_regret_is_within_its_bound(game, step_size, anchor):
    outcome = play(game.initial, game.preference, step_size=step_size, anchor=anchor, max_steps=50, tolerance=0)
    assert (outcome.regret <= outcome.regret_bound + 1e-9).all()


@EXAMPLES
@given(vote_counts(answers=st.just(3)), st.floats(0.2, 5))
def test_5_anchored_play_settles_on_a_cycle_at_the_fixed_point(counts, anchor):
    initial = initial_policy(vote_shares(counts))
    outcome = play(initial, ROCK_PAPER_SCISSORS, anchor=anchor)
    assert outcome.settled
    fixed = initial * np.exp(outcome.payoff / anchor)
    np.testing.assert_allclose(outcome.policy, fixed / fixed.sum(axis=1, keepdims=True), rtol=0, atol=1e-6)
    assert outcome.anchored_nash_conv < 1e-9


@EXAMPLES
@given(vote_counts(players=st.just(2), answers=st.just(3)), st.floats(0.05, 0.5))
def test_5_without_an_anchor_play_on_a_cycle_never_comes_closer_to_its_equilibrium(counts, step_size):
    initial = initial_policy(vote_shares(counts))
    outcome = play(initial, ROCK_PAPER_SCISSORS, step_size=step_size, anchor=0, max_steps=100, tolerance=0)
    divergence_before, divergence_after = (-np.log(p).mean(axis=1).sum() for p in (initial, outcome.policy))
    assert divergence_after >= divergence_before - 1e-9


def test_5_without_an_anchor_play_on_a_cycle_does_not_settle():
    initial = initial_policy(vote_shares([[4, 1, 0], [0, 4, 1]]))
    outcome = play(initial, ROCK_PAPER_SCISSORS, step_size=0.2, anchor=0)
    assert not outcome.settled
    assert outcome.nash_conv > 0.1


def decided(counts, weights, first_seen):
    abstention = np.full((counts.shape[1], counts.shape[1]), 0.5)
    outcome = play(initial_policy(vote_shares(counts)), abstention)
    return choose(posterior(weights, counts.sum(axis=1), outcome.policy), None, first_seen)


@EXAMPLES
@given(vote_counts(), st.floats(0.01, 8), st.data())
def test_6_equal_weights_without_preference_decide_as_the_pooled_majority(counts, common_weight, drawn):
    first_seen = drawn.draw(st.permutations(range(counts.shape[1])))
    weights = np.full(len(counts), common_weight)
    assert decided(counts, weights, first_seen) == pooled_majority(counts, first_seen)


@EXAMPLES
@given(st.lists(st.tuples(unit, st.integers(0, 3)), max_size=40), st.randoms(use_true_random=False))
def test_7_sums_of_any_workers_are_mirror_descent_with_step_one_over_t_in_any_order(updates, random):
    shares = [[paid for paid, worker in updates if worker == name] for name in range(4)]
    merged = competence(sum(sum(share) for share in shares), sum(len(share) for share in shares))
    mean = 0.5
    for tasks, (paid, _) in enumerate(random.sample(updates, len(updates)), start=5):
        mean += (paid - mean) / tasks
    assert merged == pytest.approx(mean, abs=1e-12)


@EXAMPLES
@given(vote_counts(), st.data())
def test_8_untrained_and_without_a_principal_the_system_is_self_consistency(counts, drawn):
    first_seen = drawn.draw(st.permutations(range(counts.shape[1])))
    untrained = weight(competence(np.zeros(len(counts)), np.zeros(len(counts))), counts.shape[1])
    assert decided(counts, untrained, first_seen) == pooled_majority(counts, first_seen)
