"""What a server saw: its calls, and which samples of a prompt have been answered."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Literal

Outcome = Literal["under way", "answered", "cut", "disconnected", "stopped"]


@dataclass
class Call:
    """One request and what became of it.

    Attributes:
        model: as the request names it.
        prompt: the text of the last message.
        number: how many requests of this model and prompt came before.
        parameters: the body of the request.
        started_s: by `time.monotonic`.
        fault: by name; None for an ordinary reply.
        ended_s: the same; None while it is under way.
        outcome: "cut" by the fault itself, "disconnected" by a client that went away, "stopped" with the server.
        prompt_tokens: of a completion that was sent to the end; else 0.
        completion_tokens: the same.
    """

    model: str
    prompt: str
    number: int
    parameters: dict[str, Any]
    started_s: float
    fault: str | None = None
    ended_s: float | None = None
    outcome: Outcome = "under way"
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class CallLog:
    """All calls in the order in which they came; written by one thread and read by any."""

    calls: list[Call] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def begin(self, parameters: dict[str, Any], now_s: float) -> Call:
        """Add a call and return it."""
        model, prompt = str(parameters["model"]), _text_of(parameters["messages"][-1])
        call = Call(model, prompt, len(self.calls_of(model, prompt)), parameters, now_s)
        with self.changed:
            self.calls.append(call)
            self.changed.notify_all()
        return call

    def end(self, call: Call, outcome: Outcome, now_s: float) -> None:
        """Write down how a call ended."""
        with self.changed:
            call.outcome, call.ended_s = outcome, now_s
            self.changed.notify_all()

    def calls_of(self, model: str | None = None, prompt: str | None = None) -> list[Call]:
        """Return the calls of a model, of a prompt, or of both."""
        return [call for call in self.calls if model in {None, call.model} and prompt in {None, call.prompt}]

    @property
    def disconnects(self) -> int:
        """Clients that went away while they were answered."""
        return sum(call.outcome == "disconnected" for call in self.calls)

    @property
    def prompt_tokens(self) -> int:
        """Tokens read for all completions that were sent to the end."""
        return sum(call.prompt_tokens for call in self.calls)

    @property
    def completion_tokens(self) -> int:
        """Tokens of all completions that were sent to the end."""
        return sum(call.completion_tokens for call in self.calls)

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Return whether `condition` came true in time; it is looked at whenever a call begins or ends."""
        with self.changed:
            return self.changed.wait_for(condition, timeout_s)


class Samples:
    """The numbers of the samples of each prompt: the lowest that are free are given out first."""

    def __init__(self) -> None:
        self._taken: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def take(self, call: Call, wanted: int) -> tuple[int, ...]:
        """Return `wanted` numbers, from 0, that no other call of this model and prompt holds."""
        taken = self._taken[call.model, call.prompt]
        numbers = tuple(islice((number for number in count() if number not in taken), wanted))
        taken.update(numbers)
        return numbers

    def give_back(self, call: Call, numbers: Iterable[int]) -> None:
        """Free the numbers of a call whose client has not got their texts."""
        self._taken[call.model, call.prompt].difference_update(numbers)


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else str(content or "")
