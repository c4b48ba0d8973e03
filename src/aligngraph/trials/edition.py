"""What the results of a trial depend on beside what was asked for: the version and the prompts."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable


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
    texts = sorted(_texts(files("aligngraph.prompts"), ""))
    return sha256(repr(texts).encode()).hexdigest()[:12]


def _texts(folder: Traversable, place: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every prompt in a folder and the folders in it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry, f"{place}{entry.name}/")
        elif entry.name.endswith(".md"):
            yield f"{place}{entry.name}", entry.read_text(encoding="utf-8")
