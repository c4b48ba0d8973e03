"""What judges are asked: the calls of every ranker, and of the one who compares texts, for so many distinct answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, assert_never

from aligngraph.calling.spending import PriceOf
from aligngraph.estimation.figures import Amount, Asked, EstimateLine, amount_of, larger
from aligngraph.estimation.lengths import Length, length_of
from aligngraph.estimation.proposing import Answers
from aligngraph.models import ModelSpec, estimate_tokens, model_label
from aligngraph.models.structured import speaks_openai
from aligngraph.nodes.lines import price_of
from aligngraph.nodes.text_judge import MOST_COMPARED
from aligngraph.prompts import render
from aligngraph.ranking.contract import LEAST_COMPARABLE
from aligngraph.ranking.judge import CHARACTERS_PER_TOKEN, INSTRUCTION_TOKENS, solution_room
from aligngraph.ranking.pairwise import MOST_COMPARED_IN_FULL
from aligngraph.ranking.specs import (
    HumanSpec,
    ListwiseSpec,
    PairwiseSpec,
    PointwiseSpec,
    ProgramSpec,
    RewardModelSpec,
    Spec,
    SurvivalSpec,
    VerifierSpec,
    models_needed,
)
from aligngraph.ranking.verifier import CHECK_TOKENS
from aligngraph.roles import JudgeTable, Model, Price

EXPECTED_INSTRUCTIONS = 200  # the ranker's own text, in tokens
LABEL_TOKENS = 24  # of the label and the two lines with a mark around each solution
VERDICT_TOKENS = 16
WORD_TOKENS = 4
EXPECTED_CHECK = 200

Reply = Literal["json", "yes_no", "check", "completion"]


@dataclass(frozen=True)
class Case:
    """What is to be judged.

    Attributes:
        task: its text.
        rounds: of rankings.
        answers: distinct ones of a round.
        solution: tokens of each.
    """

    task: str
    rounds: int
    answers: Answers
    solution: int


@dataclass(frozen=True)
class Questions:
    """So many questions of one kind: how many solutions each shows, and what is to be replied."""

    number: int
    shown: int
    reply: Reply


def questions_of(spec: Spec, answers: int) -> list[Questions]:
    """Return what the ranker asks about so many answers, at least two; nothing where it asks no model."""
    match spec:
        case ListwiseSpec():
            return [Questions(spec.shuffles, answers, "json")]
        case PairwiseSpec():
            return [Questions(2 * _comparisons(answers), 2, "json")]
        case PointwiseSpec():
            return [Questions(answers, 1, "yes_no" if spec.scale == "probability" else "json")]
        case VerifierSpec():
            return [Questions(answers * spec.checks, 1, "check")]
        case SurvivalSpec():
            beginnings = sum(answers if share else 1 for share in spec.shares)
            return [Questions(spec.completions * beginnings, 1, "completion")]
        case ProgramSpec() | RewardModelSpec() | HumanSpec():
            return []
    assert_never(spec)


def judge_line(judge: JudgeTable, expected: Case, most: Case) -> EstimateLine:
    """Return what one judge of the panel is asked."""
    desk = _Desk(judge.ranker, judge.model, length_of(judge.model))
    price = price_of(judge.model, judge.price) if models_needed(judge.ranker) else None
    return EstimateLine(
        role="principal",
        method=judge.ranker.name,
        model=judge.label,
        expected=_amount(expected.answers.number, lambda answers: desk.expected(expected, answers), price),
        most=_worst(most.answers.number, lambda answers: desk.most(most, answers), price),
    )


def text_judge_line(model: Model, price: Price | None, expected: Case, most: Case) -> EstimateLine:
    """Return what the judge of texts is asked, which compares all pairs in both orders, of up to eight answers."""
    reply, cost = length_of(model, guess=VERDICT_TOKENS), price_of(model, price)
    return EstimateLine(
        role="answers.judge",
        method="same_answer",
        model=model_label(model),
        expected=_amount(expected.answers.number, lambda answers: _compare(expected, answers, reply.expected), cost),
        most=_worst(most.answers.number, lambda answers: _compare(most, answers, reply.most), cost),
    )


@dataclass(frozen=True)
class _Desk:
    """Where the questions of one ranker become calls of one model."""

    spec: Spec
    model: Model
    length: Length

    def expected(self, case: Case, answers: int) -> Iterator[Asked]:
        """Return the calls where every first reply can be used."""
        for asked in questions_of(self.spec, answers):
            times = case.rounds * asked.number
            prompt = EXPECTED_INSTRUCTIONS + self._shown(case, asked)
            if asked.reply == "completion":
                yield Asked(times, prompt, self.length.expected)
            elif asked.reply == "check":
                check = min(EXPECTED_CHECK, self.length.most)
                yield Asked(times, prompt, check)
                yield Asked(times, prompt + check, WORD_TOKENS)
            else:
                yield Asked(times, prompt, WORD_TOKENS if asked.reply == "yes_no" else VERDICT_TOKENS)

    def most(self, case: Case, answers: int) -> Iterator[Asked]:
        """Return the calls where every reply is as long as it can be, and every first one unusable."""
        for asked in questions_of(self.spec, answers):
            times = case.rounds * asked.number
            prompt = INSTRUCTION_TOKENS + self._shown(case, asked)
            longest = self.length.most
            if asked.reply == "completion":
                yield Asked(times, prompt, longest)
                continue
            if asked.reply == "check":
                check = max(CHECK_TOKENS, longest)
                yield Asked(2 * times, prompt, check)
                prompt += check
            if asked.reply != "json" and self._tells_probabilities:
                yield from (Asked(times, prompt, 1), Asked(times, prompt + longest, 1))
            yield from (Asked(times, prompt, longest), Asked(times, prompt + longest, longest))

    @property
    def _tells_probabilities(self) -> bool:
        """Whether the model may be asked for the probabilities of one word before it is asked for the word."""
        if isinstance(self.model, ModelSpec):
            return self.model.provider != "scripted"
        return speaks_openai(self.model)

    def _shown(self, case: Case, asked: Questions) -> int:
        room = ceil(solution_room(self.model, case.task, asked.shown) / CHARACTERS_PER_TOKEN)
        return estimate_tokens(case.task) + asked.shown * (min(case.solution, room) + LABEL_TOKENS)


def _compare(case: Case, answers: int, completion: int) -> Iterator[Asked]:
    if answers > MOST_COMPARED:
        return
    texts = (render("same_answer"), render("same_answer_task", task=case.task, one="", other=""))
    prompt = sum(map(estimate_tokens, texts)) + 2 * case.answers.tokens
    yield Asked(case.rounds * answers * (answers - 1), prompt, completion)


def _comparisons(answers: int) -> int:
    """Return how many pairs are compared at most: all of a few answers, of many those that a merge sort needs."""
    if answers <= MOST_COMPARED_IN_FULL:
        return answers * (answers - 1) // 2
    return _merges(answers)


def _merges(answers: int) -> int:
    half = answers // 2
    return 0 if answers < LEAST_COMPARABLE else _merges(half) + _merges(answers - half) + answers - 1


def _amount(answers: int, calls: Callable[[int], Iterator[Asked]], price: PriceOf | None) -> Amount:
    return amount_of(calls(answers) if answers >= LEAST_COMPARABLE else (), price)


def _worst(answers: int, calls: Callable[[int], Iterator[Asked]], price: PriceOf | None) -> Amount:
    """Return the most that up to so many answers ask for: above eight answers a ranker may ask for less than for eight."""
    amounts: Sequence[Amount] = [
        _amount(number, calls, price)
        for number in {min(MOST_COMPARED, answers), min(MOST_COMPARED_IN_FULL, answers), answers}
    ]
    worst = amounts[0]
    for amount in amounts[1:]:
        worst = larger(worst, amount)
    return worst
