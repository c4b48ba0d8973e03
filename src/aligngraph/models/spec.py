"""What a team says about a model, checked before anything is opened."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aligngraph.errors import ModelError
from aligngraph.models.providers import OWN_PROVIDERS, PROVIDERS
from aligngraph.models.runnable_model import RunnableModel
from aligngraph.models.weights import is_path, weights_named

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class ModelSpec(BaseModel):
    """One model and how to reach it.

    Attributes:
        provider: a name that `init_chat_model` knows, or "embedded", "scripted", "community".
        name: the provider's name of the model; a known name or a GGUF file (embedded), a script (scripted), a class of
            langchain_community.chat_models (community).
        base_url: the server, for providers that let one choose.
        api_key_env: the environment variable that holds the key; the key itself is never part of a spec.
        max_tokens: the longest completion, in tokens.
        max_input_tokens: the longest prompt, in tokens, where LangChain does not know it.
        max_concurrency: calls under way at a time, of all agents and judges together; None for any number.
        requests_per_minute: the most calls begun in a minute, of all agents and judges together; None for any number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    provider: str = Field(min_length=1)
    name: str = Field(min_length=1)
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    api_key_env: str | None = Field(default=None, min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_input_tokens: int | None = Field(default=None, ge=1)
    max_concurrency: int | None = Field(default=None, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)

    @property
    def label(self) -> str:
        """The spec as "provider:name", for display."""
        return f"{self.provider}:{self.name}"

    @property
    def place(self) -> str:
        """Which model at which server, whatever else is set."""
        return f"{self.label}@{self.base_url}" if self.base_url else self.label

    @property
    def account(self) -> str:
        """Which model at which server with which key: what its failures and limits are counted under."""
        return f"{self.place} by {self.api_key_env}" if self.api_key_env else self.place


def model_label(model: "ModelSpec | RunnableModel | BaseChatModel") -> str:
    """Return the name under which a model is shown: "provider:name", or the class and model name of an open one."""
    if isinstance(model, ModelSpec | RunnableModel):
        return model.label
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return f"{type(model).__name__}:{name}" if name else type(model).__name__


def parse_spec(spec: str | Mapping[str, object]) -> ModelSpec:
    """Return the spec that a "provider:name" string or a table stands for.

    Raises:
        ModelError: there is no such provider, embedded model or key; the message names the nearest there is.
    """
    found = _from_text(spec) if isinstance(spec, str) else _from_table(spec)
    provider = _known_provider(found)
    if provider == "embedded" and not is_path(found.name):
        weights_named(found.name)
    _check_keys(provider, found)
    return found.model_copy(update={"provider": provider})


def _from_text(text: str) -> ModelSpec:
    provider, colon, name = (part.strip() for part in text.partition(":"))
    if not (colon and provider and name):
        raise ModelError(f'model {text!r} is not of the form "provider:name", as in "openai:gpt-4.1-mini"')
    return ModelSpec(provider=provider, name=name)


def _from_table(table: Mapping[str, object]) -> ModelSpec:
    for key in table:
        if key not in ModelSpec.model_fields:
            raise ModelError(f"model table has an unknown key {key!r}{_nearest(key, ModelSpec.model_fields)}")
    try:
        return ModelSpec.model_validate(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        raise ModelError(f"model table: key {first['loc'][0]!r}: {first['msg']}") from error


def _known_provider(spec: ModelSpec) -> str:
    provider = spec.provider.replace("-", "_").lower()
    known = (*OWN_PROVIDERS, *PROVIDERS)
    if provider not in known:
        raise ModelError(f"model {spec.label!r} names an unknown provider {spec.provider!r}{_nearest(provider, known)}")
    return provider


def _check_keys(provider: str, spec: ModelSpec) -> None:
    """Refuse the keys that would have no effect: a person who wrote one expects that it has."""
    for key in ("base_url", "api_key_env"):
        if provider in OWN_PROVIDERS and getattr(spec, key) is not None:
            raise ModelError(f"model {spec.label!r} takes no {key}: it is for models behind a server")


def _nearest(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names)}"
