"""Who spent what in a run."""

from aligngraph.decision import Decision, Usage
from aligngraph.report.document import Section, Table
from aligngraph.report.escaping import harmless
from aligngraph.report.wording import NOTHING

_HEADINGS = (
    "who",
    "calls",
    "prompt tokens",
    "of them cached",
    "completion tokens",
    "calls with estimated tokens",
    "cost",
)


def describe_usage(decision: Decision) -> Section:
    """Return the calls, tokens and money of every agent, the principal and all together."""
    spent = decision.usage
    rows = [_row(harmless(agent), usage) for agent, usage in spent.agents.items()]
    rows += [_row("principal", spent.principal), _row("total", spent.total)]
    notes = []
    if spent.total.cost is None:
        notes.append("The total cost is not known: the price of a model that was asked is not.")
    if decision.stopped is not None:
        notes.append(f"{decision.stopped.skipped_samples} samples were not asked for ({decision.stopped.reason}).")
    return Section(
        "usage", "Usage", tuple(notes), (Table.of("Calls and tokens as the providers counted them", _HEADINGS, rows),)
    )


def _row(name: str, usage: Usage) -> tuple[str, ...]:
    counts = (usage.calls, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.estimated_calls)
    cost = NOTHING if usage.cost is None else f"{usage.cost:.4f}"
    return (name, *(f"{count:,}" for count in counts), cost)
