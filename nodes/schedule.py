"""The schedule of a round: which samples there are, in seed order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from aligngraph.strategies import Strategy
from aligngraph.team import Team


def candidate_id(agent: str, sample: int) -> str:
    """Return the id of the candidate that this sample of the agent becomes."""
    return f"{agent}.{sample}"


@dataclass(frozen=True)
class Place:
    """One sample of a round: its number within the agent's run, and its place in seed order within the whole run."""

    agent: str
    strategy: Strategy
    sample: int
    position: int

    @property
    def candidate_id(self) -> str:
        """The id of the candidate that it becomes."""
        return candidate_id(self.agent, self.sample)

    @property
    def arm(self) -> str:
        """Whose sample it is."""
        return f"{self.agent}/{self.strategy.name}"


def place_samples(team: Team, round_: int, dealt: Mapping[str, int] | None = None) -> list[Place]:
    """Return the samples of a round in seed order; under a cap on them every agent's first come before any's second.

    Args:
        team: whose.
        round_: from 1.
        dealt: samples of every arm, where they are dealt by what arms earned; the cap is kept already.
    """
    if dealt is not None:
        return list(_dealt_samples(team, round_, dealt))
    by_number = sorted(_all_samples(team, round_), key=lambda numbered: (numbered[0], numbered[1].position))
    return sorted((place for _, place in by_number[: team.budget.samples]), key=lambda place: place.position)


def _all_samples(team: Team, round_: int) -> Iterator[tuple[int, Place]]:
    """Yield every sample, with its number within the agent's round."""
    position = (round_ - 1) * sum(agent.samples for agent in team.agents)
    for agent in team.agents:
        for number in range(agent.samples):
            yield number, Place(agent.name, agent.strategy(number), (round_ - 1) * agent.samples + number, position)
            position += 1


def _dealt_samples(team: Team, round_: int, dealt: Mapping[str, int]) -> Iterator[Place]:
    """Yield the samples that were dealt, an agent's strategies in turn."""
    position = count((round_ - 1) * sum(dealt.values()))
    for agent in team.agents:
        shares = [(strategy, dealt[f"{agent.name}/{strategy.name}"]) for strategy in agent.strategies]
        turns = range(max(number for _, number in shares))
        drawn = [strategy for turn in turns for strategy, number in shares if turn < number]
        for number, strategy in enumerate(drawn):
            yield Place(agent.name, strategy, (round_ - 1) * len(drawn) + number, next(position))
