"""What every ranker takes and returns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from aligngraph.models import TokenCounts

if TYPE_CHECKING:  # half a second, which reading a team file does not pay
    from langchain_core.runnables import RunnableConfig

    from aligngraph.answers import AnswerForm

CallOutcome = Literal["ranked", "abstained", "checked", "unusable", "failed"]
Matrix = tuple[tuple[float, ...], ...]
TIE = 1e-9
LEAST_COMPARABLE = 2  # options
LEAST_PROBABILITY = 0.001  # no judge is surer than this: odds of certainty would be infinite


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
        form: what an answer to the task looks like, and which answers are one.
    """

    task: str
    options: tuple[Option, ...]
    seed: int
    max_solution_chars: int
    config: "RunnableConfig"
    form: "AnswerForm"


@dataclass(frozen=True)
class RankingCall:
    """The record of one call of the principal.

    Attributes:
        labels: the labels in the order shown, each with the number of its option: the permutation of this call.
        verdict: what was replied, unedited.
        outcome: `checked` is a reply that was to hold no verdict yet, `unusable` one that is neither a verdict nor an
            abstention, `failed` no reply at all.
        order: numbers of the options, best first, where the call compared them; empty unless the outcome is `ranked`.
        score: in [0, 1], where the call judged one option alone; None unless the outcome is `ranked`.
        problem: why there is no verdict, else None.
        usage: tokens; None where no language model was asked.
        asked: how often the provider was.
        again: whether it repeats the call before it, whose reply could not be used.
        judge: who was asked, where there are several.
    """

    labels: dict[str, int]
    verdict: str
    outcome: CallOutcome
    order: tuple[int, ...] = ()
    score: float | None = None
    problem: str | None = None
    usage: TokenCounts | None = None
    asked: int = 1
    again: bool = False
    judge: str | None = None


@dataclass(frozen=True)
class Preference:
    """What the principal prefers among K options.

    Attributes:
        matrix: `[K, K]`, the probability that option y is preferred to option z; matrix + transpose = 1, diagonal 1/2.
        tiers: numbers of the options, best tier first; those of one tier are tied. Empty where the principal abstained:
            to judge a single option is to rank none.
        abstained: numbers of the options about which nothing was said, ascending; they are in no tier.
        calls: every call made, in order.
    """

    matrix: Matrix
    tiers: tuple[tuple[int, ...], ...]
    abstained: tuple[int, ...]
    calls: tuple[RankingCall, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The tiers in one sequence; within a tier the place means nothing."""
        return tuple(option for tier in self.tiers for option in tier)

    @property
    def heard(self) -> bool:
        """Whether anybody replied to a call that can hold a verdict."""
        return any(call.outcome in {"ranked", "abstained", "unusable"} for call in self.calls)

    @classmethod
    def from_order(cls, order: Sequence[int], options: int, calls: Sequence[RankingCall] = ()) -> "Preference":
        """Return the preference of one ranking: an option beats every option behind it with certainty.

        Options that the order leaves out are abstained from.
        """
        if len(order) < LEAST_COMPARABLE:
            return cls.none(options, calls)
        place = {option: rank for rank, option in enumerate(order)}
        matrix = tuple(tuple(_beats(place.get(y), place.get(z)) for z in range(options)) for y in range(options))
        return cls(matrix, tuple((option,) for option in order), _others(order, options), tuple(calls))

    @classmethod
    def from_scores(cls, scores: Sequence[float | None], calls: Sequence[RankingCall] = ()) -> "Preference":
        """Return the preference that follows from the probability of each option to be right; None abstains.

        `matrix[y][z]` is the probability that y is the right one, given that one of the two is.
        """
        odds = [None if score is None else _odds(score) for score in scores]
        matrix = tuple(tuple(0.5 if y is None or z is None else y / (y + z) for z in odds) for y in odds)
        judged = [number for number, score in enumerate(scores) if score is not None]
        return cls.from_matrix(matrix, judged, calls)

    @classmethod
    def from_matrix(cls, matrix: Matrix, judged: Sequence[int], calls: Sequence[RankingCall] = ()) -> "Preference":
        """Return the preference with this matrix; tiers go by how often an option of `judged` beats the other ones."""
        if len(judged) < LEAST_COMPARABLE:
            return cls.none(len(matrix), calls)
        wins = {y: sum(matrix[y][z] for z in judged if z != y) for y in judged}
        tiers: list[list[int]] = []
        for option in sorted(wins, key=lambda option: (-wins[option], option)):
            if tiers and wins[tiers[-1][0]] - wins[option] < TIE:
                tiers[-1].append(option)
            else:
                tiers.append([option])
        return cls(matrix, tuple(map(tuple, tiers)), _others(judged, len(matrix)), tuple(calls))

    @classmethod
    def none(cls, options: int, calls: Sequence[RankingCall] = ()) -> "Preference":
        """Return the preference of a principal that said nothing about any of `options` options."""
        return cls(((0.5,) * options,) * options, (), tuple(range(options)), tuple(calls))

    def widen(self, numbers: Sequence[int], options: int) -> "Preference":
        """Return the same preference among more options.

        Args:
            numbers: `[K]`, the number of each of these options among the more ones.
            options: how many those are; nothing is said about the ones that are new.
        """
        place = {number: own for own, number in enumerate(numbers)}
        matrix = tuple(
            tuple(self.matrix[place[y]][place[z]] if y in place and z in place else 0.5 for z in range(options))
            for y in range(options)
        )
        tiers = tuple(tuple(numbers[own] for own in tier) for tier in self.tiers)
        calls = tuple(_renumber(call, numbers) for call in self.calls)
        return Preference(matrix, tiers, _others([number for tier in tiers for number in tier], options), calls)


class Ranker(Protocol):
    """A way of asking a principal.

    It raises no error of a provider: a call that failed or cannot be read is recorded in `Preference.calls` and says
    nothing about its options.
    """

    async def rank(self, work: RankingTask) -> Preference:
        """Return what is preferred among the options of `work`."""
        ...


def _beats(place: int | None, other: int | None) -> float:
    return 0.5 if place is None or other is None or place == other else float(place < other)


def _odds(probability: float) -> float:
    clipped = min(max(probability, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
    return clipped / (1 - clipped)


def _others(named: Sequence[int], options: int) -> tuple[int, ...]:
    return tuple(number for number in range(options) if number not in named)


def _renumber(call: RankingCall, numbers: Sequence[int]) -> RankingCall:
    labels = {label: numbers[own] for label, own in call.labels.items()}
    return replace(call, labels=labels, order=tuple(numbers[own] for own in call.order))
