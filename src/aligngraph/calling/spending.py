"""What calls cost, whether it is expected of one that is still to be made or was counted by a provider."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aligngraph.models import TokenCounts

PriceOf = Callable[[TokenCounts], float]


@dataclass(frozen=True)
class Spending:
    """What a number of calls used.

    Attributes:
        calls: made, whether they brought a reply or not.
        prompt, completion: tokens.
        cached: those of the prompt that a provider read from its cache.
        estimated: calls whose tokens we estimated, since their provider counted none.
        cost: None as soon as the price of one call is unknown.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: int = 0
    cost: float | None = 0.0

    @classmethod
    def of_call(cls, counts: TokenCounts, price: PriceOf | None, *, estimated: bool = False) -> "Spending":
        """Return what one call used; its cost is None where the price is unknown."""
        cost = None if price is None else price(counts)
        return cls(1, counts.prompt, counts.completion, counts.cached, int(estimated), cost)

    @property
    def tokens(self) -> int:
        """Of prompt and completion."""
        return self.prompt + self.completion

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.estimated + other.estimated,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


NOTHING = Spending()


def total(parts: Iterable[Spending]) -> Spending:
    """Return the sum of all parts."""
    return sum(parts, NOTHING)
