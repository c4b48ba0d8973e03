import pytest

from aligngraph.calling.spending import Spending
from aligngraph.models import TokenCounts
from aligngraph.nodes.spending import NOTHING, add_usage, as_spending, as_usage
from aligngraph.roles import Price


def used(price, *, prompt=0, completion=0, cached=0):
    return as_usage(Spending.of_call(TokenCounts(prompt, completion, cached), price and price.cost))


def test_a_price_is_per_million_tokens():
    usage = used(Price(prompt=0.4, completion=1.6), prompt=1_000_000, completion=500_000)
    assert usage["cost"] == pytest.approx(1.2)
    assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (1, 1_000_000, 500_000)


def test_cached_tokens_cost_what_they_cost_and_as_much_as_others_where_nobody_says():
    tokens = {"prompt": 1_000_000, "cached": 750_000}
    assert used(Price(prompt=4, completion=8), **tokens)["cost"] == pytest.approx(4)
    told = used(Price(prompt=4, completion=8, cached=1), **tokens)
    assert told["cost"] == pytest.approx(1.75)
    assert told["cached_tokens"] == 750_000


def test_an_unknown_price_is_none_and_never_zero():
    unknown, known = used(None, prompt=10, completion=5), used(Price(prompt=1, completion=1), prompt=10, completion=5)
    assert unknown["cost"] is None
    total = add_usage([known, unknown])
    assert (total["calls"], total["prompt_tokens"], total["completion_tokens"], total["cost"]) == (2, 20, 10, None)


def test_nothing_spent_costs_nothing():
    assert add_usage([]) == NOTHING
    assert NOTHING["cost"] == 0.0


def test_usage_survives_the_state_and_what_an_earlier_version_wrote_is_read():
    usage = used(Price(prompt=1, completion=1, cached=0.5), prompt=7, completion=3, cached=2)
    assert as_usage(as_spending(usage)) == usage
    old = {"calls": 1, "prompt_tokens": 7, "completion_tokens": 3, "cost": None}
    assert as_spending(old) == Spending(calls=1, prompt=7, completion=3, cost=None)
