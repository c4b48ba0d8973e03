"""Rankers side by side on recorded candidates: how often each is right, agrees with itself, and what that costs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations, product
from math import exp
from statistics import fmean
from time import perf_counter
from typing import Any

from langchain_core.runnables import RunnableConfig

from aligngraph.answers import AnswerForm
from aligngraph.randomness import generator, sampling_seed
from aligngraph.ranking import Preference, Ranker, RankingTask, open_ranker
from aligngraph.ranking.specs import ProgramSpec
from aligngraph.trials.contender import Contender, failed, reordered, swapped_order, winner
from aligngraph.trials.cost import Cost
from aligngraph.trials.journal import Journal, Row
from aligngraph.trials.recorded import RecordedQuestion
from aligngraph.trials.shares import Share

REWARD_SCALE = 2.0  # rewards lie between -6 and 6: all of them stay apart as probabilities of 0.05 to 0.95


@dataclass(frozen=True)
class Entrant:
    """A line of the comparison: the ranker that it has for each question."""

    label: str
    contender_for: Callable[[RecordedQuestion], Contender]

    @classmethod
    def of(cls, contender: Contender) -> "Entrant":
        """Return the line of one ranker for all questions."""
        return cls(contender.label, lambda _question: contender)

    @classmethod
    def from_ranker(cls, label: str, ranker_for: Callable[[RecordedQuestion], Ranker]) -> "Entrant":
        """Return the line of rankers that ask nobody and know the question."""
        return cls(label, lambda question: Contender(label, ranker_for(question)))


@dataclass(frozen=True)
class VoteRanker:
    """Prefers what more candidates said: the reference that a principal has to beat."""

    votes: Mapping[str, int]

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference by share of the votes."""
        total = sum(self.votes.values())
        return Preference.from_scores([self.votes[option.answer] / total for option in work.options])


class RandomRanker:
    """Prefers nothing in particular: what chance gives."""

    async def rank(self, work: RankingTask) -> Preference:
        """Return a random full order, drawn from the seed and from the order in which the options come."""
        answers = (option.answer for option in work.options)
        order = generator(work.seed, "random", *answers).permutation(len(work.options))
        return Preference.from_order([int(number) for number in order], len(work.options))


@dataclass(frozen=True)
class Comparison:
    """What one line of the table says.

    Attributes:
        questions: how many were ranked, those that failed left out.
        accuracy: of the decided pairs of a right and a wrong option, those ordered rightly; pairs of one question are not
            independent, so that the interval is rather too narrow.
        decided: of all such pairs, those with a winner.
        first_right: mean share of right ones among the options of the first tier, of questions with a first tier.
        agreement: mean share of the first tier that is in the vote's first tier.
        swapped: of the pairs decided in both of two opposite orders, those with the same winner.
        abstentions: questions about which nothing was said.
        cost: of all questions, without the second rankings that `swapped` takes.
    """

    entrant: str
    questions: int
    failures: int
    accuracy: Share
    decided: Share
    first_right: float | None
    agreement: float | None
    swapped: Share
    abstentions: int
    cost: Cost
    seconds: float

    @classmethod
    def of(cls, entrant: str, rows: Sequence[Row], failures: int) -> "Comparison":
        """Return the line that follows from the rows of all questions."""
        swaps = [row["swap"] for row in rows if row["swap"] is not None]
        return cls(
            entrant,
            len(rows),
            failures,
            accuracy=Share(sum(row["rightly"] for row in rows), sum(row["decided"] for row in rows)),
            decided=Share(sum(row["decided"] for row in rows), sum(row["pairs"] for row in rows)),
            first_right=_mean(row["first_right"] for row in rows),
            agreement=_mean(row["agreement"] for row in rows),
            swapped=Share(sum(swap["same"] for swap in swaps), sum(swap["decided"] for swap in swaps)),
            abstentions=sum(row["first_right"] is None for row in rows),
            cost=sum((Cost(**row["cost"]) for row in rows), Cost()),
            seconds=sum(row["seconds"] for row in rows),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the line in plain JSON types."""
        shares = {"accuracy": self.accuracy, "decided": self.decided, "swapped": self.swapped}
        table = {key: value for key, value in asdict(self).items() if key not in {*shares, "cost"}}
        return {**table, **{name: share.as_json() for name, share in shares.items()}, **asdict(self.cost)}


@dataclass(frozen=True)
class Setting:
    """How a comparison is run.

    Attributes:
        source: the name of the recorded panel.
        swap_questions: how many questions are ranked a second time, in the opposite order.
    """

    source: str
    journal: Journal
    seed: int = 0
    swap_questions: int = 0


async def compare(entrant: Entrant, questions: Sequence[RecordedQuestion], setting: Setting) -> Comparison:
    """Return how `entrant` does, asked one question after the other; those already in the journal are not asked again."""
    rows = []
    for number, question in enumerate(questions):
        swap = number < setting.swap_questions
        key = f"{setting.source} | {entrant.label} | seed {setting.seed} | {question.id}{' | swapped too' * swap}"
        rows.append(await setting.journal.keep(key, partial(_try, entrant, question, setting.seed, swap=swap)))
    ranked = [row for row in rows if row is not None]
    return Comparison.of(entrant.label, ranked, len(rows) - len(ranked))


async def _try(entrant: Entrant, question: RecordedQuestion, seed: int, *, swap: bool) -> Row | None:
    """Return the row of one question, None where every call failed."""
    contender = entrant.contender_for(question)
    work = _work(contender, question, seed)
    began = perf_counter()
    preference = await contender.ranker.rank(work)
    seconds = perf_counter() - began
    if failed(preference):
        return None
    winners = [(right, winner(preference, right, wrong)) for right, wrong in _contested(question)]
    return {
        "pairs": len(winners),
        "decided": sum(won is not None for _, won in winners),
        "rightly": sum(won == right for right, won in winners),
        **_first_choice(preference, question),
        "swap": await _swap(contender.ranker, work, preference) if swap else None,
        "cost": asdict(Cost.of(preference.calls)),
        "seconds": seconds,
    }


def _work(contender: Contender, question: RecordedQuestion, seed: int) -> RankingTask:
    return RankingTask(
        question.task,
        question.options,
        sampling_seed(seed, question.id),
        contender.room_for(question.task, len(question.options)),
        RunnableConfig(metadata={"agent": "principal", "task": question.id}),
        AnswerForm.of(question.task, question.kind),
    )


def _contested(question: RecordedQuestion) -> Iterable[tuple[int, int]]:
    """Return every pair of a right and a wrong option."""
    numbers = range(len(question.options))
    pairs = product(numbers, numbers)
    return [(one, other) for one, other in pairs if question.right[one] and not question.right[other]]


def _first_choice(preference: Preference, question: RecordedQuestion) -> dict[str, float | None]:
    if not preference.tiers:
        return {"first_right": None, "agreement": None}
    first, most = preference.tiers[0], max(question.votes)
    return {
        "first_right": fmean(question.right[number] for number in first),
        "agreement": fmean(question.votes[number] == most for number in first),
    }


async def _swap(ranker: Ranker, work: RankingTask, preference: Preference) -> dict[str, int]:
    """Return how many pairs of options are decided in both orders, and how many of those have the same winner."""
    order = swapped_order(preference)
    again = (await ranker.rank(reordered(work, order))).widen(order, len(order))
    pairs = combinations(range(len(order)), 2)
    winners = [(winner(preference, *pair), winner(again, *pair)) for pair in pairs]
    both = [(one, other) for one, other in winners if one is not None and other is not None]
    return {"decided": len(both), "same": sum(one == other for one, other in both)}


def _by_answer(question: RecordedQuestion, values: Sequence[int]) -> dict[str, int]:
    return {option.answer: value for option, value in zip(question.options, values, strict=True)}


def _score_ranker(question: RecordedQuestion) -> Ranker:
    rewards = {option.answer: reward for option, reward in zip(question.options, question.scores or (), strict=True)}

    def score(_task: str, answer: str, _solution: str) -> float:
        return 1 / (1 + exp(-rewards[answer] / REWARD_SCALE))

    return open_ranker(ProgramSpec(score=score), None)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


VOTE = Entrant.from_ranker("majority vote", lambda asked: VoteRanker(_by_answer(asked, asked.votes)))
RANDOM = Entrant.from_ranker("random", lambda _question: RandomRanker())
RECORDED_REWARDS = Entrant.from_ranker("program: recorded rewards", _score_ranker)
