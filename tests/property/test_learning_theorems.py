"""What the mathematics promises of what lasts across tasks, for any tasks: each test is one theorem."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aligngraph.policy import (
    JudgedTask,
    allot,
    chances,
    choose,
    competence,
    decay,
    delegation_losses,
    delegation_regret_bound,
    fixed_loss,
    forgetting_regret_bound,
    gradient_increment,
    gradient_posterior,
    gradient_regret_bound,
    gradient_weights,
    hindsight,
    initial_policy,
    log_loss,
    loss_gradient,
    mix,
    mixture_shares,
    play,
    pooled_majority,
    posterior,
    realised_gradient_regret_bound,
    sample_shares,
    vote_shares,
    weight,
)
from aligngraph.policy.gradient import WEIGHT_RANGE

EXAMPLES = settings(max_examples=60, deadline=None)
FEW_EXAMPLES = settings(max_examples=20, deadline=None)
unit = st.floats(0, 1, allow_subnormal=False)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def vote_counts(draw):
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    counts = draw(arrays(np.int64, shape, elements=st.integers(0, 6)))
    sure = draw(arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)))
    counts[np.arange(shape[0]), sure] += 1
    return counts


def policies_of(rng, arms, answers):
    return initial_policy(rng.dirichlet(np.full(answers, 0.3), size=arms))


@EXAMPLES
@given(seeds, st.integers(1, 30), st.randoms(use_true_random=False))
def test_7_increments_of_any_workers_add_up_to_the_same_in_any_order(seed, tasks, random):
    rng = np.random.default_rng(seed)
    sums, rows = np.zeros(3), []
    for task in range(1, tasks + 1):
        policy, target = policies_of(rng, 3, 4), np.eye(4)[rng.integers(4)]
        rows.append(gradient_increment(gradient_weights(sums, 6), [2, 2, 2], policy, target, task))
        sums = sums + rows[-1]
    shares = [[row for number, row in enumerate(rows) if number % 4 == worker] for worker in range(4)]
    merged = sum(sum(random.sample(share, len(share)), np.zeros(3)) for share in shares)
    np.testing.assert_allclose(gradient_weights(merged, 6), gradient_weights(sums, 6), rtol=1e-9)
    shuffled = sum(random.sample(rows, tasks), np.zeros(3))
    np.testing.assert_allclose(mixture_shares(shuffled), mixture_shares(sums), rtol=1e-9)
    np.testing.assert_allclose(sample_shares(shuffled, tasks), sample_shares(sums, tasks), rtol=1e-9)


@EXAMPLES
@given(vote_counts(), st.tuples(st.floats(0, 9), st.floats(0, 9)), st.data())
def test_8_untrained_learners_and_any_mixture_of_them_decide_as_the_pooled_majority(counts, losses, drawn):
    first_seen = drawn.draw(st.permutations(range(counts.shape[1])))
    samples, abstention = counts.sum(axis=1), np.full((counts.shape[1], counts.shape[1]), 0.5)
    policy = play(initial_policy(vote_shares(counts)), abstention).policy
    none = np.zeros(len(counts))
    by_gradient = gradient_posterior(gradient_weights(none, samples.sum()), samples, policy)
    by_competence = posterior(weight(competence(none, none), counts.shape[1]), samples, policy)
    for belief in (by_gradient, by_competence, mix([by_competence, by_gradient], losses)):
        assert choose(belief, None, first_seen) == pooled_majority(counts, first_seen)


@EXAMPLES
@given(seeds, st.integers(1, 5), st.integers(1, 60), st.sampled_from([0.02, 0.3, 3.0]))
def test_9_a_mixture_is_never_more_than_the_log_of_its_learners_behind_the_best(seed, learners, tasks, spread):
    rng, losses, mixed = np.random.default_rng(seed), np.zeros(learners), 0.0
    for _ in range(tasks):
        answers = rng.integers(2, 6)
        rows = rng.dirichlet(np.full(answers, spread), size=learners)
        right = rng.random(answers) < 0.4
        target = right / max(1, right.sum())
        mixed += log_loss(mix(rows, losses), target)
        losses += [log_loss(row, target) for row in rows]
        assert mixed <= losses.min() + math.log(learners) + 1e-9


@EXAMPLES
@given(st.integers(2, 4), st.integers(1, 80))
def test_9_nor_against_an_adversary_who_sees_the_shares(learners, tasks):
    losses, mixed, target = np.zeros(learners), 0.0, np.array([1.0, 0.0])
    for _ in range(tasks):
        rows = np.full((learners, 2), 0.5)
        rows[mixture_shares(losses).argmax()] = [0.0, 1.0]
        mixed += log_loss(mix(rows, losses), target)
        losses += [log_loss(row, target) for row in rows]
    assert mixed <= losses.min() + math.log(learners) + 1e-9


class Course:
    """Exponentiated gradient over a sequence of tasks, and all that its bounds are about."""

    def __init__(self, arms, team_samples):
        self.sums, self.team_samples = np.zeros(arms), team_samples
        self.loss, self.tasks, self.weights, self.gradients = 0.0, [], [], []

    def meet(self, samples, policy, target):
        held = gradient_weights(self.sums, self.team_samples)
        self.loss -= float(np.asarray(target) @ np.log(gradient_posterior(held, samples, policy)))
        self.tasks.append(JudgedTask(samples, policy, target))
        self.weights.append(held)
        self.gradients.append(loss_gradient(held, samples, policy, target))
        self.sums = self.sums + gradient_increment(held, samples, policy, target, len(self.tasks))

    def check(self, best):
        regret = self.loss - fixed_loss(best, self.tasks)
        realised = realised_gradient_regret_bound(best, self.weights, self.gradients)
        assert regret <= realised + 1e-6
        assert realised <= gradient_regret_bound(best, [task.samples for task in self.tasks]) + 1e-6


@FEW_EXAMPLES
@given(seeds, st.integers(1, 4), st.integers(1, 60))
def test_9_exponentiated_gradient_is_within_its_bounds_of_any_fixed_weights(seed, arms, tasks):
    rng = np.random.default_rng(seed)
    course = Course(arms, 2 * arms)
    for _ in range(tasks):
        answers = rng.integers(2, 5)
        target = np.eye(answers)[rng.integers(answers)]
        course.meet(rng.integers(0, 6, size=arms), policies_of(rng, arms, answers), target)
    course.check(hindsight(course.tasks).weights)
    course.check(np.full(arms, min(1.0, 4 / (2 * arms))))
    low, high = (math.log(end) for end in WEIGHT_RANGE)
    course.check(np.clip(np.exp(rng.uniform(low, high, size=arms)), *WEIGHT_RANGE))


@FEW_EXAMPLES
@given(seeds, st.integers(1, 4), st.integers(1, 150), st.sampled_from([1, 3, 12]))
def test_9_and_against_an_adversary_who_sees_the_posterior(seed, arms, tasks, samples):
    rng = np.random.default_rng(seed)
    course = Course(arms, samples * arms)
    for _ in range(tasks):
        policy, drawn = policies_of(rng, arms, 3), np.full(arms, samples)
        belief = gradient_posterior(gradient_weights(course.sums, course.team_samples), drawn, policy)
        course.meet(drawn, policy, np.eye(3)[belief.argmin()])
    course.check(hindsight(course.tasks).weights)


def test_9_an_adversary_who_turns_the_weight_round_costs_the_root_of_the_tasks():
    regrets = []
    for tasks in (250, 1000, 4000):
        course = Course(1, 1)
        for _ in range(tasks):
            right = gradient_weights(course.sums, 1)[0] < 1
            course.meet([1], [[0.9, 0.1]], [1.0, 0.0] if right else [0.0, 1.0])
        best = hindsight(course.tasks)
        course.check(best.weights)
        regrets.append(course.loss - best.loss)
    np.testing.assert_allclose(np.diff(np.log2(regrets)), 1, atol=0.1)  # four times the tasks, twice the regret


def turning(tasks, *, cut):
    """Return the regret after a long run in which an arm leans to the right answer, then is sure and wrong."""
    course = Course(1, 1)
    for task in range(1, tasks + 1):
        before = course.sums
        policy = [[0.55, 0.45]] if task <= 0.95 * tasks else [[0.1, 0.9]]
        course.meet([1], policy, [1.0, 0.0])
        if not cut:
            course.sums = before - 1.5 / math.sqrt(task) * course.gradients[-1]
    return course.loss - hindsight(course.tasks).loss


def test_9_what_a_change_costs_depends_on_the_cut_at_the_edge_of_the_range():
    assert turning(8000, cut=True) < math.sqrt(8000)
    assert turning(8000, cut=False) > 2 * math.sqrt(8000)


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
