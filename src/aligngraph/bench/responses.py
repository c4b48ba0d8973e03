"""From a fault and the texts of a reply to the bytes of an HTTP response."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from math import ceil
from typing import Any

from aligngraph.bench.completions import DONE, Completion, as_json, count_prompt_tokens, events_of
from aligngraph.bench.faults import KNOWN_PARAMETERS, Fault, RetryAfter, error_body

_EVENTS = "text/event-stream"
_JSON = "application/json"


@dataclass(frozen=True)
class Response:
    """One response, not yet sent.

    Attributes:
        parts: the body; more than one are sent in chunks, whose end a client can tell from a cut.
        retry_after: headers that say when to come back.
        completion: what is in the body; None where it holds no completion.
        shows_texts: whether a client finds all texts in it.
    """

    status: int
    content_type: str
    parts: tuple[bytes, ...]
    retry_after: Mapping[str, str] = field(default_factory=dict)
    completion: Completion | None = None
    shows_texts: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether it is sent in chunks."""
        return self.content_type == _EVENTS

    @property
    def wire(self) -> bytes:
        """All that goes over the line."""
        body = b"".join(self.parts)
        length = {"Transfer-Encoding": "chunked"} if self.is_stream else {"Content-Length": str(len(body))}
        headers = {
            "Date": formatdate(usegmt=True),
            "Content-Type": self.content_type,
            "Connection": "close",
            **length,
            **self.retry_after,
        }
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*self.parts, b"")) if self.is_stream else body
        return "\r\n".join([*lines, "", ""]).encode("ascii") + sent


def compose(parameters: Mapping[str, Any], fault: Fault, texts: Sequence[str], *, retry_after_s: float) -> Response:
    """Return the response to a request, wrong as `fault` says; without a text, one that is all fault.

    `retry_after_s` is when to come back, where the fault says so.
    """
    if fault.strict and (unknown := sorted(parameters.keys() - KNOWN_PARAMETERS)):
        message = f"Unrecognized request argument supplied: {', '.join(unknown)}"
        return Response(400, _JSON, (error_body("invalid_request_error", message),))
    if fault.body is not None or not texts:
        return _compose_without_texts(parameters, fault, _headers(fault.retry_after, retry_after_s))
    completion = Completion(str(parameters["model"]), tuple(texts), count_prompt_tokens(parameters["messages"]))
    body = completion.as_body()
    altered = fault.alter(body) if fault.alter else body
    parts = _parts(parameters, altered)
    if fault.cut == "early":
        parts = parts[: len(parts) // 2] if len(parts) > 1 else (parts[0][: len(parts[0]) // 2],)
    shows_texts = altered.get("choices") == body["choices"] and fault.cut is None
    return Response(fault.status, _type(parameters), parts, completion=completion, shows_texts=shows_texts)


def needs_texts(parameters: Mapping[str, Any], fault: Fault) -> int:
    """Return how many texts the response to this request holds; 0 where it is all fault."""
    if fault.body is not None or (fault.strict and parameters.keys() - KNOWN_PARAMETERS):
        return 0
    return 1 if fault.one_choice else int(parameters.get("n") or 1)


def _compose_without_texts(parameters: Mapping[str, Any], fault: Fault, retry_after: Mapping[str, str]) -> Response:
    body = fault.body or b""
    if parameters.get("stream") and fault.status == HTTPStatus.OK and fault.content_type == _JSON:
        return Response(fault.status, _EVENTS, (b"data: " + body + b"\n\n",) if body else ())
    return Response(fault.status, fault.content_type, (body,), retry_after)


def _type(parameters: Mapping[str, Any]) -> str:
    return _EVENTS if parameters.get("stream") else _JSON


def _parts(parameters: Mapping[str, Any], body: dict[str, Any]) -> tuple[bytes, ...]:
    if not parameters.get("stream"):
        return (as_json(body),)
    with_usage = bool((parameters.get("stream_options") or {}).get("include_usage"))
    return (*events_of(body, with_usage=with_usage), DONE)


def _headers(form: RetryAfter | None, wait_s: float) -> dict[str, str]:
    match form:
        case "seconds":
            return {"Retry-After": f"{wait_s:g}"}
        case "milliseconds":
            return {"Retry-After-Ms": f"{wait_s * 1000:g}"}
        case "date":
            return {"Retry-After": formatdate(ceil(time.time() + wait_s), usegmt=True)}
        case "nonsense":
            return {"Retry-After": "soon"}
    return {}
