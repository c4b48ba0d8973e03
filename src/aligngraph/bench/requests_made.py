"""From a server's log and the decisions to what became of every request."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aligngraph.bench.call_log import Call
from aligngraph.bench.faulty_team import JUDGE, Sum
from aligngraph.decision import Decision, Usage
from aligngraph.randomness import sampling_seed

End = Literal["used", "repeated", "lost"]
ENDS: tuple[End, ...] = ("used", "repeated", "lost")
UNREADABLE = frozenset({"cut-early", "no-choices", "null-choices"})  # though tokens were served
UNTOLD = frozenset({"usage-negative", "usage-absurd", "usage-absent", "empty-choices"})  # we estimate them
_HEARD = frozenset({"ranked", "abstained"})


@dataclass(frozen=True)
class Work:
    """A sample or a ranking, and the requests that were made for it, one after the other.

    Attributes:
        requests: in their order, at least one.
        kept: whether the reply to the last is in a stored candidate or verdict.
        usage: of the work as we counted it; None where the task ended without an audit.
    """

    requests: tuple[Call, ...]
    kept: bool
    usage: Usage | None

    @property
    def ends(self) -> Iterator[tuple[Call, End]]:
        """Every request, and whether its reply was used, it was made again, or the work ended with it and without one."""
        for request in self.requests[:-1]:
            yield request, "repeated"
        yield self.requests[-1], "used" if self.kept else "lost"

    @property
    def tokens_wasted(self) -> int:
        """Tokens that the server gave for nothing."""
        return sum(tokens_of(request) for request, end in self.ends if end != "used")

    @property
    def tokens_unread(self) -> int:
        """Tokens of replies that no client can read, and so nobody can count."""
        return sum(tokens_of(request) for request in self.requests if request.fault in UNREADABLE)

    @property
    def is_miscounted(self) -> bool:
        """Whether we counted other calls than the server, or other tokens than it told us in replies that can be read."""
        if self.usage is None or any(request.fault in UNTOLD for request in self.requests):
            return False
        told = sum(map(tokens_of, self.requests)) - self.tokens_unread
        counted = self.usage.prompt_tokens + self.usage.completion_tokens
        return (counted, self.usage.calls) != (told, len(self.requests))


def tokens_of(request: Call) -> int:
    """Return the tokens that the server gave for a request."""
    return request.prompt_tokens + request.completion_tokens


def works_of(requests: Iterable[Call], decisions: Mapping[int, Decision]) -> list[Work]:
    """Return all samples and rankings for which requests were made.

    Args:
        requests: of whole tasks, in the order in which they came.
        decisions: by the number of the task; those are missing that ended without an audit.
    """
    by_work: defaultdict[tuple[int, str, Any], list[Call]] = defaultdict(list)
    for request in requests:
        task = Sum.among(request.parameters["messages"])
        by_work[task.number, request.model, request.parameters.get("seed")].append(request)
    return [_work(tuple(made), model, seed, decisions.get(number)) for (number, model, seed), made in by_work.items()]


def ends_by_fault(works: Iterable[Work]) -> dict[str, Counter[End]]:
    """Return how many requests ended how, by the fault that they met."""
    counts: defaultdict[str, Counter[End]] = defaultdict(Counter)
    for work in works:
        for request, end in work.ends:
            if request.fault:
                counts[request.fault][end] += 1
    return dict(sorted(counts.items()))


def _work(requests: tuple[Call, ...], model: str, seed: object, decision: Decision | None) -> Work:
    if decision is None:
        return Work(requests, kept=False, usage=None)
    if model == JUDGE:
        calls = decision.ranking.calls if decision.ranking else []
        kept = bool(calls) and calls[-1]["outcome"] in _HEARD
        return Work(requests, kept, decision.usage.principal)
    for candidate in decision.candidates:
        drawn = sampling_seed(decision.seed, candidate.round, candidate.agent, candidate.sample)
        if (candidate.agent, drawn) == (model, seed):
            return Work(requests, candidate.answer is not None, candidate.usage)
    raise LookupError(f"no candidate of {decision.run_id} was drawn from {model} with the seed {seed!r}")
