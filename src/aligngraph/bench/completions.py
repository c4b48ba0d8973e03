"""Chat completions as OpenAI's protocol has them, in one piece and as a stream of events."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Completion:
    """A reply with one text for each choice; a token is a word between blanks.

    Attributes:
        model: the name under which it was asked for.
        texts: one for each choice, at least one.
        prompt_tokens: of the messages.
    """

    model: str
    texts: tuple[str, ...]
    prompt_tokens: int

    @property
    def completion_tokens(self) -> int:
        """Of all choices together."""
        return sum(count_tokens(text) for text in self.texts)

    def as_body(self) -> dict[str, Any]:
        """Return the reply in one piece."""
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [
                {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                for index, text in enumerate(self.texts)
            ],
            "usage": {
                "prompt_tokens": self.prompt_tokens,
                "completion_tokens": self.completion_tokens,
                "total_tokens": self.prompt_tokens + self.completion_tokens,
            },
        }


def count_tokens(text: str) -> int:
    """Return the number of words."""
    return len(text.split())


def count_prompt_tokens(messages: Sequence[dict[str, Any]]) -> int:
    """Return the number of words in all messages whose content is a text."""
    return sum(count_tokens(message["content"]) for message in messages if isinstance(message.get("content"), str))


def as_json(body: object) -> bytes:
    """Return the body in ASCII: a lone surrogate, which UTF-8 cannot hold, goes as an escape."""
    return json.dumps(body).encode("ascii")


def as_event(body: object) -> bytes:
    """Return one server-sent event."""
    return b"data: " + as_json(body) + b"\n\n"


def events_of(body: dict[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    """Yield the events in which a reply in one piece is streamed, all but the last, `DONE`.

    Whatever is wrong with the reply is wrong with the events: choices that are absent or null, a usage that cannot be.
    """
    frame = {key: body[key] for key in ("id", "created", "model") if key in body} | {"object": "chat.completion.chunk"}
    if not body.get("choices"):
        yield as_event(frame | {key: body[key] for key in ("choices",) if key in body})
    for choice in body.get("choices") or ():
        for delta, finish_reason in _deltas(choice):
            piece = {"index": choice["index"], "delta": delta, "finish_reason": finish_reason}
            yield as_event({**frame, "choices": [piece]})
    if with_usage and "usage" in body:
        yield as_event({**frame, "choices": [], "usage": body["usage"]})


def _deltas(choice: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    content = choice["message"]["content"]
    yield {"role": "assistant", "content": content and ""}, None
    for number, word in enumerate((content or "").split(" ") if content else ()):
        yield {"content": f" {word}" if number else word}, None
    yield {}, choice["finish_reason"]
