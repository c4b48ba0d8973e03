import math
import subprocess
import sys

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_openai import ChatOpenAI

from aligngraph import models
from aligngraph.models import estimate_tokens, input_limit, parse_spec, supports_seed
from aligngraph.models.embedded import Budget, budget_of


@pytest.mark.parametrize(
    ("spec", "tokens"),
    [
        ({"provider": "openai", "name": "gpt-4.1", "max_input_tokens": 4000}, 4000),
        ({"provider": "openai", "name": "qwen", "base_url": "http://127.0.0.1:1/v1"}, 32_768),
        ({"provider": "scripted", "name": "no-such-file.jsonl"}, 32_768),
        ({"provider": "scripted", "name": "no-such-file.jsonl", "max_input_tokens": 50}, 50),
        ({"provider": "embedded", "name": "smollm2-135m"}, 2048 - 256),
        ({"provider": "embedded", "name": "not-there.gguf", "max_tokens": 512}, 2048 - 512),
        ({"provider": "embedded", "name": "not-there.gguf", "max_input_tokens": 6000}, 6000),
        ({"provider": "cohere", "name": "package-not-installed"}, 32_768),
    ],
)
def test_the_spec_comes_first_then_what_is_known(spec, tokens):
    assert input_limit(parse_spec(spec)) == tokens


def test_langchain_knows_the_models_of_providers(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert input_limit(parse_spec("openai:gpt-4.1")) == 1_047_576


def test_a_model_without_its_key_will_not_be_asked():
    assert input_limit(parse_spec("openai:gpt-4.1")) == 32_768


def test_an_open_model_says_it_in_its_profile():
    assert input_limit(ChatOpenAI(model="m", api_key="k", profile={"max_input_tokens": 77})) == 77
    assert input_limit(FakeListChatModel(responses=[""])) == 32_768


@pytest.mark.parametrize(
    ("keys", "budget"),
    [
        ({}, Budget(1792, 256)),
        ({"max_tokens": 2048}, Budget(1024, 2048)),
        ({"max_input_tokens": 3000}, Budget(3000, 256)),
        ({"max_input_tokens": 3000, "max_tokens": 100}, Budget(3000, 100)),
    ],
)
def test_prompt_and_completion_share_the_context(keys, budget):
    found = budget_of(parse_spec({"provider": "embedded", "name": "smollm2-135m", **keys}))
    assert found == budget
    assert found.context_tokens == budget.max_input_tokens + budget.max_tokens


@pytest.mark.parametrize("text", ["", "a", "word " * 100, "Grüße aus Köln", "日本語の文章です"])
def test_tokens_are_estimated_from_bytes(text):
    assert estimate_tokens(text) == math.ceil(len(text.encode()) / 3.5)


def test_a_seed_is_offered_where_the_class_declares_one():
    assert supports_seed(ChatOpenAI(model="m", api_key="k"))
    assert not supports_seed(FakeListChatModel(responses=[""]))


def test_importing_the_package_loads_no_framework():
    heavy = "{'langchain_core', 'langchain', 'langchain_openai', 'openai', 'xllamacpp', 'pydantic', 'numpy'}"
    program = f"import sys, aligngraph.models; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_can_be_imported_and_no_other():
    assert all(getattr(models, name) for name in models.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = models.nothing
