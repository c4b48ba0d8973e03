"""What rankings cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from aligngraph.models import TokenCounts
from aligngraph.ranking import RankingCall

NOTHING = TokenCounts(0, 0)


@dataclass(frozen=True)
class Cost:
    """Calls, whoever was called, and the tokens of those that a language model answered."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    @classmethod
    def of(cls, calls: Iterable[RankingCall]) -> "Cost":
        """Return what the calls cost together."""
        calls = list(calls)
        asked, used = sum(call.asked for call in calls), [call.usage or NOTHING for call in calls]
        return cls(asked, sum(tokens.prompt for tokens in used), sum(tokens.completion for tokens in used))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.calls + other.calls, self.prompt + other.prompt, self.completion + other.completion)
