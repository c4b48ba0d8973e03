"""Every text that a model is shown, a Markdown file each.

A file whose name is a strategy (`STRATEGIES`) tells an agent how to work; the others belong to a role of the graph.
`{name}` marks a variable, `{{` and `}}` stand for braces.
"""

from importlib.resources import files
from string import Formatter

STRATEGIES = ("step_by_step", "direct", "plan_then_solve")

# Read once, at import: a file read inside a node would block the event loop of a server.
_TEXTS = {
    entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8").strip()
    for entry in files("aligngraph.prompts").iterdir()
    if entry.name.endswith(".md")
}


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
