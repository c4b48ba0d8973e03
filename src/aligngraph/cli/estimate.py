"""`aligngraph ask --estimate`: who would be asked, how often, and what that may cost. No model is asked."""

import asyncio

from rich.console import Console
from rich.table import Table

from aligngraph.cli.rendering import console, shown, visible
from aligngraph.estimation import Amount, Cap, Estimate, estimate
from aligngraph.persistence import Location, PolicyStore
from aligngraph.team import Team

HEADINGS = ("samples", "calls", "prompt tokens", "completion tokens", "cost")
UNKNOWN = "?"
_REACHED = {True: "[yellow]may be reached[/]", False: "is not reached", None: "may be reached or not"}


def print_estimate(task: str, *, team: str | None, db: str | None, as_json: bool) -> None:
    """Print the plan of one task with its expected and its greatest cost.

    Raises:
        UsageError: the task, the team file or the database cannot be used.
    """
    found = asyncio.run(_estimate(task, Team.load(team), db))
    if as_json:
        print(found.model_dump_json(indent=2))
        return
    _print(found, console())


async def _estimate(task: str, team: Team, db: str | None) -> Estimate:
    async with await PolicyStore.open(Location.find(db)) as store:
        return await estimate(team, store, task)


def _print(found: Estimate, screen: Console) -> None:
    for problem in found.problems:
        screen.print(f"[yellow]![/] {shown(problem)}")
    screen.print(_plan(found))
    for cap in found.caps:
        screen.print(_cap(cap))
    for line in found.assumed:
        screen.print(f"- {visible(line)}", style="dim", markup=False, highlight=False)


def _plan(found: Estimate) -> Table:
    rounds = f"{found.rounds} round{'' if found.rounds == 1 else 's'} at most"
    expected = "expected or less" if found.at_most else "expected"
    table = Table(title=f"{rounds}; {expected} (at most)", title_justify="left")
    for heading in ("who", "how", "model"):
        table.add_column(heading, overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", overflow="fold")  # a figure without its end is another figure
    for line in found.lines:
        who = map(shown, (line.role, line.method, line.model))
        table.add_row(*who, *_cells(line.expected, line.most))
    table.add_section()
    table.add_row("total", "", "", *_cells(found.expected, found.most))
    return table


def _cells(expected: Amount, most: Amount) -> list[str]:
    """Return every figure as it is expected, and at most in brackets where that is more."""
    pairs = zip(_figures(expected), _figures(most), strict=True)
    return [one if one == other else f"{one} ({other})" for one, other in pairs]


def _figures(amount: Amount) -> tuple[str, ...]:
    counts = (amount.calls, amount.prompt_tokens, amount.completion_tokens)
    samples = "" if amount.samples is None else f"{amount.samples:,}"
    return (samples, *(f"{count:,}" for count in counts), UNKNOWN if amount.cost is None else f"{amount.cost:.4f}")


def _cap(cap: Cap) -> str:
    worst = "which is not known beforehand" if cap.most is None else f"the worst case is {cap.most:,.10g}"
    return f"budget.{cap.name} = {cap.limit:g} {_REACHED[cap.may_be_reached]}: {worst}"
