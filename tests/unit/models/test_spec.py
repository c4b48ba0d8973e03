import pytest
from langchain.chat_models.base import _BUILTIN_PROVIDERS
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from aligngraph.errors import ModelError
from aligngraph.models import ModelSpec, model_label, parse_spec
from aligngraph.models.providers import PROVIDERS


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [
        ("openai:gpt-4.1-mini", "openai", "gpt-4.1-mini"),
        ("ollama:llama3:8b", "ollama", "llama3:8b"),
        ("google-genai:gemini-2.5-flash", "google_genai", "gemini-2.5-flash"),
        (" Anthropic : claude-opus-4 ", "anthropic", "claude-opus-4"),
        ("embedded:smollm2-135m", "embedded", "smollm2-135m"),
        ("embedded:~/models/qwen.gguf", "embedded", "~/models/qwen.gguf"),
        ("scripted:answers.jsonl", "scripted", "answers.jsonl"),
        ("community:ChatTongyi", "community", "ChatTongyi"),
    ],
)
def test_text_names_provider_and_model(text, provider, name):
    assert parse_spec(text) == ModelSpec(provider=provider, name=name)


def test_a_table_carries_every_key():
    table = {
        "provider": "openai",
        "name": "qwen",
        "base_url": "http://127.0.0.1:8100/v1",
        "api_key_env": "MY_KEY",
        "max_tokens": 512,
        "max_input_tokens": 8000,
        "max_concurrency": 2,
        "requests_per_minute": 30.0,
    }
    assert parse_spec(table).model_dump() == table


@pytest.mark.parametrize("text", ["gpt-4.1-mini", "", ":", "openai:", ":gpt-4.1", "openai: "])
def test_text_without_both_parts_is_refused_with_the_form(text):
    with pytest.raises(ModelError, match='of the form "provider:name"') as caught:
        parse_spec(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("opnai:gpt-4.1", "did you mean 'openai'?"),
        ("embeded:smollm2-135m", "did you mean 'embedded'?"),
        ("zzzz:m", "known are anthropic, anthropic_bedrock"),
        ("embedded:smollm-135m", "did you mean 'smollm2-135m', or the path of a .gguf file?"),
        ({"provider": "openai", "name": "m", "baseurl": "http://x"}, "unknown key 'baseurl'; did you mean 'base_url'?"),
        ({"provider": "openai"}, "key 'name': Field required"),
        ({"provider": "openai", "name": "m", "max_tokens": 0}, "key 'max_tokens': Input should be greater than"),
        ({"provider": "openai", "name": "m", "base_url": "127.0.0.1:80"}, "key 'base_url': String should match"),
    ],
)
def test_a_wrong_word_is_met_with_the_nearest_right_one(spec, message):
    with pytest.raises(ModelError) as caught:
        parse_spec(spec)
    assert message in str(caught.value)


@pytest.mark.parametrize("key", ["base_url", "api_key_env"])
@pytest.mark.parametrize("provider", ["embedded", "scripted", "community"])
def test_a_key_without_effect_is_refused(provider, key):
    with pytest.raises(ModelError, match=f"takes no {key}"):
        parse_spec({"provider": provider, "name": "x.gguf", key: "http://127.0.0.1/v1"})


def test_a_spec_cannot_be_changed_and_can_be_a_key():
    spec = parse_spec("openai:m")
    with pytest.raises(ValueError, match="frozen"):
        spec.name = "n"
    assert {spec: 1}[parse_spec("openai:m")] == 1


def test_label_reads_as_it_is_written():
    assert parse_spec("ollama:llama3:8b").label == "ollama:llama3:8b"
    assert model_label(parse_spec("openai:gpt-4.1")) == "openai:gpt-4.1"


def test_an_open_model_is_shown_by_its_class():
    assert model_label(FakeListChatModel(responses=[""])) == "FakeListChatModel"


def test_providers_are_those_of_langchain():
    packages = {name: module.partition(".")[0].replace("_", "-") for name, (module, _, _) in _BUILTIN_PROVIDERS.items()}
    assert {name: provider.package for name, provider in PROVIDERS.items()} == packages
