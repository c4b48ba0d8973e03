import numpy as np
import pytest

from aligngraph.policy import initial_policy, play, trace, vote_shares

PREFERENCE = np.array([[0.5, 0.8, 0.6], [0.2, 0.5, 0.9], [0.4, 0.1, 0.5]])


def start(counts=((3, 0, 1), (1, 2, 0), (0, 3, 1))):
    return initial_policy(vote_shares(counts))


def test_a_trace_begins_with_the_initial_policies_and_ends_with_those_of_the_game():
    outcome, policies = play(start(), PREFERENCE), trace(start(), PREFERENCE)
    assert policies.shape == (outcome.steps + 1, 3, 3)
    assert policies[0].tobytes() == start().tobytes()
    assert policies[-1].tobytes() == outcome.policy.tobytes()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_each_step_is_where_a_shorter_game_ends(steps):
    rules = {"step_size": 0.7, "anchor": 0.1, "tolerance": 0}
    policies = trace(start(), PREFERENCE, max_steps=6, **rules)
    assert policies[steps].tobytes() == play(start(), PREFERENCE, max_steps=steps, **rules).policy.tobytes()


def test_a_lone_player_and_a_schedule_are_traced_as_they_are_played():
    rules = {"step_size": lambda step: 1 / step, "max_steps": 4, "tolerance": 0}
    lone = start([[3, 2, 1]])
    policies = trace(lone, PREFERENCE, **rules)
    assert policies.shape == (5, 1, 3)
    assert policies[-1].tobytes() == play(lone, PREFERENCE, **rules).policy.tobytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"initial": [[1.0, 0.0, 0.0]]}, "initial: got a 0"),
        ({"preference": PREFERENCE[:2, :2]}, "preference: got shape"),
        ({"max_steps": 0}, "max_steps: got 0"),
        ({"anchor": -1.0}, r"anchor: got -1\.0"),
        ({"tolerance": -1.0}, r"tolerance: got -1\.0"),
    ],
)
def test_what_cannot_be_played_cannot_be_traced(changed, message):
    with pytest.raises(ValueError, match=message):
        trace(**({"initial": start(), "preference": PREFERENCE} | changed))
