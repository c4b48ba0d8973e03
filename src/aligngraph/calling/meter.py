"""Metering: a LangChain callback that sees every model call made below it, however deep, before and after."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from typing_extensions import override

from aligngraph.calling.budget import Ledger
from aligngraph.calling.spending import NOTHING, PriceOf, Spending
from aligngraph.errors import CallTimeoutError
from aligngraph.models import TokenCounts, counted_by_provider, estimate_tokens, sendable

COMPLETION_TOKENS = 1024  # set aside for a completion whose length nothing limits
COMPLETION_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "num_predict")  # as providers spell it
_TEAM = "aligngraph"  # what `AlignChatModel` calls itself; its agents and principal are seen one by one


@dataclass(eq=False)
class Meter(BaseCallbackHandler):
    """Counts the calls below one attempt, from any thread, and refuses one that does not fit into the run's budget.

    A team in the place of a model costs what its models cost, and is no call beside theirs.

    Attributes:
        ledger: of the run.
        price: of a call's tokens; None where it is unknown.
        spent: what these calls have used so far.
    """

    ledger: Ledger
    price: PriceOf | None = None
    spent: Spending = field(default=NOTHING, init=False)
    _most: dict[UUID, Spending] = field(default_factory=dict, init=False)
    _closed: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    raise_error = True  # a refusal stops the call
    run_inline = True

    @override
    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        texts = [str(message.text) for prompt in messages for message in prompt]
        self._reserve(run_id, texts, kwargs.get("invocation_params") or {})

    @override
    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        self._reserve(run_id, prompts, kwargs.get("invocation_params") or {})

    @override
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        counts = _counted(response)
        completion = sum(map(_estimate, _texts(response)))

        def used(most: Spending) -> Spending:
            tokens = counts or TokenCounts(most.prompt, completion)
            return Spending.of_call(tokens, self.price, estimated=counts is None)

        self._settle(run_id, used)

    @override
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if isinstance(error, Exception):
            self._settle(run_id, lambda _: _unanswered(self.price))
        else:
            self._abandon(run_id)

    def close(self) -> None:
        """Count the calls that were cancelled under way, and let none begin that a thread still makes."""
        with self._lock:
            self._closed, cancelled = True, list(self._most)
        for call in cancelled:
            self._abandon(call)

    def _reserve(self, call: UUID, prompt: list[str], parameters: dict[str, Any]) -> None:
        if parameters.get("_type") == _TEAM:
            return
        counts = TokenCounts(sum(map(_estimate, prompt)), _longest_completion(parameters))
        most = Spending.of_call(counts, self.price)
        with self._lock:
            if self._closed:
                raise CallTimeoutError("what makes this call was given up before")
            self.ledger.reserve(call, most)
            self._most[call] = most

    def _settle(self, call: UUID, used: Callable[[Spending], Spending]) -> None:
        """Count what the call used, by what was set aside for it; once only, and not if it was refused."""
        with self._lock:
            if (most := self._most.pop(call, None)) is not None:
                counted = used(most)
                self.ledger.settle(call, counted)
                self.spent += counted

    def _abandon(self, call: UUID) -> None:
        """Count a call that was cancelled under way; the budget pays for all that it may have used."""
        with self._lock:
            if (most := self._most.pop(call, None)) is not None:
                self.ledger.settle(call, most)
                self.spent += _unanswered(self.price)


# LangChain writes a warning for each error of a callback; a refusal is told where it belongs, and a wait is none.
logging.getLogger("langchain_core.callbacks.manager").addFilter(
    lambda record: not (isinstance(record.args, tuple) and record.args[:1] == (Meter.__name__,))
)
_listening: ContextVar[Meter | None] = ContextVar("aligngraph_meter", default=None)
register_configure_hook(_listening, inheritable=True)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Let `meter` see every call that is begun inside."""
    token = _listening.set(meter)
    try:
        yield
    finally:
        _listening.reset(token)
        meter.close()


def _unanswered(price: PriceOf | None) -> Spending:
    """Return what a call used that brought no reply: its tokens are not known, and cost nothing at most providers."""
    return Spending(calls=1, cost=None if price is None else 0.0)


def _estimate(text: str) -> int:
    # A stream that was cut inside a character leaves half of it, which has no UTF-8: no reason to lose the reply.
    return estimate_tokens(sendable(text))


def _longest_completion(parameters: dict[str, Any]) -> int:
    limits = (_positive(parameters.get(name)) for name in COMPLETION_LIMITS)
    return next(filter(None, limits), COMPLETION_TOKENS) * (_positive(parameters.get("n")) or 1)


def _positive(number: object) -> int | None:
    """Return `number` where it limits something; providers take -1 for no limit."""
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None


def _counted(response: LLMResult) -> TokenCounts | None:
    """Return the provider's count; with several choices each carries that of the whole call."""
    for generation in response.generations[0] if response.generations else ():
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            return counted_by_provider(generation.message)
    return None


def _texts(response: LLMResult) -> list[str]:
    return [generation.text for choices in response.generations for generation in choices]
