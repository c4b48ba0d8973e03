"""Prices by the maintained table: a model that nobody lists has none, and never the price 0."""

import sys

import pytest

from aligngraph.models import ScriptedChatModel, TokenCounts, parse_spec
from aligngraph.models.pricing import listed_price
from aligngraph.models.script import Script

MILLION = 1_000_000
LISTED = [
    "openai:gpt-4.1-mini",
    "anthropic:claude-3-5-haiku-latest",
    "google_genai:gemini-2.5-flash",
    "mistralai:mistral-small-latest",
    "azure_openai:gpt-4o",
]


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_model_costs_something_for_every_kind_of_token(name):
    price = listed_price(parse_spec(name))
    prompt, completion = price(TokenCounts(MILLION, 0)), price(TokenCounts(0, MILLION))
    assert 0 < prompt <= completion
    assert price(TokenCounts(0, 0)) == 0.0
    assert 0 <= price(TokenCounts(MILLION, 0, MILLION)) <= prompt
    assert price(TokenCounts(1000, 1000)) == pytest.approx((prompt + completion) / 1000)


@pytest.mark.parametrize(
    "name", ["openai:no-such-model", "scripted:x.jsonl", "embedded:smollm2-135m", "ollama:llama3.2"]
)
def test_an_unknown_price_is_none(name):
    assert listed_price(parse_spec(name)) is None


def test_a_model_behind_a_server_of_one_s_own_is_none_that_a_table_knows():
    spec = {"provider": "openai", "name": "gpt-4.1", "base_url": "http://127.0.0.1:8100/v1"}
    assert listed_price(parse_spec(spec)) is None


def test_an_open_model_has_no_price_unless_the_team_says_so(tmp_path):
    assert listed_price(ScriptedChatModel(script=Script(tmp_path, {}))) is None


def test_without_the_table_installed_every_price_is_unknown(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert listed_price(parse_spec("openai:gpt-4.1-mini")) is None
