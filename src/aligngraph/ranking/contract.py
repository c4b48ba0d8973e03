"""What every ranker takes and returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from aligngraph.models import TokenCounts

CallOutcome = Literal["ranked", "abstained", "unusable"]


@dataclass(frozen=True)
class Option:
    """One distinct answer as the principal sees it: the answer and one solution that reaches it."""

    answer: str
    solution: str


@dataclass(frozen=True)
class RankingTask:
    """What is to be ranked.

    Attributes:
        task: the task's text.
        options: at least two, in the order of the answers.
        seed: of this unit of work; labels, order and delimiters of every call come from it.
        max_solution_chars: a longer solution is shown without its middle.
        config: LangChain configuration for the calls: callbacks and metadata.
    """

    task: str
    options: tuple[Option, ...]
    seed: int
    max_solution_chars: int
    config: RunnableConfig


@dataclass(frozen=True)
class RankingCall:
    """The record of one call of the principal.

    Attributes:
        labels: the labels in the order shown, each with the number of its option.
        verdict: what the model replied, unedited.
        outcome: `unusable` is a reply that is neither a full permutation nor an abstention.
        order: numbers of the options, best first; empty unless the outcome is `ranked`.
        problem: why the reply is unusable, else None.
    """

    labels: dict[str, int]
    verdict: str
    outcome: CallOutcome
    order: tuple[int, ...]
    problem: str | None
    usage: TokenCounts


@dataclass(frozen=True)
class Preference:
    """What the principal prefers.

    Attributes:
        matrix: `[K, K]`, the probability that option y is preferred to option z; matrix + transpose = 1, diagonal 1/2.
        order: numbers of the options, best first; empty where the principal abstained.
        abstained: numbers of the options about which nothing was said.
        calls: every call made, in order.
    """

    matrix: tuple[tuple[float, ...], ...]
    order: tuple[int, ...]
    abstained: tuple[int, ...]
    calls: tuple[RankingCall, ...] = ()

    @classmethod
    def from_order(cls, order: Sequence[int], calls: Sequence[RankingCall] = ()) -> "Preference":
        """Return the preference of a full ranking: an option beats every option behind it with certainty."""
        place = {option: rank for rank, option in enumerate(order)}
        options = range(len(order))
        matrix = tuple(tuple(0.5 if y == z else float(place[y] < place[z]) for z in options) for y in options)
        return cls(matrix, tuple(order), (), tuple(calls))

    @classmethod
    def none(cls, options: int, calls: Sequence[RankingCall] = ()) -> "Preference":
        """Return the preference of a principal that said nothing about any of `options` options."""
        return cls(((0.5,) * options,) * options, (), tuple(range(options)), tuple(calls))


class Ranker(Protocol):
    """A way of asking a principal. It raises what the provider raises; a reply it cannot use is an abstention."""

    name: str

    async def rank(self, model: BaseChatModel, work: RankingTask) -> Preference:
        """Return what `model` prefers among the options of `work`."""
        ...
