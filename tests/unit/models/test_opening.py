import asyncio
import contextlib
import gc
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from aligngraph.errors import MissingExtraError, MissingKeyError, ModelError
from aligngraph.models import open_model, parse_spec


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_PROXY", "MY_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def install(monkeypatch):
    """Return a function that makes a module importable, with the given names inside."""

    def add(name, **content):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return add


class Recording(FakeListChatModel):
    """Stands for the class of a provider's package: takes any setting and keeps it."""

    settings: dict

    def __init__(self, **settings):
        super().__init__(responses=["ready"], settings=settings)


class Persistent(Recording):
    """Stands for a class whose client repeats failed requests by itself, unless it is told not to."""

    max_retries: int = 2


class Refusing(FakeListChatModel):
    """Stands for a class that rejects how it is made, in more than one line."""

    def __init__(self, **_):
        raise ValueError("region 'moon'\n  is not one of ours")


class Lacking(FakeListChatModel):
    """Stands for a class whose own package is missing."""

    def __init__(self, **_):
        raise ImportError("pip install other")


def local(server, **more):
    return parse_spec({"provider": "openai", "name": "qwen", "base_url": server.base_url, **more})


async def test_an_open_model_passes_through():
    model = FakeListChatModel(responses=["x"])
    assert await open_model(model, temperature=0.5) is model


async def test_a_local_server_needs_no_key_and_gets_none_of_others(openai_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model = await open_model(local(openai_server))
    assert (await model.ainvoke("hi")).text == "ready"
    assert openai_server.keys == ["Bearer no-key-needed"]


async def test_another_providers_server_gets_no_key_of_others(install, monkeypatch):
    install("langchain_xai", ChatXAI=Recording)
    install("langchain_ollama", ChatOllama=Recording)
    place = {"name": "m", "base_url": "http://127.0.0.1:1/v1"}
    xai = await open_model(parse_spec({"provider": "xai", **place}))
    assert xai.settings["api_key"] == "no-key-needed"
    ollama = await open_model(parse_spec({"provider": "ollama", **place}))
    assert ollama.settings["client_kwargs"]["headers"] == {"authorization": "Bearer no-key-needed"}


async def test_a_real_client_of_another_provider_sends_no_key_of_its_own(openai_server, monkeypatch):
    monkeypatch.setenv("LANGSMITH_GATEWAY_API_KEY", "sk-secret")
    spec = parse_spec({"provider": "langsmith", "name": "m", "base_url": openai_server.base_url})
    with contextlib.suppress(Exception):  # the server does not speak this client's dialect; what it was sent counts
        await (await open_model(spec)).ainvoke("hi")
    assert openai_server.keys == ["Bearer no-key-needed"]


async def test_a_rejected_setting_is_named_without_the_others(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    table = {"provider": "azure_openai", "name": "m", "base_url": "http://127.0.0.1:1", "api_key_env": "MY_KEY"}
    with pytest.raises(ModelError, match="azure_endpoint") as caught:
        await open_model(parse_spec(table))
    assert "input_value" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_server_gets_the_key_that_the_spec_names(openai_server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "mine")
    await (await open_model(local(openai_server, api_key_env="MY_KEY"))).ainvoke("hi")
    assert openai_server.keys == ["Bearer mine"]


async def test_a_server_is_told_the_longest_completion_by_both_names(openai_server):
    model = await open_model(local(openai_server, max_tokens=64), temperature=0.25)
    await model.ainvoke("hi")
    (body,) = openai_server.bodies
    assert (body["max_tokens"], body["max_completion_tokens"], body["temperature"]) == (64, 64, 0.25)


async def test_what_is_not_given_is_not_sent(openai_server):
    await (await open_model(local(openai_server))).ainvoke("hi")
    assert openai_server.bodies[0].keys().isdisjoint({"max_tokens", "max_completion_tokens", "temperature"})


async def test_seconds_become_the_clients_timeout(openai_server):
    assert (await open_model(local(openai_server), timeout_s=2.5)).request_timeout == 2.5


async def test_usage_is_counted_from_the_providers_own_numbers(openai_server):
    message = await (await open_model(local(openai_server))).ainvoke("hi")
    assert message.usage_metadata["input_tokens"] == 7


def test_one_model_serves_one_event_loop_after_the_other(openai_server):
    model = asyncio.run(open_model(local(openai_server)))
    for _ in range(3):
        assert asyncio.run(model.ainvoke("hi")).text == "ready"
        gc.collect()  # a connection left in a closed loop would warn here, and warnings are errors


async def test_a_model_serves_threads_with_loops_of_their_own(openai_server):
    model = await open_model(local(openai_server))
    calls = [asyncio.to_thread(asyncio.run, model.ainvoke("hi")) for _ in range(3)]
    assert [message.text for message in await asyncio.gather(*calls)] == ["ready"] * 3


async def test_openai_itself_needs_its_key():
    with pytest.raises(MissingKeyError, match=r"'openai:gpt-4.1' needs an API key: set OPENAI_API_KEY"):
        await open_model(parse_spec("openai:gpt-4.1"))


async def test_openai_finds_its_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model = await open_model(parse_spec("openai:gpt-4.1"))
    assert model.openai_api_key.get_secret_value() == "sk-secret"
    assert model.stream_usage is True


async def test_a_named_variable_must_be_set(openai_server):
    with pytest.raises(MissingKeyError, match="set MY_KEY"):
        await open_model(local(openai_server, api_key_env="MY_KEY"))


async def test_an_openai_proxy_is_not_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:9")
    assert (await open_model(parse_spec("openai:gpt-4.1"))).openai_proxy is None


async def test_the_configured_input_limit_is_in_the_profile(openai_server):
    model = await open_model(local(openai_server, max_input_tokens=4000))
    assert model.profile["max_input_tokens"] == 4000


async def test_a_missing_package_says_what_to_install():
    with pytest.raises(MissingExtraError, match="'cohere:command-r' needs: pip install langchain-cohere"):
        await open_model(parse_spec("cohere:command-r"))


async def test_another_provider_gets_the_settings(install, monkeypatch):
    install("langchain_groq", ChatGroq=Recording)
    monkeypatch.setenv("GROQ_API_KEY", "found by its own client")
    spec = parse_spec({"provider": "groq", "name": "llama", "max_tokens": 9})
    model = await open_model(spec, temperature=0.5, timeout_s=3)
    assert model.settings == {"model": "llama", "max_tokens": 9, "temperature": 0.5, "timeout": 3}


async def test_no_client_repeats_failed_requests_by_itself(install, openai_server, monkeypatch):
    install("langchain_together", ChatTogether=Persistent)  # LangChain keeps a class that it found once
    monkeypatch.setenv("TOGETHER_API_KEY", "found by its own client")
    model = await open_model(parse_spec("together:llama"))
    assert model.settings == {"model": "llama", "max_retries": 0}
    assert (await open_model(local(openai_server))).max_retries == 0


async def test_another_provider_gets_the_named_key_and_server(install, monkeypatch):
    install("langchain_xai", ChatXAI=Recording)
    monkeypatch.setenv("MY_KEY", "mine")
    spec = parse_spec({"provider": "xai", "name": "g", "api_key_env": "MY_KEY", "base_url": "http://127.0.0.1:1/v1"})
    assert (await open_model(spec)).settings == {"model": "g", "api_key": "mine", "base_url": "http://127.0.0.1:1/v1"}


async def test_another_provider_needs_its_key(install):
    install("langchain_mistralai", ChatMistralAI=Recording)
    with pytest.raises(MissingKeyError, match="set MISTRAL_API_KEY"):
        await open_model(parse_spec("mistralai:large"))


async def test_what_a_provider_rejects_keeps_its_words(install):
    install("langchain_aws", ChatBedrock=Refusing)
    with pytest.raises(ModelError, match="'bedrock:titan' cannot be opened: region 'moon' is not one of ours"):
        await open_model(parse_spec("bedrock:titan"))


async def test_a_community_model_is_named_by_its_class(install):
    chat_models = ModuleType("chat_models")
    chat_models.ChatOther, chat_models.__all__ = Recording, ["ChatOther"]
    install("langchain_community", chat_models=chat_models)
    spec = parse_spec({"provider": "community", "name": "ChatOther", "max_tokens": 5})
    assert (await open_model(spec, temperature=0.5)).settings == {"max_tokens": 5, "temperature": 0.5}
    with pytest.raises(ModelError, match="no chat model 'ChatOthr'; did you mean 'ChatOther'"):
        await open_model(parse_spec("community:ChatOthr"))


@pytest.mark.parametrize(
    ("kind", "finding"), [(Refusing, "region 'moon' is not one of ours"), (Lacking, "pip install other")]
)
async def test_what_a_community_model_rejects_keeps_its_words(install, kind, finding):
    chat_models = ModuleType("chat_models")
    chat_models.ChatOther, chat_models.__all__ = kind, ["ChatOther"]
    install("langchain_community", chat_models=chat_models)
    with pytest.raises(ModelError, match=f"^model 'community:ChatOther' cannot be opened: {finding}$"):
        await open_model(parse_spec("community:ChatOther"))


async def test_a_missing_community_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_community", None)
    with pytest.raises(MissingExtraError, match=r'pip install "aligngraph\[community\]"'):
        await open_model(parse_spec("community:ChatOther"))


async def test_a_scripted_model_opens_its_file(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"agent": "a", "text": "42"}\n')
    model = await open_model(parse_spec(f"scripted:{tmp_path}/s.jsonl"), temperature=0.7, timeout_s=1)
    assert (await model.ainvoke("hi", {"metadata": {"agent": "a"}})).text == "42"


async def test_an_embedded_model_wants_its_package(monkeypatch, tmp_path):
    (tmp_path / "own.gguf").touch()
    monkeypatch.setattr("aligngraph.models.embedded.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r'pip install "aligngraph\[local\]"'):
        await open_model(parse_spec(f"embedded:{tmp_path}/own.gguf"))
