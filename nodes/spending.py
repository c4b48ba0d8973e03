"""What calls cost: counts as the provider gave them, money only where a price is known."""

from collections.abc import Iterable

from aligngraph.models import TokenCounts
from aligngraph.roles import Price
from aligngraph.state import Usage

NO_USAGE = Usage(calls=1, prompt_tokens=0, completion_tokens=0, cost=None)
NOTHING = Usage(calls=0, prompt_tokens=0, completion_tokens=0, cost=0.0)


def price_usage(counted: TokenCounts, price: Price | None) -> Usage:
    """Return the usage of one call; its cost is None where the price is unknown."""
    cost = None
    if price is not None:
        cost = (counted.prompt * price.prompt + counted.completion * price.completion) / 1e6
    return Usage(calls=1, prompt_tokens=counted.prompt, completion_tokens=counted.completion, cost=cost)


def add_usage(parts: Iterable[Usage]) -> Usage:
    """Return the sum of all parts; its cost is None as soon as one part's is."""
    total = NOTHING
    for part in parts:
        known = total["cost"] is not None and part["cost"] is not None
        total = Usage(
            calls=total["calls"] + part["calls"],
            prompt_tokens=total["prompt_tokens"] + part["prompt_tokens"],
            completion_tokens=total["completion_tokens"] + part["completion_tokens"],
            cost=(total["cost"] or 0) + (part["cost"] or 0) if known else None,
        )
    return total
