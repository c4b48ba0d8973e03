"""What a change of the sums would come to: shown first, then asked about."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from aligngraph.cli.rendering import console, shown
from aligngraph.errors import UsageError
from aligngraph.persistence import ArmSums, Difference
from aligngraph.policy import competence

HEADINGS = ("domain", "arm", "made of", "tasks", "competence", "failures")


def describe_differences(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """Return the differences in plain JSON types."""
    return [asdict(difference) for difference in differences]


def print_differences(differences: Sequence[Difference], screen: Console) -> None:
    """Print a row for each arm whose sums change, before and after."""
    if not differences:
        screen.print("no difference")
        return
    table = Table(title="before -> after", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:3] else "right", overflow="fold")
    for one in differences:
        cells = (_change(one, _tasks), _change(one, _competence), _change(one, _failures))
        table.add_row(shown(one.domain), shown(one.arm), shown(one.made_of), *cells)
    screen.print(table)


def agree(differences: Sequence[Difference], *, yes: bool, question: str) -> bool:
    """Return whether a person, or `--yes`, wants the change; it is shown before.

    Raises:
        UsageError: there is nobody to ask.
    """
    screen = console()
    print_differences(differences, screen)
    if not differences:
        return False
    if yes:
        return True
    if not sys.stdin or not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: nothing was changed; --yes changes it without a question")
    return typer.confirm(question)


def print_json(value: object) -> None:
    """Print one JSON value."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _change(one: Difference, show: Callable[[ArmSums], str]) -> str:
    before, after = ("-" if sums is None else show(sums) for sums in (one.before, one.after))
    return before if before == after else f"{before} -> {after}"


def _tasks(sums: ArmSums) -> str:
    return f"{sums.count:.6g}"


def _competence(sums: ArmSums) -> str:
    return f"{float(competence(min(sums.total, sums.count), sums.count)):.3f}" if sums.kind == "agent" else "-"


def _failures(sums: ArmSums) -> str:
    return str(sums.failures)
