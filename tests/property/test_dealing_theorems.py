"""What the mathematics promises of dealing out samples by what arms lost: each test is one theorem."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aligngraph.policy import (
    allot,
    chances,
    decay,
    delegation_losses,
    delegation_regret_bound,
    forgetting_regret_bound,
    sample_shares,
)

EXAMPLES = settings(max_examples=60, deadline=None)
unit = st.floats(0, 1, allow_subnormal=False)
seeds = st.integers(0, 2**32 - 1)


def lost_by_shares(losses, kept=1.0):
    """Return what the shares lost in each of the tasks, whose losses are `[T, A]`."""
    lost, sums, count = [], 0.0, 0.0
    for task in losses:
        shares = sample_shares(sums if count else np.zeros(len(task)), count)
        lost.append(float(shares @ task))
        sums, count = kept * sums + task, kept * count + 1
    return np.array(lost)


@EXAMPLES
@given(st.integers(1, 5), st.integers(1, 80), st.data())
def test_hedge_is_within_its_bound_of_the_best_arm_for_any_losses(arms, tasks, drawn):
    losses = drawn.draw(arrays(np.float64, (tasks, arms), elements=unit))
    excess = lost_by_shares(losses).sum() - losses.sum(axis=0).min()
    assert excess <= delegation_regret_bound(arms, tasks) + 1e-9


@EXAMPLES
@given(st.integers(2, 5), st.integers(1, 300))
def test_hedge_is_within_its_bound_against_an_adversary_who_sees_the_shares(arms, tasks):
    lost, sums = 0.0, np.zeros(arms)
    for task in range(tasks):
        shares = sample_shares(sums, task)
        spite = np.eye(arms)[shares.argmax()]
        lost, sums = lost + float(shares @ spite), sums + spite
    assert lost - sums.min() <= delegation_regret_bound(arms, tasks) + 1e-9


@st.composite
def stretches(draw):
    arms, lengths = draw(st.integers(2, 4)), draw(st.lists(st.integers(1, 120), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(seeds))
    return [np.clip(rng.normal(rng.random(arms), 0.2, size=(length, arms)), 0, 1) for length in lengths]


@EXAMPLES
@given(stretches(), st.sampled_from([1.0, 5.0, 30.0, 200.0]))
def test_hedge_that_forgets_is_within_its_bound_of_the_best_arm_of_each_stretch(parts, half_life):
    losses = np.concatenate(parts)
    best = sum(part.sum(axis=0).min() for part in parts)
    excess = lost_by_shares(losses, decay(half_life)).sum() - best
    assert excess <= forgetting_regret_bound(losses.shape[1], len(losses), half_life, len(parts) - 1) + 1e-9


def test_only_hedge_that_forgets_follows_a_change_after_a_long_time():
    losses = np.repeat([[0.0, 1.0], [1.0, 0.0]], 1000, axis=0)
    bound = forgetting_regret_bound(2, 2000, 30, 1)
    assert lost_by_shares(losses, decay(30)).sum() < bound / 2
    assert lost_by_shares(losses).sum() > 2 * bound


@EXAMPLES
@given(unit, unit, st.floats(0.01, 1), st.integers(1, 1000))
def test_an_estimated_loss_is_never_above_the_true_one_on_average_and_hardly_below(paid, other, chance, tasks):
    def estimate(played):
        known = paid if played else math.nan
        return delegation_losses([known, other], [played, True], [chance, 1.0], [0.5, 0.5], tasks)[0]

    mean = estimate(played=True) if chance == 1 else chance * estimate(played=True)
    exploration = math.sqrt(math.log(2) / (2 * tasks)) / 2
    assert estimate(played=False) == 0 or chance == 1
    assert mean <= 1 - paid + 1e-12
    assert mean >= (1 - paid) * (1 if chance == 1 else chance / (chance + exploration)) - 1e-12


@EXAMPLES
@given(st.lists(st.floats(0, 50), min_size=2, max_size=5), unit, st.integers(1, 99))
def test_an_arm_that_fails_while_all_others_lose_alike_keeps_its_share(losses, lost, tasks):
    before = sample_shares(losses, tasks)
    payoffs = [math.nan] + [1 - lost] * (len(losses) - 1)
    ones = np.ones(len(losses))
    added = delegation_losses(payoffs, ones, ones, before, tasks)
    np.testing.assert_allclose(sample_shares(losses + added, tasks), before, rtol=1e-9)


@EXAMPLES
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=7), st.integers(1, 30), st.integers(0, 3), seeds)
def test_samples_are_dealt_to_the_last_and_nobody_sure_goes_without(parts, samples, floor, seed):
    shares = np.array(parts) / sum(parts)
    sure = chances(shares, samples, floor)
    dealt = allot(shares, samples, floor, rng=np.random.default_rng(seed))
    assert dealt.sum() == samples
    assert dealt.min() >= 0
    assert (dealt[sure == 1] > 0).all()
    if samples >= floor * len(shares):
        assert dealt.min() >= floor


def test_one_sample_a_task_finds_the_best_arm_by_chance_alone():
    rng, right = np.random.default_rng(5), np.array([0.3, 0.4, 0.8, 0.35])
    sums, most = np.zeros(4), []
    for task in range(3000):
        shares = sample_shares(sums, task)
        played = allot(shares, 1, 0, rng=rng) > 0
        payoffs = np.where(played, rng.random(4) < right, np.nan)
        sums += delegation_losses(payoffs, played, chances(shares, 1, 0), shares, task + 1)
        most.append(shares[2])
    assert np.mean(most[-1000:]) > 0.9


@pytest.mark.parametrize("tasks", [50, 500])
def test_shares_after_a_run_of_like_tasks_are_nearly_all_the_best_arms(tasks):
    losses = np.tile([0.2, 0.7, 0.7], (tasks, 1))
    assert sample_shares(losses.sum(axis=0), tasks)[0] > (0.9 if tasks == 500 else 0.6)
