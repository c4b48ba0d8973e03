"""Every text that a model is shown, a Markdown file each.

The files in `strategies` tell an agent how to work, and what is in them is aligngraph.strategies' business. The others
belong to a role of the graph: in them `{name}` marks a variable, `{{` and `}}` stand for braces.
"""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Formatter
from types import MappingProxyType


def _read(folder: Traversable) -> dict[str, str]:
    return {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8").strip()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".md")
    }


# Read once, at import: a file read inside a node would block the event loop of a server.
_TEXTS = _read(files("aligngraph.prompts"))
# The file of every built-in strategy by its name, as it stands.
STRATEGIES: Mapping[str, str] = MappingProxyType(_read(files("aligngraph.prompts") / "strategies"))


def render(name: str, /, **variables: str) -> str:
    """Return the prompt `name` with its variables filled in.

    Raises:
        KeyError: no prompt has this name.
        ValueError: a variable of the prompt is missing, or one was given that it does not have.
    """
    template = _TEXTS[name]
    wanted = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
    if wanted != variables.keys():
        missing, extra = sorted(wanted - variables.keys()), sorted(variables.keys() - wanted)
        raise ValueError(f"prompt {name!r}: missing variables {missing}, unknown variables {extra}")
    return template.format_map(variables)
