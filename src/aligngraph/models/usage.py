"""The tokens of one call, as the provider counted them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

MOST_TOKENS = 10**12  # of one call; a server that reports more, or less than none, has counted nothing


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of the prompt and of the completion."""

    prompt: int
    completion: int


def usage_of(message: "AIMessage") -> TokenCounts:
    """Return the tokens of the call that gave `message`; 0 where the provider reports none, or what cannot be."""
    counted = message.usage_metadata
    return (
        TokenCounts(_sane(counted["input_tokens"]), _sane(counted["output_tokens"])) if counted else TokenCounts(0, 0)
    )


def _sane(count: object) -> int:
    return int(count) if isinstance(count, int | float) and 0 <= count <= MOST_TOKENS else 0
