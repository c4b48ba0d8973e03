"""What can be wrong with a reply: every fault by its name, and which request meets which."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from aligngraph.randomness import generator

Pace = Literal["at once", "slow", "hang", "stall", "drip"]
Cut = Literal["before", "inside", "early"]
RetryAfter = Literal["seconds", "milliseconds", "date", "nonsense"]
FAULT_PREFIX = "fault-"
KNOWN_PARAMETERS = frozenset({"model", "messages", "stream", "temperature", "max_tokens"})  # of a strict server
_HTML = b"<html><body><h1>Bad gateway</h1></body></html>"


@dataclass(frozen=True)
class Fault:
    """What is wrong with one reply; a fault without anything is an ordinary reply.

    Attributes:
        status: of the HTTP reply.
        body: what is sent in place of a completion; None for a completion.
        content_type: of `body`.
        retry_after: the form in which the server says when to come back; None where it does not.
        pace: "slow" begins late, "hang" never, "stall" stops half-way without closing, "drip" sends byte after byte.
        cut: the connection is closed "before" the reply or "inside" its body; "early" ends half a body in due form.
        alter: what becomes of the completion's body.
        one_choice: answers one choice however many were asked for.
        strict: refuses every parameter not in KNOWN_PARAMETERS.
    """

    status: int = 200
    body: bytes | None = None
    content_type: str = "application/json"
    retry_after: RetryAfter | None = None
    pace: Pace = "at once"
    cut: Cut | None = None
    alter: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    one_choice: bool = False
    strict: bool = False


@dataclass(frozen=True)
class FaultSchedule:
    """Draws the fault of each request: the same for the same model, prompt and number of the try, in whatever order.

    Attributes:
        seed: of all draws.
        shares: the share of requests in [0, 1] for each fault by name; together at most 1, the rest is ordinary.
    """

    seed: int
    shares: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse unknown faults and shares that cannot be.

        Raises:
            ValueError: there is no such fault, or the shares are negative or over 1 together.
        """
        for name, share in self.shares.items():
            fault_named(name)
            if not share >= 0:
                raise ValueError(f"fault {name!r} has the share {share!r}; a share is in [0, 1]")
        if sum(self.shares.values()) > 1 + 1e-9:  # a sum of tenths may be a little over
            raise ValueError(f"the shares are {sum(self.shares.values())!r} together; that is at most 1")

    def draw(self, model: str, prompt: str, number: int) -> str | None:
        """Return the name of the fault that the try `number` (from 0) of this prompt meets; None for none."""
        point = generator(self.seed, "fault", model, prompt, number).random()
        for name, share in self.shares.items():
            point -= share
            if point < 0:
                return name
        return None


def fault_named(name: str) -> Fault:
    """Return the fault of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; known are {', '.join(FAULTS)}")
    return FAULTS[name]


def _refusal(status: int, code: str, message: str, retry_after: RetryAfter | None = None) -> Fault:
    return Fault(status, error_body(code, message), retry_after=retry_after)


def error_body(code: str | int, message: str) -> bytes:
    """Return an error in the form that OpenAI gives it."""
    return json.dumps({"error": {"message": message, "type": str(code), "code": code, "param": None}}).encode()


def _with_content(text: str | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def alter(body: dict[str, Any]) -> dict[str, Any]:
        choices = [{**choice, "message": {**choice["message"], "content": text}} for choice in body["choices"]]
        return {**body, "choices": choices}

    return alter


def _with_tokens(prompt: float, completion: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return lambda body: {**body, "usage": usage}


def _without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {name: value for name, value in body.items() if name != key}


def _with(**values: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {**body, **values}


_OUT_OF_MONEY = "You exceeded your current quota, please check your plan and billing details."
_OVERLOADED = "The server is overloaded."
FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "400": _refusal(400, "invalid_request_error", "This request is wrong."),
        "401": _refusal(401, "invalid_api_key", "Incorrect API key provided."),
        "402": _refusal(402, "insufficient_balance", "Insufficient balance."),
        "403": _refusal(403, "permission_denied", "You may not use this model."),
        "404": _refusal(404, "model_not_found", "There is no such model."),
        "408": _refusal(408, "timeout", "The request took too long."),
        "409": _refusal(409, "conflict", "Another request holds the lock."),
        "413": Fault(413, _HTML, "text/html"),
        "422": _refusal(422, "unprocessable_entity", "This request cannot be processed."),
        "429": _refusal(429, "rate_limit_exceeded", "Rate limit reached."),
        "429-seconds": _refusal(429, "rate_limit_exceeded", "Rate limit reached.", "seconds"),
        "429-milliseconds": _refusal(429, "rate_limit_exceeded", "Rate limit reached.", "milliseconds"),
        "429-date": _refusal(429, "rate_limit_exceeded", "Rate limit reached.", "date"),
        "429-nonsense": _refusal(429, "rate_limit_exceeded", "Rate limit reached.", "nonsense"),
        "429-quota": _refusal(429, "insufficient_quota", _OUT_OF_MONEY),
        "500": _refusal(500, "server_error", "The server had an error."),
        "501": _refusal(501, "not_implemented", "This is not implemented."),
        "502-html": Fault(502, _HTML, "text/html"),
        "503": _refusal(503, "service_unavailable", _OVERLOADED),
        "503-seconds": _refusal(503, "service_unavailable", _OVERLOADED, "seconds"),
        "slow": Fault(pace="slow"),
        "hang": Fault(pace="hang"),
        "stall": Fault(pace="stall"),
        "drip": Fault(pace="drip"),
        "cut-before": Fault(cut="before"),
        "cut-inside": Fault(cut="inside"),
        "cut-early": Fault(cut="early"),
        "garbage-json": Fault(body=b'{"id": "chatcmpl-1", "choices": [{"ind'),
        "html-200": Fault(body=_HTML, content_type="text/html"),
        "empty-body": Fault(body=b""),
        "error-200": Fault(body=error_body(502, "Provider returned an error.")),
        "error-200-quota": Fault(body=error_body("insufficient_quota", _OUT_OF_MONEY)),
        "no-choices": Fault(alter=_without("choices")),
        "null-choices": Fault(alter=_with(choices=None)),
        "empty-choices": Fault(alter=_with(choices=[])),
        "empty-content": Fault(alter=_with_content("")),
        "null-content": Fault(alter=_with_content(None)),
        "surrogate": Fault(alter=_with_content("It is \ud83d then.\nAnswer: 42")),
        "usage-negative": Fault(alter=_with_tokens(-5, -7)),
        "usage-absurd": Fault(alter=_with_tokens(10**30, 10**30)),
        "usage-absent": Fault(alter=_without("usage")),
        "ignores-n": Fault(one_choice=True),
        "strict": Fault(strict=True),
    }
)
