"""What agents are asked: every sample of every round, turn by turn."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage

from aligngraph.estimation.figures import Asked, EstimateLine, amount_of
from aligngraph.estimation.lengths import Length
from aligngraph.models import estimate_tokens, model_label
from aligngraph.nodes.agent import compose
from aligngraph.nodes.lines import price_of
from aligngraph.nodes.schedule import place_samples
from aligngraph.prompts import render
from aligngraph.roles import Agent
from aligngraph.strategies import Strategy
from aligngraph.team import Team

NUMBER_TOKENS = 4  # before an answer in a list, and the line end behind it


@dataclass(frozen=True)
class Answers:
    """How many distinct answers there are, and how many tokens each of them has."""

    number: int
    tokens: int


@dataclass(frozen=True)
class Told:
    """The ranked answers that a later round is told of, as expected and at most."""

    expected: Answers
    most: Answers


@dataclass(frozen=True)
class Schedule:
    """How many samples of each strategy every agent draws, a counter by (agent, strategy) for each round."""

    rounds: tuple[Counter[tuple[str, str]], ...]

    @classmethod
    def of(cls, team: Team, rounds: int) -> "Schedule":
        """Return the schedule of so many rounds in which every agent draws all its samples."""
        places = (place_samples(team, number) for number in range(1, rounds + 1))
        return cls(tuple(Counter((place.agent, place.strategy.name) for place in drawn) for drawn in places))

    def first(self, agent: str, strategy: str) -> int:
        """Return the samples of the first round."""
        return self.rounds[0][agent, strategy]

    def later(self, agent: str, strategy: str) -> int:
        """Return the samples of all other rounds together."""
        return sum(drawn[agent, strategy] for drawn in self.rounds[1:])

    @property
    def most_answers(self) -> int:
        """The most distinct answers of one round: each agent stands by those of the last round that it took part in."""
        by_agent = [_by_agent(drawn) for drawn in self.rounds]
        return sum(max(drawn[agent] for drawn in by_agent) for agent in set().union(*by_agent))


def agent_line(
    agent: Agent,
    schedule: Schedule,
    messages: Sequence[AnyMessage],
    length: Length,
    told: Told,
) -> EstimateLine:
    """Return what one agent is asked.

    Args:
        agent: who.
        schedule: of the team.
        messages: the chat that it is shown.
        length: of its replies.
        told: answers that a later round is told of.
    """
    expected, most, samples = list[Asked](), list[Asked](), [0, 0]
    for strategy in agent.strategies:
        first, later = (count(agent.name, strategy.name) for count in (schedule.first, schedule.later))
        some = math.ceil(later / 2)
        samples = [samples[0] + first + some, samples[1] + first + later]
        talk = _Talk(strategy, messages)
        expected += [*talk.calls(first, length.expected), *talk.calls(some, length.expected, told.expected)]
        most += [*talk.calls(first, length.most), *talk.calls(later, length.most, told.most)]
    price = price_of(agent.model, agent.price)
    return EstimateLine(
        role=agent.name,
        method=", ".join(strategy.name for strategy in agent.strategies),
        model=model_label(agent.model),
        expected=amount_of(expected, price, samples[0]),
        most=amount_of(most, price, samples[1]),
    )


@dataclass(frozen=True)
class _Talk:
    """What is said to a model for one sample."""

    strategy: Strategy
    messages: Sequence[AnyMessage]

    def calls(self, samples: int, completion: int, told: Answers | None = None) -> Iterator[Asked]:
        """Return the calls of so many samples; where a ranking is told, it stands in the last turn."""
        prompt = sum(estimate_tokens(str(message.text)) for message in compose(self.messages, self.strategy))
        for turn in self.strategy.turns[1:]:
            yield Asked(samples, prompt, completion)
            prompt += completion + estimate_tokens(turn)
        yield Asked(samples, prompt + (_telling(told) if told else 0), completion)


def _telling(answers: Answers) -> int:
    return estimate_tokens(render("reconsider", order="")) + answers.number * (answers.tokens + NUMBER_TOKENS)


def _by_agent(drawn: Counter[tuple[str, str]]) -> Counter[str]:
    found = Counter[str]()
    for (agent, _), samples in drawn.items():
        found[agent] += samples
    return found
