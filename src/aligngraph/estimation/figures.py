"""The figures of an estimate, all of them plain JSON."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from aligngraph.calling.spending import PriceOf, Spending, total
from aligngraph.models import TokenCounts

CapName = Literal["samples", "calls", "tokens", "money", "seconds"]


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Amount(_Figures):
    """How much is asked.

    Attributes:
        samples: candidates; None for those who propose none.
        cost: in the unit of the prices; None where one of them is unknown.
    """

    samples: int | None = None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class EstimateLine(_Figures):
    """What one member of the team is asked.

    Attributes:
        role: an agent's name, "principal" for each judge of its panel, or "answers.judge".
        method: an agent's strategies, a judge's ranker.
        model: its label.
        expected: what is likely, as the estimate's `assumed` says.
        most: the worst case.
    """

    role: str
    method: str
    model: str
    expected: Amount
    most: Amount


class Cap(_Figures):
    """A cap of the team's budget.

    Attributes:
        name: its key in the team file.
        limit: its value.
        most: what the worst case comes to; None where that is not known beforehand.
        may_be_reached: whether the worst case goes beyond it; None where that is not known beforehand.
    """

    name: CapName
    limit: float
    most: float | None
    may_be_reached: bool | None


class Estimate(_Figures):
    """What one task asks of a team.

    Attributes:
        rounds: the most there may be.
        lines: by member of the team.
        expected: of all lines together.
        at_most: whether `expected` is likely to be too high, since the run may stop asking early or finds kept replies.
        most: the worst case of all lines together; caps of the budget are not applied to it.
        caps: of the budget; samples are counted as it allows them.
        assumed: what the figures rest on, in words.
        problems: why the task cannot be asked as the team stands, in words.
    """

    rounds: int
    lines: tuple[EstimateLine, ...]
    expected: Amount
    at_most: bool
    most: Amount
    caps: tuple[Cap, ...]
    assumed: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """So many calls of one size, in tokens."""

    times: int
    prompt: int
    completion: int

    def spending(self, price: PriceOf | None) -> Spending:
        """Return what the calls use; each is priced by itself, since long prompts may have a price of their own."""
        if not self.times:
            return Spending()
        each = Spending.of_call(TokenCounts(self.prompt, self.completion), price)
        cost = None if each.cost is None else self.times * each.cost
        return Spending(self.times, self.times * self.prompt, self.times * self.completion, cost=cost)


def amount_of(asked: Iterable[Asked], price: PriceOf | None, samples: int | None = None) -> Amount:
    """Return what the calls come to; their cost is None where the price is, and there are any."""
    spent = total(one.spending(price) for one in asked)
    return Amount(
        samples=samples,
        calls=spent.calls,
        prompt_tokens=spent.prompt,
        completion_tokens=spent.completion,
        cost=spent.cost,
    )


def sum_of(amounts: Iterable[Amount]) -> Amount:
    """Return all amounts together; their cost is None as soon as one is."""
    given = list(amounts)
    costs = [amount.cost for amount in given]
    return Amount(
        samples=sum(amount.samples or 0 for amount in given),
        calls=sum(amount.calls for amount in given),
        prompt_tokens=sum(amount.prompt_tokens for amount in given),
        completion_tokens=sum(amount.completion_tokens for amount in given),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def larger(one: Amount, other: Amount) -> Amount:
    """Return the larger figure of each kind."""
    costs = (one.cost, other.cost)
    return Amount(
        samples=one.samples,
        calls=max(one.calls, other.calls),
        prompt_tokens=max(one.prompt_tokens, other.prompt_tokens),
        completion_tokens=max(one.completion_tokens, other.completion_tokens),
        cost=None if None in costs else max(cost for cost in costs if cost is not None),
    )
