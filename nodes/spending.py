"""What calls cost, in the form that the state keeps."""

from collections.abc import Iterable, Mapping
from typing import Any

from aligngraph.calling.spending import NOTHING as SPENT_NOTHING
from aligngraph.calling.spending import Spending, total
from aligngraph.state import Usage


def as_usage(spent: Spending) -> Usage:
    """Return the same as plain JSON."""
    return Usage(
        calls=spent.calls,
        prompt_tokens=spent.prompt,
        completion_tokens=spent.completion,
        cached_tokens=spent.cached,
        estimated_calls=spent.estimated,
        cost=spent.cost,
    )


def as_spending(usage: Mapping[str, Any]) -> Spending:
    """Return the same as a value; what an earlier version wrote may lack some of it."""
    return Spending(
        calls=usage.get("calls", 0),
        prompt=usage.get("prompt_tokens", 0),
        completion=usage.get("completion_tokens", 0),
        cached=usage.get("cached_tokens", 0),
        estimated=usage.get("estimated_calls", 0),
        cost=usage.get("cost"),
    )


NOTHING = as_usage(SPENT_NOTHING)


def add_usage(parts: Iterable[Mapping[str, Any]]) -> Usage:
    """Return the sum of all parts; its cost is None as soon as one part's is."""
    return as_usage(total(map(as_spending, parts)))
