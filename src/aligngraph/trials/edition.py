"""What the results of a trial depend on beside what was asked for: the version and the prompts."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files


@dataclass(frozen=True)
class Edition:
    """The version of the package, and a digest of all its prompts: they may change between two versions."""

    aligngraph: str
    prompts: str

    @classmethod
    def current(cls) -> "Edition":
        """Return that of the package as it is installed."""
        return cls(version("aligngraph"), _digest_prompts())


@cache
def _digest_prompts() -> str:
    """Return twelve hexadecimal digits that change with the name or the text of any prompt."""
    prompts = [entry for entry in files("aligngraph.prompts").iterdir() if entry.name.endswith(".md")]
    texts = sorted((entry.name, entry.read_text(encoding="utf-8")) for entry in prompts)
    return sha256(repr(texts).encode()).hexdigest()[:12]
