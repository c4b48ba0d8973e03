import numpy as np
import pytest

from aligngraph.policy import initial_policy, mirror_step, payoff, play, tilted, vote_shares

PREFERENCE = np.array([[0.5, 0.8, 0.6], [0.2, 0.5, 0.9], [0.4, 0.1, 0.5]])
COUNTS = [[3, 0, 1], [1, 2, 0], [0, 3, 1]]


def start(counts=COUNTS):
    return initial_policy(vote_shares(counts))


def test_vote_shares_divide_by_the_agents_own_samples():
    assert vote_shares([[3, 1], [0, 2]]).tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_an_agent_without_a_valid_sample_has_no_votes_and_cannot_play():
    votes = vote_shares([[3, 1], [0, 0]])
    assert votes[1].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"votes: got a row with sum 0\.0"):
        initial_policy(votes)


def test_samples_weighted_by_confidence_are_counted_in_fractions():
    np.testing.assert_allclose(vote_shares([[0.3, 0.1]]), [[0.75, 0.25]], rtol=1e-15)


@pytest.mark.parametrize("bad", [[1, 2], [[1, -1]], [[np.nan, 1]], [[]]])
def test_counts_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="counts: got"):
        vote_shares(bad)


def test_the_initial_policy_spreads_the_smoothing_over_the_answers():
    np.testing.assert_allclose(initial_policy([[1.0, 0.0]]), [[5 / 6, 1 / 6]], rtol=1e-15)
    np.testing.assert_allclose(initial_policy([[1.0, 0.0]], smoothing=2), [[2 / 3, 1 / 3]], rtol=1e-15)


@pytest.mark.parametrize("smoothing", [0, -0.5, np.inf])
def test_without_smoothing_a_zero_could_never_be_revived(smoothing):
    with pytest.raises(ValueError, match="smoothing: got"):
        initial_policy([[1.0, 0.0]], smoothing)


def test_a_proposal_is_paid_by_how_often_it_beats_the_others():
    policy = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    paid = payoff(policy, PREFERENCE)
    np.testing.assert_allclose(paid[0], (PREFERENCE[:, 1] + PREFERENCE[:, 2]) / 2, rtol=1e-15)
    np.testing.assert_allclose(paid[2], (PREFERENCE[:, 0] + PREFERENCE[:, 1]) / 2, rtol=1e-15)


def test_a_players_own_policy_does_not_pay_it():
    policy = start()
    moved = policy.copy()
    moved[0] = [0.1, 0.1, 0.8]
    before, after = payoff(policy, PREFERENCE), payoff(moved, PREFERENCE)
    np.testing.assert_allclose(after[0], before[0], rtol=1e-14)
    assert np.abs(after[1:] - before[1:]).min() > 1e-3


def test_a_lone_player_meets_its_initial_policy_at_every_step():
    initial = start([[3, 2, 1]])
    outcome = play(initial, PREFERENCE)
    np.testing.assert_allclose(outcome.payoff, initial @ PREFERENCE.T, rtol=1e-15)
    assert outcome.policy[0, 0] > initial[0, 0]


def test_a_lone_player_without_an_opponent_is_refused():
    with pytest.raises(ValueError, match="one player and no opponent"):
        payoff(start([[3, 2, 1]]), PREFERENCE)


def test_an_opponent_is_of_no_effect_from_two_players_on():
    policy = start()
    assert payoff(policy, PREFERENCE, policy[0]).tolist() == payoff(policy, PREFERENCE).tolist()


def test_one_answer_is_settled_at_once():
    outcome = play([[1.0], [1.0]], [[0.5]])
    assert outcome.settled
    assert outcome.steps == 1
    assert outcome.policy.tolist() == [[1.0], [1.0]]
    assert outcome.nash_conv == outcome.anchored_nash_conv == 0.0


def test_a_step_is_the_anchored_update_of_the_log_policy():
    initial, eta, anchor = start(), 0.7, 0.4
    policy = tilted(np.log(initial), np.array([[0.3, -1, 2], [0, 0, 0], [5, 4, 3.0]]))
    paid = payoff(policy, PREFERENCE)
    tilt = mirror_step(np.log(policy / initial), paid, step_size=eta, anchor=anchor)
    raw = (np.log(policy) + eta * anchor * np.log(initial) + eta * paid) / (1 + eta * anchor)
    expected = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(tilted(np.log(initial), tilt), expected, rtol=1e-13)


def test_a_step_leaves_its_arguments_alone():
    tilt, paid = np.ones((2, 3)), np.full((2, 3), 0.5)
    mirror_step(tilt, paid, step_size=2.0, anchor=1.0)
    assert tilt.tolist() == np.ones((2, 3)).tolist()
    assert paid.tolist() == np.full((2, 3), 0.5).tolist()


def test_play_leaves_its_arguments_alone():
    initial, preference = start(), PREFERENCE.copy()
    play(initial, preference)
    assert initial.tolist() == start().tolist()
    assert preference.tolist() == PREFERENCE.tolist()


def test_play_twice_gives_the_same_bytes():
    first, second = play(start(), PREFERENCE), play(start(), PREFERENCE)
    assert first.policy.tobytes() == second.policy.tobytes()
    assert first.regret.tobytes() == second.regret.tobytes()


def test_lists_are_as_good_as_arrays():
    from_lists = play(start().tolist(), PREFERENCE.tolist())
    assert from_lists.policy.tobytes() == play(start(), PREFERENCE).policy.tobytes()


def test_the_tolerance_ends_play_and_the_steps_are_counted():
    loose, tight = (play(start(), PREFERENCE, tolerance=tolerance) for tolerance in (1e-3, 1e-8))
    assert loose.settled
    assert tight.settled
    assert 1 < loose.steps < tight.steps < 200
    early = play(start(), PREFERENCE, max_steps=tight.steps - 1)
    assert not early.settled
    assert early.steps == tight.steps - 1


def test_tolerance_zero_plays_all_the_steps():
    outcome = play(start(), PREFERENCE, tolerance=0)
    assert outcome.steps == 200
    assert not outcome.settled


def test_a_constant_schedule_plays_as_the_constant():
    constant = play(start(), PREFERENCE, step_size=0.5)
    scheduled = play(start(), PREFERENCE, step_size=lambda _: 0.5)
    assert scheduled.policy.tobytes() == constant.policy.tobytes()
    assert constant.regret_bound is not None
    assert scheduled.regret_bound is None


def test_a_schedule_is_asked_for_the_steps_from_one_on():
    asked = []

    def halving(step):
        asked.append(step)
        return 1 / step

    play(start(), PREFERENCE, step_size=halving, max_steps=4, tolerance=0)
    assert asked == [1, 2, 3, 4]


def test_a_schedule_that_leaves_its_range_is_named_with_its_step():
    with pytest.raises(ValueError, match=r"step_size\(3\): got 0, allowed is a finite number > 0"):
        play(start(), PREFERENCE, step_size=lambda step: 3 - step, tolerance=0)


@pytest.mark.parametrize("step_size", [1e-6, 1e3, 1e12])
def test_no_step_size_overflows(step_size):
    outcome = play(start(), PREFERENCE, step_size=step_size, anchor=0)
    np.testing.assert_allclose(outcome.policy.sum(axis=1), 1, rtol=1e-12)
    assert np.isfinite(outcome.anchored_nash_conv)


def test_reported_gaps_belong_to_the_reported_profile():
    outcome = play(start(), PREFERENCE, max_steps=3)
    np.testing.assert_allclose(outcome.payoff, payoff(outcome.policy, PREFERENCE), rtol=1e-15)
    best = outcome.payoff.max(axis=1)
    np.testing.assert_allclose(outcome.nash_gap, best - (outcome.policy * outcome.payoff).sum(axis=1), atol=1e-15)
    assert outcome.nash_conv == pytest.approx(outcome.nash_gap.sum())


def test_an_anchor_holds_what_an_agent_was_sure_of():
    initial = start([[4, 0, 0], [0, 4, 0]])
    free, held = (play(initial, PREFERENCE, anchor=anchor).policy for anchor in (0.05, 1.0))
    assert held[1, 1] > free[1, 1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"initial": [[0.5, 0.4, 0.2]]}, r"initial: got a row with sum 1\.1"),
        ({"initial": [[1.0, 0.0, 0.0]]}, r"initial: got a 0 in shape \(1, 3\)"),
        ({"initial": [0.5, 0.3, 0.2]}, r"initial: got shape \(3,\)"),
        ({"preference": PREFERENCE[:2, :2]}, r"preference: got shape \(2, 2\), allowed is \(3, 3\)"),
        ({"preference": PREFERENCE + 0.1}, "preference: got"),
        ({"preference": PREFERENCE * np.nan}, "preference: got nan"),
        ({"step_size": 0.0}, r"step_size: got 0\.0"),
        ({"anchor": -0.1}, r"anchor: got -0\.1"),
        ({"max_steps": 0}, "max_steps: got 0"),
        ({"tolerance": -1e-9}, "tolerance: got -1e-09"),
    ],
)
def test_what_cannot_be_played_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        play(**({"initial": start(), "preference": PREFERENCE} | changed))
