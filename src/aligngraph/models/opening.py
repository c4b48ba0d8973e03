"""From a spec to an open chat model."""

import asyncio
import functools
import os
from collections.abc import Callable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from aligngraph.errors import MissingExtraError, MissingKeyError, ModelError
from aligngraph.models import embedded
from aligngraph.models.providers import PROVIDERS
from aligngraph.models.spec import ModelSpec
from aligngraph.models.weights import locate

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from openai import DefaultAsyncHttpxClient


async def open_model(
    spec: "ModelSpec | BaseChatModel",
    *,
    temperature: float | None = None,
    timeout_s: float | None = None,
) -> "BaseChatModel":
    """Return the chat model of `spec`; a model that is already open is returned as it is.

    Imports, files and the start of an embedded model's server happen in a thread, so that the event loop goes on.
    The model may be used from any event loop of the process, one after the other.

    Args:
        spec: what to open.
        temperature: the sampling temperature; None leaves the provider's default.
        timeout_s: seconds a request may take without a sign of life; a caller with a deadline bounds the whole call
            as well. The client makes no failed request again, where its class lets one say so: that is the caller's
            business too.

    Raises:
        MissingExtraError: a package is not installed.
        MissingKeyError: the API key is not set.
        ModelError: the spec cannot become a model for another reason.
    """
    if not isinstance(spec, ModelSpec):
        return spec
    settings = {"temperature": temperature, "timeout": timeout_s}
    return await asyncio.to_thread(build, spec, {key: value for key, value in settings.items() if value is not None})


def build(spec: ModelSpec, settings: dict[str, Any]) -> "BaseChatModel":
    """Return the chat model of `spec`; the blocking part of `open_model`.

    Its profile says how long a prompt may be wherever the spec does.
    """
    model = _BUILDERS.get(spec.provider, _build_with_langchain)(spec, settings)
    if spec.max_input_tokens is not None:
        model.profile = {**(model.profile or {}), "max_input_tokens": spec.max_input_tokens}
    return model


def _build_openai(spec: ModelSpec, settings: dict[str, Any], *, trust_env: bool = True) -> "BaseChatModel":
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - costs over a second

    limits: dict[str, Any] = {} if spec.max_tokens is None else {"max_tokens": spec.max_tokens}
    place = _key(spec)
    if spec.base_url:
        # Servers that lag behind OpenAI read only the older name of the limit, and know only chat completions.
        place |= {"base_url": spec.base_url, "use_responses_api": False, "extra_body": limits or None}
    return ChatOpenAI(
        model=spec.name,
        stream_usage=True,
        http_async_client=_http_client(os.environ.get("OPENAI_PROXY") if trust_env else None, trust_env=trust_env),
        http_socket_options=(),
        max_retries=0,
        openai_proxy=None,
        **place,
        **limits,
        **settings,
    )


@functools.cache
def _http_client(proxy: str | None, *, trust_env: bool) -> "DefaultAsyncHttpxClient":
    """Return the HTTP client that all models share.

    It keeps no connection between calls. A kept one belongs to the event loop that opened it: in the next loop it
    raises "Event loop is closed". It would seldom be used again anyway, model calls being seconds apart.
    """
    import openai  # noqa: PLC0415 - costs half a second

    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_keepalive_connections=0)
    return openai.DefaultAsyncHttpxClient(limits=limits, proxy=proxy, trust_env=trust_env)


def _build_embedded(spec: ModelSpec, settings: dict[str, Any]) -> "BaseChatModel":
    budget = embedded.budget_of(spec)
    base_url = embedded.serve(locate(spec.name), context_tokens=budget.context_tokens)
    served = spec.model_copy(update={"base_url": base_url, "max_tokens": budget.max_tokens})
    model = _build_openai(served, settings, trust_env=False)  # no proxy leads to the loopback address
    model.profile = {"max_input_tokens": budget.max_input_tokens}
    return model


def _build_scripted(spec: ModelSpec, _settings: dict[str, Any]) -> "BaseChatModel":
    from aligngraph.models.scripted import ScriptedChatModel  # noqa: PLC0415 - imports LangChain

    return ScriptedChatModel.from_file(Path(spec.name))


def _build_community(spec: ModelSpec, settings: dict[str, Any]) -> "BaseChatModel":
    """Return the class of langchain_community that `spec` names, with its own defaults for all that is not given."""
    try:
        from langchain_community import chat_models  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(f'model {spec.label!r} needs: pip install "aligngraph[community]"') from error
    if spec.name not in chat_models.__all__:
        nearest = get_close_matches(spec.name, chat_models.__all__, n=1, cutoff=0)
        raise ModelError(f"langchain_community has no chat model {spec.name!r}; did you mean {nearest[0]!r}?")
    limits = {} if spec.max_tokens is None else {"max_tokens": spec.max_tokens}
    try:
        model: BaseChatModel = getattr(chat_models, spec.name)(**limits, **settings)
    except (ImportError, ValueError) as error:
        raise _cannot_open(spec, error) from error
    return model


def _build_with_langchain(spec: ModelSpec, settings: dict[str, Any]) -> "BaseChatModel":
    provider = PROVIDERS[spec.provider]
    if find_spec(provider.package.replace("-", "_")) is None:
        raise MissingExtraError(f"model {spec.label!r} needs: pip install {provider.package}")
    given = {"base_url": spec.base_url, "max_tokens": spec.max_tokens, **_key(spec), **settings}
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 - imports LangChain

    known: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    try:
        model: BaseChatModel = init_chat_model(spec.name, model_provider=spec.provider, **known)
        if "max_retries" in type(model).model_fields:  # only the open model tells, and has made its client by then
            model = init_chat_model(spec.name, model_provider=spec.provider, max_retries=0, **known)
    except (ImportError, ValueError) as error:
        raise _cannot_open(spec, error) from error
    return model


def _cannot_open(spec: ModelSpec, error: Exception) -> ModelError:
    """Return the error in one line, without the settings that pydantic repeats: a key may be among them."""
    reasons = [finding["msg"] for finding in error.errors()] if isinstance(error, ValidationError) else [str(error)]
    return ModelError(f"model {spec.label!r} cannot be opened: {' '.join('; '.join(reasons).split())}")


def _key(spec: ModelSpec) -> dict[str, Any]:
    """Return the settings that hold the key; none where the client finds its own.

    A server that the spec names is never sent a key that the spec does not.
    """
    if spec.api_key_env:
        return {"api_key": _first_set(spec, (spec.api_key_env,))}
    provider = PROVIDERS.get(spec.provider, PROVIDERS["openai"])  # the embedded model's server is of OpenAI's kind
    if spec.base_url:
        return dict(provider.without_key)
    _first_set(spec, provider.key_variables)
    return {}


def _first_set(spec: ModelSpec, variables: tuple[str, ...]) -> str | None:
    value = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if variables and value is None:
        allowed = " or ".join(variables)
        raise MissingKeyError(f"model {spec.label!r} needs an API key: set {allowed}, or name another in api_key_env")
    return value


_BUILDERS: dict[str, Callable[[ModelSpec, dict[str, Any]], "BaseChatModel"]] = {
    "community": _build_community,
    "embedded": _build_embedded,
    "openai": _build_openai,
    "scripted": _build_scripted,
}
