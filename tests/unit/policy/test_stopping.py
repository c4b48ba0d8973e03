import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aligngraph.policy import (
    DEFAULT_THRESHOLD,
    Stop,
    asking_order,
    early_stop,
    initial_policy,
    is_unchangeable,
    open_posterior,
    posterior,
    stopped_payoffs,
    vote_shares,
    wave_sizes,
    weight,
)
from aligngraph.randomness import generator

EXAMPLES = settings(max_examples=150, deadline=None)
EVEN = 0.5
SURE = 0.95


def leaders(votes, means):
    """Return the columns that lead the weighted vote, several where they tie."""
    scores = weight(means, votes.shape[1]) @ votes
    return set(np.flatnonzero(scores >= scores.max() - 1e-9).tolist())


def completed(counts, remaining):
    """Yield the votes after every way in which the remaining samples can be answered, or fail."""
    counts = np.asarray(counts, dtype=float)
    arms = np.repeat(np.arange(len(remaining)), remaining)
    known, new = counts.shape[1], len(arms)
    for said in itertools.product([None, *range(known + new)], repeat=new):
        brought = {
            answer: known + place for place, answer in enumerate(dict.fromkeys(a for a in said if (a or 0) >= known))
        }
        votes = np.pad(counts, ((0, 0), (0, len(brought))))
        for arm, answer in zip(arms, said, strict=True):
            if answer is not None:
                votes[arm, brought.get(answer, answer)] += 1
        yield votes


def stays_in_every_case(counts, remaining, means):
    """Return whether the one leader now is the one leader in every completion: the definition, tried out."""
    now = leaders(np.asarray(counts, dtype=float), means)
    return len(now) == 1 and all(leaders(votes, means) == now for votes in completed(counts, remaining))


@st.composite
def unfinished(draw):
    arms, answers = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    counts = np.array([[draw(st.integers(0, 3)) for _ in range(answers)] for _ in range(arms)])
    counts[0, 0] += not counts.any()
    remaining = [0] * arms
    for _ in range(draw(st.integers(0, 4))):
        remaining[draw(st.integers(0, arms - 1))] += 1
    means = np.array([draw(st.sampled_from([0.02, 0.2, EVEN, 0.7, 0.9, 0.99])) for _ in range(arms)])
    return counts, remaining, means


@EXAMPLES
@given(unfinished())
def test_unchangeable_means_that_no_completion_changes_the_leader(case):
    counts, remaining, means = case
    assert is_unchangeable(counts, remaining, means) == stays_in_every_case(counts, remaining, means)


@EXAMPLES
@given(unfinished(), st.randoms(use_true_random=False))
def test_arms_and_answers_have_no_order(case, random):
    counts, remaining, means = case
    arms, answers = list(range(len(counts))), list(range(counts.shape[1]))
    random.shuffle(arms)
    random.shuffle(answers)
    shuffled = counts[np.ix_(arms, answers)]
    assert is_unchangeable(shuffled, np.array(remaining)[arms], means[arms]) == is_unchangeable(
        counts, remaining, means
    )


@EXAMPLES
@given(unfinished())
def test_what_is_unchangeable_stays_so_with_fewer_samples_to_come(case):
    counts, remaining, means = case
    fewer = [max(0, number - 1) for number in remaining]
    assert is_unchangeable(counts, fewer, means) or not is_unchangeable(counts, remaining, means)


@pytest.mark.parametrize(("agreed", "expected"), [(4, False), (5, True)])
def test_of_eight_equal_votes_five_decide_and_four_may_be_tied(agreed, expected):
    counts = np.zeros((8, 1))
    counts[:agreed] = 1
    remaining = [0] * agreed + [1] * (8 - agreed)
    assert is_unchangeable(counts, remaining, [EVEN] * 8) is expected


def test_two_heavy_votes_outweigh_the_rest():
    counts, remaining = [[1], [1], [0], [0], [0]], [0, 0, 1, 1, 1]
    assert is_unchangeable(counts, remaining, [SURE, SURE, EVEN, EVEN, EVEN])
    assert not is_unchangeable(counts, remaining, [EVEN] * 5)


def test_new_answers_lift_light_votes_more_than_heavy_ones():
    """One heavy vote leads two light ones; each new answer adds the same to every weight, so that two catch up."""
    counts, means = [[1, 0], [0, 1], [0, 1], [0, 0], [0, 0]], [0.9, 0.6, 0.6, 0.01, 0.01]
    lead = weight(means, 2) @ np.array(counts)
    assert lead[0] > lead[1] + weight(means, 2)[3:].sum()
    assert not is_unchangeable(counts, [0, 0, 0, 1, 1], means)
    assert is_unchangeable(counts, [0] * 5, means)


def test_a_tie_now_is_changeable_even_with_nothing_to_come():
    assert not is_unchangeable([[1, 1]], [0], [EVEN])
    assert is_unchangeable([[2, 1]], [0], [EVEN])


def test_nobody_stops_before_there_is_a_vote():
    assert early_stop(np.zeros((3, 0)), [1, 1, 1], [SURE] * 3) is None
    assert early_stop(np.zeros((3, 2)), [0, 1, 1], [SURE] * 3) is None


def test_one_vote_is_never_confident_however_good_its_arm():
    counts, remaining, means = [[1], [0], [0], [0]], [0, 1, 1, 1], [0.999, SURE, SURE, SURE]
    assert open_posterior(counts, means)[0] > DEFAULT_THRESHOLD
    assert early_stop(counts, remaining, means) is None


def test_two_good_arms_that_agree_are_confident():
    stop = early_stop([[1], [1], *[[0]] * 6], [0, 0, *[1] * 6], [SURE] * 8)
    assert stop is not None
    assert (stop.reason, stop.leader) == ("confident", 0)
    assert stop.posterior > DEFAULT_THRESHOLD


def test_a_team_that_knows_nothing_of_itself_goes_on_until_nothing_can_change():
    counts, remaining = np.zeros((8, 1)), np.ones(8, dtype=int)
    for arm in range(5):
        assert early_stop(counts, remaining, [EVEN] * 8) is None
        counts[arm], remaining[arm] = 1, 0
    stop = early_stop(counts, remaining, [EVEN] * 8)
    assert stop is not None
    assert stop.reason == "unchangeable"


def test_disagreement_of_equals_stops_nobody():
    assert early_stop([[1, 0], [0, 1], [0, 0]], [0, 0, 1], [SURE] * 3) is None


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9, 1.0])
def test_a_threshold_of_one_leaves_what_is_unchangeable(threshold):
    counts, remaining = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], [0, 0, 0, 0, 1, 1]
    stop = early_stop(counts, remaining, [SURE] * 6, threshold=threshold)
    belief = open_posterior(counts, [SURE] * 6)[0]
    assert stop == (Stop("confident", 0, belief) if belief > threshold else None)
    final = early_stop(counts, [0] * 6, [SURE] * 6, threshold=threshold)
    assert final == Stop("unchangeable", 0, belief)


def test_the_open_posterior_is_that_of_a_decision_with_one_answer_more():
    counts, means = np.array([[2, 0], [0, 1]]), [0.8, 0.6]
    widened = np.pad(counts, ((0, 0), (0, 1)))
    start = initial_policy(vote_shares(widened), 0.5)
    assert open_posterior(counts, means) == pytest.approx(posterior(weight(means, 3), [2, 1], start), abs=1e-15)


def test_arms_without_a_vote_do_not_count_in_the_open_posterior():
    assert open_posterior([[1], [0]], [0.8, 0.1]) == pytest.approx(open_posterior([[1]], [0.8]), abs=1e-15)


def test_agreement_alone_never_has_posterior_one():
    assert open_posterior(np.ones((6, 1)), [SURE] * 6)[0] < 1


def test_an_arm_that_voted_earns_the_open_posterior_at_its_votes():
    counts, means = [[1, 1], [2, 0]], [0.7, 0.7]
    belief = open_posterior(counts, means)
    paid = stopped_payoffs(counts, [2, 2], means)
    assert paid == pytest.approx([(belief[0] + belief[1]) / 2, belief[0]], abs=1e-15)


def test_an_arm_that_was_not_asked_earns_its_competence_and_the_surplus_of_the_others():
    counts, means = [[1], [1], [0]], [0.7, 0.8, 0.4]
    paid = stopped_payoffs(counts, [1, 1, 0], means)
    surplus = ((paid[0] - 0.7) + (paid[1] - 0.8)) / 2
    assert surplus > 0
    assert paid[2] == pytest.approx(0.4 + surplus, abs=1e-15)


def test_an_arm_that_was_asked_in_vain_earns_nothing():
    paid = stopped_payoffs([[1], [1], [0]], [1, 1, 1], [0.7, 0.7, 0.9])
    assert np.isnan(paid).tolist() == [False, False, True]


@EXAMPLES
@given(unfinished())
def test_payoffs_lie_between_zero_and_one(case):
    counts, _, means = case
    paid = stopped_payoffs(counts, counts.sum(axis=1), means)
    assert ((paid >= 0) & (paid <= 1)).all()


def test_every_arm_is_asked_once_before_any_is_asked_twice():
    order = asking_order([2, 1, 3, 0], [0.9, 0.5, 0.1, 0.9], [50, 50, 50, 50], generator(0, "test"))
    assert sorted(order[:3].tolist()) == [0, 1, 2]
    assert sorted(order[3:5].tolist()) == [0, 2]
    assert order[5] == 2


def first_share(means, tasks, arm):
    orders = [asking_order([1] * len(means), means, tasks, generator(seed, "order")) for seed in range(400)]
    return np.mean([order[0] == arm for order in orders])


def test_the_best_known_arm_goes_first():
    assert first_share([0.6, 0.9, 0.6], [400, 400, 400], 1) == 1


def test_a_little_known_arm_goes_first_now_and_then():
    known, unknown = first_share([0.8, 0.5], [400, 400], 1), first_share([0.8, 0.5], [400, 0], 1)
    assert known == 0
    assert 0.02 < unknown < 0.3


def test_equal_arms_take_turns():
    assert 0.25 < first_share([EVEN] * 3, [0] * 3, 0) < 0.42


def test_the_same_seed_gives_the_same_order():
    orders = [asking_order([2] * 6, [EVEN] * 6, [0] * 6, generator(7, "order")).tolist() for _ in range(2)]
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("samples", "sizes"),
    [(8, (2, 2, 2, 2)), (9, (3, 3, 3)), (7, (2, 2, 2, 1)), (3, (2, 1)), (1, (1,)), (0, ()), (40, (10,) * 4)],
)
def test_waves_are_quarters_of_at_least_two(samples, sizes):
    assert wave_sizes(samples) == sizes


@given(st.integers(0, 200), st.integers(1, 9))
def test_waves_hold_all_samples_and_are_no_more_than_asked_for(samples, waves):
    sizes = wave_sizes(samples, waves)
    assert sum(sizes) == samples
    assert len(sizes) <= waves
    assert all(size >= 2 for size in sizes[:-1])


@pytest.mark.parametrize(
    ("counts", "remaining", "means", "message"),
    [
        ([[1.0], [0.0]], [1], [EVEN, EVEN], "samples: got shape"),
        ([[1.0]], [0.5], [EVEN], "samples: got .* whole numbers"),
        ([[1.0]], [1], [1.0], r"competence: got \[1.0\]"),
        ([[1.0]], [1], [EVEN, EVEN], "competence: got shape"),
        ([[2.0, -1.0]], [1], [EVEN], "counts: got -1.0"),
    ],
)
def test_what_makes_no_sense_is_refused(counts, remaining, means, message):
    with pytest.raises(ValueError, match=message):
        early_stop(counts, remaining, means)


def test_waves_of_nothing_are_refused():
    with pytest.raises(ValueError, match="in 0 waves"):
        wave_sizes(8, 0)
