"""Which samples a round has, and which of them a cap on samples leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph import Team
from aligngraph.nodes.schedule import place_samples


def team_of(samples, most=None):
    names = "abcdefgh"
    agents = [
        {"name": name, "model": "scripted:none", "samples": count, "strategies": ["direct", "step_by_step"][:count]}
        for name, count in zip(names, samples, strict=False)
    ]
    principal = {"model": "scripted:none"}
    return Team.model_validate({"agents": agents, "principal": principal, "budget": {"samples": most}})


def ids(team, round_=1):
    return [place.candidate_id for place in place_samples(team, round_)]


def test_without_a_cap_every_agent_draws_all_in_seed_order():
    places = place_samples(team_of([2, 1]), 1)
    assert [(place.candidate_id, place.position) for place in places] == [("a.0", 0), ("a.1", 1), ("b.0", 2)]
    assert [place.arm for place in places] == ["a/direct", "a/step_by_step", "b/direct"]


def test_later_rounds_go_on_counting():
    places = place_samples(team_of([2, 1]), 3)
    assert [(place.candidate_id, place.position) for place in places] == [("a.4", 6), ("a.5", 7), ("b.2", 8)]


@pytest.mark.parametrize("round_", [1, 2, 3])
def test_under_a_cap_every_agent_s_first_come_before_any_s_second(round_):
    """Agents with different numbers of samples: in round 2 their numbers have grown apart."""
    drawn = ids(team_of([5, 1, 2], most=3), round_)
    assert {identifier.split(".")[0] for identifier in drawn} == {"a", "b", "c"}


def test_the_same_places_whatever_the_cap():
    everything = {place.candidate_id: place for place in place_samples(team_of([3, 3]), 2)}
    for place in place_samples(team_of([3, 3], most=4), 2):
        assert everything[place.candidate_id] == place


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(1, 40), st.integers(1, 4))
def test_a_cap_is_kept_and_shared_as_evenly_as_can_be(samples, most, round_):
    team = team_of(samples, most)
    places = place_samples(team, round_)
    assert len(places) == min(most, sum(samples))
    assert [place.position for place in places] == sorted({place.position for place in places})
    drawn = {agent.name: sum(place.agent == agent.name for place in places) for agent in team.agents}
    short = [drawn[agent.name] for agent in team.agents if drawn[agent.name] < agent.samples]
    assert max(drawn.values()) <= min(short, default=max(drawn.values())) + 1


DEAL = {"a/direct": 1, "a/step_by_step": 3, "b/direct": 0}


class TestDealt:
    def places(self, round_=1):
        return place_samples(team_of([4, 1]), round_, DEAL)

    def test_every_arm_draws_its_own_number_an_agent_s_strategies_in_turn(self):
        assert [place.arm for place in self.places()] == ["a/direct", *["a/step_by_step"] * 3]
        assert [place.candidate_id for place in self.places()] == ["a.0", "a.1", "a.2", "a.3"]

    def test_later_rounds_go_on_counting(self):
        numbers = [(place.sample, place.position) for round_ in (1, 2, 3) for place in self.places(round_)]
        assert numbers == [(number, number) for number in range(12)]

    def test_the_cap_is_kept_by_whoever_deals(self):
        assert len(place_samples(team_of([4, 1], most=2), 1, DEAL)) == 4

    @given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.integers(1, 3))
    def test_all_that_was_dealt_is_drawn_once(self, numbers, round_):
        team = team_of([4, 4])
        dealt = dict(zip(team.arms, numbers, strict=True))
        places = place_samples(team, round_, dealt)
        assert {arm: sum(place.arm == arm for place in places) for arm in dealt} == dealt
        assert len({place.candidate_id for place in places}) == len({place.position for place in places}) == len(places)
