from aligngraph.models import TokenCounts
from aligngraph.nodes.spending import NO_USAGE, NOTHING, add_usage, price_usage
from aligngraph.roles import Price


def test_a_price_is_per_million_tokens():
    usage = price_usage(TokenCounts(prompt=1_000_000, completion=500_000), Price(prompt=0.4, completion=1.6))
    assert usage == {"calls": 1, "prompt_tokens": 1_000_000, "completion_tokens": 500_000, "cost": 1.2}


def test_an_unknown_price_is_none_and_never_zero():
    unknown = price_usage(TokenCounts(prompt=10, completion=5), None)
    known = price_usage(TokenCounts(prompt=10, completion=5), Price(prompt=1, completion=1))
    assert unknown["cost"] is None
    assert add_usage([known, unknown]) == {"calls": 2, "prompt_tokens": 20, "completion_tokens": 10, "cost": None}


def test_nothing_spent_costs_nothing():
    assert add_usage([]) == NOTHING
    assert NOTHING["cost"] == 0.0


def test_a_failed_call_is_a_call():
    assert add_usage([NO_USAGE])["calls"] == 1
