"""The tokens of one call, as the provider counted them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

MOST_TOKENS = 10**12  # of one call; a server that reports more, or less than none, has counted nothing


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of the prompt and of the completion; `cached` of the prompt's were read from the provider's cache."""

    prompt: int
    completion: int
    cached: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


def usage_of(message: "AIMessage") -> TokenCounts:
    """Return the tokens of the call that gave `message`; 0 where the provider reports none, or what cannot be."""
    return counted_by_provider(message) or TokenCounts(0, 0)


def counted_by_provider(message: "AIMessage") -> TokenCounts | None:
    """Return the tokens of the call that gave `message`; None where the provider reports none, or what cannot be."""
    reported = message.usage_metadata
    if not reported:
        return None
    prompt, completion = _sane(reported.get("input_tokens")), _sane(reported.get("output_tokens"))
    if prompt is None or completion is None:
        return None
    cached = _sane((reported.get("input_token_details") or {}).get("cache_read", 0)) or 0
    return TokenCounts(prompt, completion, min(cached, prompt))


def _sane(count: object) -> int | None:
    return int(count) if isinstance(count, int | float) and 0 <= count <= MOST_TOKENS else None
