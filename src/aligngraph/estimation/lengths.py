"""How long replies are: what earlier ones were, what a model's settings allow, and what stands for either where it is unknown."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aligngraph.calling.meter import COMPLETION_LIMITS, COMPLETION_TOKENS
from aligngraph.models import ModelSpec
from aligngraph.models.embedded import budget_of
from aligngraph.nodes.spending import as_spending
from aligngraph.roles import Model

EXPECTED_COMPLETION = 256


@dataclass(frozen=True)
class Length:
    """Tokens of one reply.

    Attributes:
        expected: the mean of earlier replies, or a guess.
        most: what the model's settings allow, or else what a budget sets aside.
        limited: whether the settings limit it at all.
        seen: earlier candidates that `expected` is the mean of; 0 for a guess.
    """

    expected: int
    most: int
    limited: bool
    seen: int = 0


def length_of(model: Model, used: Iterable[Mapping[str, Any]] = (), guess: int = EXPECTED_COMPLETION) -> Length:
    """Return how long one reply of `model` is.

    Args:
        model: who replies.
        used: what earlier candidates used; those that asked nobody, or whose tokens nobody counted, say nothing.
        guess: what is expected where they all say nothing.
    """
    known = [spent for spent in map(as_spending, used) if spent.calls and spent.completion]
    calls = sum(spent.calls for spent in known)
    mean = math.ceil(sum(spent.completion for spent in known) / calls) if calls else guess
    limit = longest_reply(model)
    expected = mean if limit is None else min(mean, limit)
    return Length(expected, limit or max(COMPLETION_TOKENS, expected), limit is not None, len(known))


def longest_reply(model: Model) -> int | None:
    """Return the most tokens that the settings of `model` let it reply with, None where they do not say."""
    if isinstance(model, ModelSpec):
        return budget_of(model).max_tokens if model.provider == "embedded" else model.max_tokens
    limits = (getattr(model, name, None) for name in COMPLETION_LIMITS)
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)
