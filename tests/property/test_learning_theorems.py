"""What the mathematics promises of what lasts across tasks, for any tasks: each test is one theorem."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aligngraph.policy import (
    LEARNER_PRIOR,
    LEARNERS,
    JudgedTask,
    Learners,
    believe,
    choose,
    competence,
    fixed_loss,
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
    new = Learners(competence(none, none), none, np.full(len(counts), 1 / len(counts)), samples.sum())
    untold = believe(new, samples, policy, vote_shares(counts)).posterior
    for belief in (by_gradient, by_competence, mix([by_competence, by_gradient], losses), untold):
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
@given(seeds, st.integers(1, 60), st.sampled_from([0.02, 0.3, 3.0]))
def test_9_the_three_learners_together_are_never_more_than_the_log_of_its_prior_behind_any(seed, tasks, spread):
    """But for the first task told, which competence decides alone."""
    rng, losses, mixed = np.random.default_rng(seed), np.zeros(len(LEARNERS)), 0.0
    for task in range(tasks):
        answers = rng.integers(2, 6)
        votes, policy = rng.dirichlet(np.full(answers, spread), size=3), policies_of(rng, 3, answers)
        known = Learners(rng.uniform(0.1, 0.9, 3), rng.normal(size=3), rng.random(3), 6, losses, fed_back=task)
        belief, target = believe(known, [2, 2, 2], policy, votes), np.eye(answers)[rng.integers(answers)]
        decided = belief.posterior if task else mix(belief.by_learner, losses, LEARNER_PRIOR)
        mixed += log_loss(decided, target)
        losses = losses + [log_loss(row, target) for row in belief.by_learner]
        assert (mixed <= losses - np.log(LEARNER_PRIOR) + 1e-9).all()


@EXAMPLES
@given(st.integers(1, 80), seeds)
def test_9_nor_with_any_prior_against_an_adversary_who_sees_the_shares(tasks, seed):
    prior = np.random.default_rng(seed).dirichlet([1.0, 1.0, 1.0])
    losses, mixed, target = np.zeros(3), 0.0, np.array([1.0, 0.0])
    for _ in range(tasks):
        rows = np.full((3, 2), 0.5)
        rows[mixture_shares(losses, prior).argmax()] = [0.0, 1.0]
        mixed += log_loss(mix(rows, losses, prior), target)
        losses = losses + [log_loss(row, target) for row in rows]
    assert (mixed <= losses - np.log(prior) + 1e-9).all()


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
