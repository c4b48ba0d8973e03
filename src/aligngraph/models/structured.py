"""Asking a model for JSON: constrained where the provider can, read strictly in any case.

What is not JSON from end to end is not searched for some: a reply that had to be guessed at is no reply.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import Runnable, RunnableConfig

THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)


@dataclass(frozen=True)
class JsonReply:
    """A reply to `ask_json`.

    Attributes:
        value: the object, with every key that the schema requires; None where the reply is none.
        text: the reply as it came.
        message: the same with usage and all that the provider adds.
        problem: why there is no value, in words that can be shown to the model; None where there is one.
    """

    value: dict[str, Any] | None
    text: str
    message: "AIMessage"
    problem: str | None


async def ask_json(
    model: "BaseChatModel",
    messages: "Sequence[BaseMessage]",
    schema: Mapping[str, Any],
    *,
    config: "RunnableConfig | None" = None,
    **settings: object,
) -> JsonReply:
    """Return the reply of `model` to `messages`, as an object of `schema` (JSON Schema, `type` "object").

    A bad reply is a JsonReply with a problem. What the provider raises goes through.

    Args:
        model: any chat model; constrained decoding where it has a way to ask for it.
        messages: the prompt. It should describe the object too, since not every model is constrained.
        schema: for OpenAI, with `additionalProperties` false and every property required.
        config: of the call.
        settings: further ones for this call, such as `seed` or `temperature`.
    """
    named = {"title": "reply", **schema}
    asked = _constrained(model, named, settings)
    if asked is None:
        return await _ask_with_tool(model, messages, named, config, settings)
    return _read(await asked.ainvoke(list(messages), config), schema)


def _constrained(
    model: "BaseChatModel",
    schema: Mapping[str, Any],
    settings: Mapping[str, object],
) -> "Runnable[Any, AIMessage] | None":
    """Return `model` bound to answer in JSON as text; None where it is asked by a tool call instead."""
    if not speaks_openai(model):
        return model.bind(**settings) if _has_no_tools(model) else None
    wanted = {"name": schema["title"], "schema": dict(schema), "strict": True}
    response_format = {"type": "json_schema", "json_schema": wanted}
    if getattr(model, "use_responses_api", None):
        return model.bind(response_format=response_format, **settings)
    # Given as `response_format`, the client parses the reply itself and raises away the text of one that was cut off.
    extra_body = {**(getattr(model, "extra_body", None) or {}), "response_format": response_format}
    return model.bind(extra_body=extra_body, **settings)


def speaks_openai(model: "BaseChatModel") -> bool:
    """Return whether `model` is one of langchain-openai's or built on one, and so takes that protocol's parameters."""
    # By name: an import would cost a second where no model of the kind is in use.
    return any(base.__name__ == "BaseChatOpenAI" for base in type(model).__mro__)


def _has_no_tools(model: "BaseChatModel") -> bool:
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - loaded by whoever opened the model

    return type(model).bind_tools is BaseChatModel.bind_tools


async def _ask_with_tool(
    model: "BaseChatModel",
    messages: "Sequence[BaseMessage]",
    schema: Mapping[str, Any],
    config: "RunnableConfig | None",
    settings: Mapping[str, object],
) -> JsonReply:
    asked = model.with_structured_output(dict(schema), include_raw=True, **settings)
    found: Any = await asked.ainvoke(list(messages), config)
    message, value = found["raw"], found["parsed"]
    if value is None:
        return _read(message, schema)
    problem = _problem_with(value, schema)
    return JsonReply(None if problem else value, str(message.text) or json.dumps(value), message, problem)


def _read(message: "AIMessage", schema: Mapping[str, Any]) -> JsonReply:
    text = sendable(str(message.text))
    bare = THOUGHT.sub("", text).strip()
    fenced = _FENCE.match(bare)
    try:
        value = json.loads(fenced.group(1) if fenced else bare, object_pairs_hook=_read_object)
    except (ValueError, RecursionError) as error:
        return JsonReply(None, text, message, _why_not_json(bare, message, error))
    problem = _problem_with(value, schema)
    return JsonReply(None if problem else value, text, message, problem)


def sendable(text: str) -> str:
    """Return the reply without lone surrogates, so that it can be shown to its model again."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def spoken(text: str) -> str:
    """Return the reply without the thought before it; empty where a thought was cut off and nothing was said."""
    said = THOUGHT.sub("", text).strip()
    return "" if said.startswith("<think>") else said


def _why_not_json(bare: str, message: "AIMessage", error: Exception) -> str:
    if refusal := message.additional_kwargs.get("refusal"):
        return f"the reply is a refusal: {refusal}"
    if message.response_metadata.get("finish_reason") == "length":
        return "the reply was cut off before its end: answer more briefly"
    return f"the reply is not a JSON object and nothing else: {error}" if bare else "the reply is empty"


def _problem_with(value: object, schema: Mapping[str, Any]) -> str | None:
    if not isinstance(value, dict):
        return f"the reply is a JSON {type(value).__name__}, not an object"
    missing = [key for key in schema.get("required", ()) if key not in value]
    if missing and "properties" in value:
        return "the reply repeats the schema instead of an object that follows it"
    return f"the object lacks {', '.join(map(repr, missing))}" if missing else None
