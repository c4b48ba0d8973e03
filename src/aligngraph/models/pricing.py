"""What models cost: the maintained price table of genai-prices, where that is installed. An unknown price is None, never 0."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aligngraph.models.spec import ModelSpec
from aligngraph.models.usage import TokenCounts

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# Where LangChain's name of a provider is not the table's.
_PROVIDERS = {"google_genai": "google", "google_vertexai": "google", "azure_openai": "azure", "mistralai": "mistral"}


def listed_price(model: "ModelSpec | BaseChatModel") -> Callable[[TokenCounts], float] | None:
    """Return what a call of `model` costs in US dollars, by its tokens; None where no table says so.

    A model behind a server that the spec names is none that a table knows, whatever it is called.
    """
    if not isinstance(model, ModelSpec) or model.base_url is not None:
        return None
    try:
        import genai_prices  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    provider = _PROVIDERS.get(model.provider, model.provider)

    def cost(counts: TokenCounts) -> float:
        used = genai_prices.Usage(
            input_tokens=counts.prompt, cache_read_tokens=counts.cached, output_tokens=counts.completion
        )
        return float(genai_prices.calc_price(used, model_ref=model.name, provider_id=provider).total_price)

    try:
        cost(TokenCounts(1, 1))
    except LookupError:
        return None
    return cost
