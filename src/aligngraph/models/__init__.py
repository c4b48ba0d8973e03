"""From a model spec to a LangChain chat model; the embedded model; the scripted model.

The names below load on first use: LangChain costs over a second that `aligngraph --help` need not pay.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aligngraph.models.capabilities import estimate_tokens, input_limit, supports_seed
    from aligngraph.models.embedded import serve
    from aligngraph.models.opening import open_model
    from aligngraph.models.runnable_model import RunnableModel
    from aligngraph.models.scripted import ScriptedChatModel, ScriptedFailure
    from aligngraph.models.spec import ModelSpec, model_label, parse_spec
    from aligngraph.models.structured import JsonReply, ask_json, sendable, spoken
    from aligngraph.models.usage import TokenCounts, counted_by_provider, usage_of
    from aligngraph.models.weights import KnownModel, ensure_weights, known_models, pull
    from aligngraph.models.yes_no import YesNoReply, ask_yes_no, limit_reply

__all__ = [
    "JsonReply",
    "KnownModel",
    "ModelSpec",
    "RunnableModel",
    "ScriptedChatModel",
    "ScriptedFailure",
    "TokenCounts",
    "YesNoReply",
    "ask_json",
    "ask_yes_no",
    "counted_by_provider",
    "ensure_weights",
    "estimate_tokens",
    "input_limit",
    "known_models",
    "limit_reply",
    "model_label",
    "open_model",
    "parse_spec",
    "pull",
    "sendable",
    "serve",
    "spoken",
    "supports_seed",
    "usage_of",
]

_HOMES = {
    "capabilities": ("estimate_tokens", "input_limit", "supports_seed"),
    "embedded": ("serve",),
    "opening": ("open_model",),
    "runnable_model": ("RunnableModel",),
    "scripted": ("ScriptedChatModel", "ScriptedFailure"),
    "spec": ("ModelSpec", "model_label", "parse_spec"),
    "structured": ("JsonReply", "ask_json", "sendable", "spoken"),
    "usage": ("TokenCounts", "counted_by_provider", "usage_of"),
    "weights": ("KnownModel", "ensure_weights", "known_models", "pull"),
    "yes_no": ("YesNoReply", "ask_yes_no", "limit_reply"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
