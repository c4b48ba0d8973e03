"""`aligngraph bench resilience`: what a team makes of a server that fails, beside one that does not."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from aligngraph.bench.requests_made import ENDS
from aligngraph.bench.resilience import Resilience, Setting, measure_resilience
from aligngraph.cli.rendering import console, shown
from aligngraph.cli.trials import write_report


def try_resilience(setting: Setting, output: Path) -> None:
    """Print the figures with and without faults, what became of each fault, and write all of it to `output`.

    Raises:
        UsageError: the file cannot be written.
    """
    screen = console()
    screen.print(f"asking {setting.tasks} tasks twice ...", style="dim")
    measured = measure_resilience(setting)
    print_figures(measured, screen)
    print_faults(measured, screen)
    write_report(output, measured.as_json())
    screen.print(f"written to {shown(str(output))}", soft_wrap=True)


def print_figures(measured: Resilience, screen: Console) -> None:
    """Print a line for each figure."""
    table = Table("figure")
    for heading in ("no faults", f"{100 * measured.setting.fault_rate:g} % faults"):
        table.add_column(heading, justify="right")
    sound, faulty = measured.sound.figures(), measured.faulty.figures()
    for name, number in faulty.items():
        table.add_row(_spell(name), f"{sound[name]:g}", f"{number:g}")
    table.add_row("same answers", "", f"{measured.same_answers:g}")
    screen.print(table)
    for error, count in measured.errors.items():
        screen.print(f"{count} times {error}")


def print_faults(measured: Resilience, screen: Console) -> None:
    """Print a line for each fault: how many requests met it and what became of them."""
    table = Table("fault")
    for heading in ("requests", *ENDS):
        table.add_column(heading, justify="right")
    for fault, ends in measured.faulty.ends_by_fault.items():
        table.add_row(fault, str(ends.total()), *(str(ends[end]) for end in ENDS))
    screen.print(table)


def _spell(name: str) -> str:
    return name.replace("_", " ")
