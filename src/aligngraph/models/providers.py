"""The providers that a model spec can name: what each is installed from, and the variables its key is read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_NO_KEY = "no-key-needed"  # clients insist on one; a local server reads none


@dataclass(frozen=True)
class Provider:
    """Where the chat model of a provider comes from.

    Attributes:
        package: the distribution to install.
        key_variables: environment variables of which one must hold the key; empty where a provider needs none, or has
            other ways to sign in (a cloud account, a profile file) that only its own client can check.
        without_key: settings with which the client sends none of the keys that it would find by itself.
    """

    package: str
    key_variables: tuple[str, ...] = ()
    without_key: Mapping[str, Any] = field(default_factory=lambda: {"api_key": _NO_KEY})


OWN_PROVIDERS = ("community", "embedded", "scripted")

PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("langchain-anthropic", ("ANTHROPIC_API_KEY",)),
    "anthropic_bedrock": Provider("langchain-aws"),
    "azure_ai": Provider("langchain-azure-ai"),
    "azure_openai": Provider("langchain-openai", ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_KEY")),
    "baseten": Provider("langchain-baseten", ("BASETEN_API_KEY",)),
    "bedrock": Provider("langchain-aws"),
    "bedrock_converse": Provider("langchain-aws"),
    "bedrock_mantle_anthropic": Provider("langchain-aws"),
    "bedrock_mantle_openai": Provider("langchain-aws"),
    "cohere": Provider("langchain-cohere", ("COHERE_API_KEY",)),
    "deepseek": Provider("langchain-deepseek", ("DEEPSEEK_API_KEY",)),
    "fireworks": Provider("langchain-fireworks", ("FIREWORKS_API_KEY",)),
    "google_anthropic_vertex": Provider("langchain-google-vertexai"),
    "google_genai": Provider("langchain-google-genai", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    "google_vertexai": Provider("langchain-google-vertexai"),
    "groq": Provider("langchain-groq", ("GROQ_API_KEY",)),
    "huggingface": Provider("langchain-huggingface"),
    "ibm": Provider("langchain-ibm"),
    "langsmith": Provider("langchain-openai", ("LANGSMITH_GATEWAY_API_KEY", "LANGSMITH_API_KEY")),
    "litellm": Provider("langchain-litellm"),
    "meta": Provider("langchain-meta"),
    "mistralai": Provider("langchain-mistralai", ("MISTRAL_API_KEY",)),
    "nvidia": Provider("langchain-nvidia-ai-endpoints"),
    "ollama": Provider(
        "langchain-ollama", without_key={"client_kwargs": {"headers": {"authorization": f"Bearer {_NO_KEY}"}}}
    ),
    "openai": Provider("langchain-openai", ("OPENAI_API_KEY",)),
    "openrouter": Provider("langchain-openrouter", ("OPENROUTER_API_KEY",)),
    "perplexity": Provider("langchain-perplexity", ("PPLX_API_KEY", "PERPLEXITY_API_KEY")),
    "together": Provider("langchain-together", ("TOGETHER_API_KEY",)),
    "upstage": Provider("langchain-upstage", ("UPSTAGE_API_KEY",)),
    "xai": Provider("langchain-xai", ("XAI_API_KEY",)),
}
