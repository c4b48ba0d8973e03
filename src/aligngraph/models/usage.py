"""The tokens of one call, as the provider counted them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of the prompt and of the completion."""

    prompt: int
    completion: int


def usage_of(message: "AIMessage") -> TokenCounts:
    """Return the tokens of the call that gave `message`; zeros where the provider reports none."""
    counted = message.usage_metadata
    return TokenCounts(counted["input_tokens"], counted["output_tokens"]) if counted else TokenCounts(0, 0)
