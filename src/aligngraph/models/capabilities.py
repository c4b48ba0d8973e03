"""What a model can take, known without asking it."""

import math
from typing import TYPE_CHECKING

from aligngraph.errors import ModelError
from aligngraph.models.embedded import budget_of
from aligngraph.models.opening import build
from aligngraph.models.spec import ModelSpec

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEFAULT_INPUT_TOKENS = 32_768
_BYTES_PER_TOKEN = 3.5


def input_limit(model: "ModelSpec | BaseChatModel") -> int:
    """Return the longest prompt in tokens that `model` reads, without a call and without starting a server.

    What the spec says; else for an embedded model its context less the completion; else LangChain's profile of the
    model; else 32,768, also for a model that lacks its package or key, since it will not be asked.
    """
    if not isinstance(model, ModelSpec):
        profile = getattr(model, "profile", None) or {}
        return int(profile.get("max_input_tokens") or DEFAULT_INPUT_TOKENS)
    if model.provider == "embedded":
        return budget_of(model).max_input_tokens
    if model.max_input_tokens is not None or model.provider == "scripted":
        return model.max_input_tokens or DEFAULT_INPUT_TOKENS
    try:
        return input_limit(build(model, {}))
    except ModelError:
        return DEFAULT_INPUT_TOKENS


def estimate_tokens(text: str) -> int:
    """Return a rough count of the tokens of `text`, meant to be too high: one for every 3.5 bytes of UTF-8.

    Ordinary English has four to five characters to a token. Long numbers and dense formulas, where a tokenizer may
    take each character for itself, can hold more tokens than this.
    """
    return math.ceil(len(text.encode(errors="surrogatepass")) / _BYTES_PER_TOKEN)


def supports_seed(model: "BaseChatModel") -> bool:
    """Return whether a call of `model` may be given a sampling seed, as `model.bind(seed=...)`."""
    return "seed" in getattr(type(model), "model_fields", ())
