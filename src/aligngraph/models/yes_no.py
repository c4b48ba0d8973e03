"""Asking a model yes or no, and how sure it is of it where the provider tells the probabilities of tokens."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langchain_core.messages.ai import add_usage
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError

from aligngraph.models.structured import ask_json, sendable, speaks_openai, spoken

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import RunnableConfig

TOP_TOKENS = 10
LEAST_MASS = 0.05  # of yes and no together; below it their ratio is noise in a reply about something else
_SLACK = 1e-3  # rounding makes the log-probability of a certain token positive
_SHOWN_CHARS = 80
_WORD = re.compile(r"[\W_Ġ]*(yes|no)[\W_]*", re.IGNORECASE)  # some servers leave a tokenizer's sign for a space
_SCHEMA = {
    "title": "verdict",
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class YesNoReply:
    """A reply to `ask_yes_no`.

    Attributes:
        probability: of "yes", in [0, 1]; None where the reply is neither yes nor no.
        text: the reply as it came.
        message: the same with usage and all that the provider adds.
        problem: why there is no probability, in words that can be shown to the model; None where there is one.
        asked: how many calls it took; `message` counts the tokens of all.
    """

    probability: float | None
    text: str
    message: "AIMessage"
    problem: str | None
    asked: int = 1


def _check_logprob(value: float) -> float:
    if not value <= _SLACK:  # NaN too
        raise ValueError("no log-probability")
    return min(value, 0.0)


class _Likely(BaseModel):
    token: str
    logprob: Annotated[float, AfterValidator(_check_logprob)]

    @property
    def probability(self) -> float:
        return math.exp(self.logprob)


class _Token(_Likely):
    top_logprobs: tuple[_Likely, ...] | None = None


_TOKENS = TypeAdapter(tuple[_Token, ...])


async def ask_yes_no(
    model: "BaseChatModel",
    messages: "Sequence[BaseMessage]",
    *,
    config: "RunnableConfig | None" = None,
) -> YesNoReply:
    """Return what `model` replies to `messages`, which end in a question to be answered by the word yes or no.

    A model that speaks OpenAI is asked for one token and the probabilities of its alternatives; their mass on "yes",
    as a share of that on "yes" and "no", is the probability. One that refuses this, or thinks before it speaks, and
    every other model is asked for JSON; then the word is taken for certain, unless the provider says how likely it was.
    A bad reply is a YesNoReply with a problem. What the provider raises goes through.
    """
    message = await _ask_for_token(model, messages, config) if speaks_openai(model) else None
    if message is None:
        return await _ask_in_json(model, messages, config)
    reply = _read(message)
    if reply.problem is None or spoken(reply.text):
        return reply
    second = await _ask_in_json(model, messages, config)
    spent = add_usage(message.usage_metadata, second.message.usage_metadata)
    return replace(second, message=second.message.model_copy(update={"usage_metadata": spent}), asked=2)


def limit_reply(model: "BaseChatModel", tokens: int) -> dict[str, Any]:
    """Return the settings, for `bind`, under which `model` replies with at most `tokens` tokens.

    Empty where its provider has no setting of the usual name.
    """
    if "max_tokens" not in type(model).model_fields:
        return {}
    body = getattr(model, "extra_body", None) or {}
    # A limit in there is for servers that read only the older name of it, and would win over the new one.
    return {"max_tokens": tokens} | ({"extra_body": {**body, "max_tokens": tokens}} if "max_tokens" in body else {})


async def _ask_for_token(
    model: "BaseChatModel", messages: "Sequence[BaseMessage]", config: "RunnableConfig | None"
) -> "AIMessage | None":
    """Return a reply of one token with its alternatives; None where the provider does not take the parameters."""
    from openai import BadRequestError  # noqa: PLC0415 - loaded with the model

    asked = model.bind(logprobs=True, top_logprobs=TOP_TOKENS, **limit_reply(model, 1))
    try:
        return await asked.ainvoke(list(messages), config)
    except (BadRequestError, TypeError):  # the client of the responses interface has no such parameters
        return None


async def _ask_in_json(
    model: "BaseChatModel", messages: "Sequence[BaseMessage]", config: "RunnableConfig | None"
) -> YesNoReply:
    reply = await ask_json(model, messages, _SCHEMA, config=config)
    if reply.value is None:
        spoken = _read(reply.message)  # the bare word is as strict a form as the object
        return spoken if spoken.text.strip() else replace(spoken, problem=reply.problem)
    word = _word(str(reply.value["verdict"]))
    if word is None:
        problem = f"'verdict' is {reply.value['verdict']!r}, neither yes nor no"
        return YesNoReply(None, reply.text, reply.message, problem)
    return YesNoReply(float(word == "yes"), reply.text, reply.message, None)


def _read(message: "AIMessage") -> YesNoReply:
    text = sendable(str(message.text))
    probability = _probability(text, _tokens(message))
    problem = f"the reply is {text[:_SHOWN_CHARS]!r}, which is neither yes nor no" if probability is None else None
    return YesNoReply(probability, text, message, problem)


def _tokens(message: "AIMessage") -> tuple[_Token, ...]:
    """Return the tokens with their log-probabilities; none where the provider tells none, or what cannot be."""
    try:
        return _TOKENS.validate_python(_logprobs(message))
    except ValidationError:
        return ()


def _logprobs(message: "AIMessage") -> object:
    found = message.response_metadata.get("logprobs")
    return (found.get("content") if isinstance(found, dict) else found) or ()


def _probability(text: str, tokens: tuple[_Token, ...]) -> float | None:
    if tokens and tokens[0].top_logprobs and (share := _share(tokens[0])) is not None:
        return share
    word = _word(spoken(text))
    if word is None:
        return None
    said = math.prod(token.probability for token in tokens)
    return said if word == "yes" else 1 - said


def _share(first: _Token) -> float | None:
    likely = {one.token: one.probability for one in (first, *(first.top_logprobs or ()))}
    mass = {"yes": 0.0, "no": 0.0}
    for token, probability in likely.items():
        if word := _word(token):
            mass[word] += probability
    total = sum(mass.values())
    return mass["yes"] / total if total >= LEAST_MASS else None


def _word(text: str) -> Literal["yes", "no"] | None:
    found = _WORD.fullmatch(text)
    if found is None:
        return None
    return "yes" if found.group(1).casefold() == "yes" else "no"
