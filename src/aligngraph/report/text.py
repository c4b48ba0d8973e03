"""A report in a terminal: the same words and tables, figures as the tables that their values are read from."""

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from aligngraph.report.document import Figure, Passage, Report, Section, Table
from aligngraph.report.wording import spread

_MOST_ROWS = 12
_MOST_CHARS = 600


def print_report(report: Report, screen: Console) -> None:
    """Print status and problems, then the facts, then every section; nothing in it is taken for markup."""
    screen.print(Text(report.title, style="bold"))
    screen.print(Text(report.status))
    for problem in report.problems:
        screen.print(Text.assemble(("! ", "yellow"), problem))
    for fact in report.facts:
        screen.print(Text.assemble((f"{fact.name}: ", "dim"), fact.value))
    for section in report.sections:
        _print_section(section, screen)


def _print_section(section: Section, screen: Console) -> None:
    screen.print()
    screen.print(Text(section.title, style="bold underline"))
    for note in section.notes:
        screen.print(Text(note, style="dim"))
    for part in section.parts:
        match part:
            case Figure():
                screen.print(Text(part.description))
                _print_table(part.table, screen)
            case Table():
                _print_table(part, screen)
            case Passage():
                screen.print(Text(part.heading, style="bold"))
                screen.print(Text(_shortened(part.text)))


def _print_table(table: Table, screen: Console) -> None:
    """Print the table, of a long one some rows from its first to its last."""
    kept = spread(len(table.rows), _MOST_ROWS) if len(table.rows) > 2 * _MOST_ROWS else range(len(table.rows))
    grid = Grid()
    for number, heading in enumerate(table.headings):
        grid.add_column(Text(heading), justify="left" if number < table.left else "right", overflow="fold")
    for number in kept:
        grid.add_row(*map(Text, table.rows[number]))
    screen.print(Text(table.caption, style="italic"))
    screen.print(grid)
    if left_out := len(table.rows) - len(kept):
        screen.print(Text(f"{left_out} rows between are left out; the page has them", style="dim"))


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} ... ({len(text)} characters; the page has all)"
