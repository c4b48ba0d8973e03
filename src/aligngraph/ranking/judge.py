"""The model behind a ranker: every call isolated, one second ask that shows the error, never a guess."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from aligngraph.isolation import Attempt, attempt
from aligngraph.models import (
    JsonReply,
    TokenCounts,
    YesNoReply,
    ask_json,
    ask_yes_no,
    estimate_tokens,
    input_limit,
    supports_seed,
    usage_of,
)
from aligngraph.prompts import render
from aligngraph.ranking.contract import CallOutcome, RankingCall
from aligngraph.ranking.sheet import Sheet

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import RunnableConfig

ASKS = 2
MOST_AT_ONCE = 8  # calls of one judge; a small server's queue must not eat up the time of those that wait in it

INSTRUCTION_TOKENS = 600  # the ranker's own text, a second ask and the reply
CHARACTERS_PER_TOKEN = 3
LEAST_SOLUTION_CHARS = 200
MOST_SOLUTION_CHARS = 4000

Value = TypeVar("Value")


class UnusableReplyError(ValueError):
    """A reply is neither a verdict nor an abstention; the message, shown to the judge, says why."""


@dataclass(frozen=True)
class Verdict:
    """What a judge said: an order of options, best first, or the score in [0, 1] of one, or nothing (it abstains)."""

    order: tuple[int, ...] = ()
    score: float | None = None

    @property
    def abstains(self) -> bool:
        """Whether nothing was said."""
        return not self.order and self.score is None


@dataclass(frozen=True)
class Question:
    """One thing asked in JSON.

    Attributes:
        sheet: what is shown.
        messages: the prompt.
        schema: of the reply.
        read: returns the verdict in a reply that follows the schema; raises UnusableReplyError.
        reminder: the form of the reply, repeated when the first one cannot be used.
        number: of the question among those of one ranking, from 0.
    """

    sheet: Sheet
    messages: "Sequence[AnyMessage]"
    schema: Mapping[str, Any]
    read: Callable[[dict[str, Any]], Verdict]
    reminder: str
    number: int = 0


class Calls(Protocol):
    """A way of calling a model that isolates what fails."""

    async def call(self, make: Callable[[], Awaitable[Value]]) -> Attempt[Value]:
        """Return the value of the call that `make` begins, or the cause of its failure."""
        ...


@dataclass(frozen=True)
class Judge:
    """A model that ranks.

    Attributes:
        model: whom to ask.
        timeout_s: seconds that one call may take, counted from when it is sent.
        line: how it is called; by default once, and isolated.
    """

    model: "BaseChatModel"
    timeout_s: float
    line: Calls | None = None
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE), init=False, repr=False)

    async def call(self, make: Callable[[], Awaitable[Value]]) -> Attempt[Value]:
        """Return the value of the call that `make` begins or the cause of its failure, once it is this call's turn."""
        async with self._turns:
            return await (attempt(make(), self.timeout_s) if self.line is None else self.line.call(make))

    async def ask(self, question: Question) -> tuple[RankingCall, ...]:
        """Return the record of one or two calls; the last one holds the verdict, if there is any."""

        async def once(messages: "Sequence[AnyMessage]", config: "RunnableConfig") -> RankingCall:
            ended = await self.call(lambda: ask_json(self.model, messages, question.schema, config=config))
            return failed_call(question.sheet, ended.cause) if ended.value is None else _read(ended.value, question)

        return await _ask(once, question.sheet, question.messages, question.reminder, question.number)

    async def ask_yes_no(
        self, sheet: Sheet, messages: "Sequence[AnyMessage]", reminder: str, number: int = 0
    ) -> tuple[RankingCall, ...]:
        """Return the record of one or two calls; the score of the last one is the probability of "yes", if there is any.

        Args:
            sheet: what is shown.
            messages: the prompt; its last one ends in the question.
            reminder: the form of the reply, repeated when the first one cannot be used.
            number: of the question among those of one ranking, from 0.
        """

        async def once(shown: "Sequence[AnyMessage]", config: "RunnableConfig") -> RankingCall:
            ended = await self.call(lambda: ask_yes_no(self.model, shown, config=config))
            return failed_call(sheet, ended.cause) if ended.value is None else _score(ended.value, sheet)

        return await _ask(once, sheet, messages, reminder, number)


async def _ask(
    once: "Callable[[Sequence[AnyMessage], RunnableConfig], Awaitable[RankingCall]]",
    sheet: Sheet,
    messages: "Sequence[AnyMessage]",
    reminder: str,
    number: int,
) -> tuple[RankingCall, ...]:
    """Return the record of the first call, and of a second one that shows the error where the first cannot be used."""
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - loaded with the model

    first = await once(messages, sheet.annotate(ASKS * number))
    if first.outcome != "unusable":
        return (first,)
    retry = render("retry", problem=first.problem or "", reminder=reminder)
    again = [*messages, AIMessage(first.verdict), HumanMessage(retry)]
    return first, replace(await once(again, sheet.annotate(ASKS * number + 1)), again=True)


def sampling(model: "BaseChatModel", seed: int, temperature: float | None) -> dict[str, Any]:
    """Return the settings, for `bind`, of a call with this sampling seed and, unless it is None, this temperature.

    A model that was opened without a temperature may be one that refuses any, and keeps its own.
    """
    warm = temperature is not None and getattr(model, "temperature", None) is not None
    return ({"seed": seed} if supports_seed(model) else {}) | ({"temperature": temperature} if warm else {})


def solution_room(model: "BaseChatModel | None", task: str, options: int) -> int:
    """Return how many characters of each solution can be shown beside the task and the instructions.

    Args:
        model: whose input limit counts; None for a ranker that asks no model.
        task: its text.
        options: how many solutions are shown at once.
    """
    if model is None:
        return MOST_SOLUTION_CHARS
    free_tokens = input_limit(model) - estimate_tokens(task) - INSTRUCTION_TOKENS
    each = free_tokens / options * CHARACTERS_PER_TOKEN
    return int(min(max(each, LEAST_SOLUTION_CHARS), MOST_SOLUTION_CHARS))


def failed_call(sheet: Sheet, cause: str | None) -> RankingCall:
    """Return the record of a call that brought no reply; what it cost is not known."""
    return RankingCall(sheet.labels, "", "failed", problem=cause, usage=TokenCounts(0, 0))


def said(sheet: Sheet, text: str, verdict: Verdict, usage: TokenCounts | None) -> RankingCall:
    """Return the record of a call whose reply was understood."""
    outcome: CallOutcome = "abstained" if verdict.abstains else "ranked"
    return RankingCall(sheet.labels, text, outcome, verdict.order, verdict.score, usage=usage)


def _read(reply: JsonReply, question: Question) -> RankingCall:
    unusable = RankingCall(question.sheet.labels, reply.text, "unusable", usage=usage_of(reply.message))
    if reply.value is None:
        return replace(unusable, problem=reply.problem)
    try:
        return said(question.sheet, reply.text, question.read(reply.value), unusable.usage)
    except UnusableReplyError as error:
        return replace(unusable, problem=str(error))


def _score(reply: YesNoReply, sheet: Sheet) -> RankingCall:
    record = said(sheet, reply.text, Verdict(score=reply.probability), usage_of(reply.message))
    record = replace(record, asked=reply.asked)
    return record if reply.problem is None else replace(record, outcome="unusable", problem=reply.problem)
