"""`aligngraph bench replay`: how often each rule of deciding is right on a recorded panel, learning as it goes."""

from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aligngraph.cli.rendering import console, shown
from aligngraph.cli.savings import PANELS
from aligngraph.cli.trials import write_report
from aligngraph.errors import UsageError
from aligngraph.trials.panel import read_panel
from aligngraph.trials.replay import ReplayRow, measure_replay
from aligngraph.trials.replay_tasks import ReplaySetting
from aligngraph.trials.shares import require_intervals

NO_JUDGE = "none"
SIMULATED = "simulated:"
ALL = "all"


def replay_panel(panel: str, data: Path, setting: ReplaySetting, output: Path) -> None:
    """Print how each rule did on the panel of this name in `data`, and write it to `output`.

    Raises:
        AlignGraphError: there is no such panel, it cannot be read, scipy is missing, or the file cannot be written.
    """
    require_intervals()
    if panel not in PANELS:
        raise UsageError(f"got panel {panel!r}, allowed are {', '.join(PANELS)}")
    row = measure_replay(read_panel(data / panel, PANELS[panel]), setting)
    write_report(output, {"setting": asdict(setting), "row": row.as_json()})
    screen = console()
    print_replay(row, setting, screen)
    screen.print(f"written to {shown(str(output))}", soft_wrap=True)


def print_replay(row: ReplayRow, setting: ReplaySetting, screen: Console) -> None:
    """Print the table, a line for each rule."""
    table = Table(title=_title(row, setting), title_justify="left")
    for heading in ("rule", "right", "points", "95 % interval", "worst team", "best team"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for column in row.columns:
        low, high = (100 * bound for bound in (column.beyond_vote.low, column.beyond_vote.high))
        table.add_row(
            shown(column.name),
            f"{column.accuracy:.3f}",
            f"{100 * column.beyond_vote.value:+.2f}",
            f"{low:+.2f} .. {high:+.2f}",
            f"{min(column.by_draw):.3f}",
            f"{max(column.by_draw):.3f}",
        )
    screen.print(table)


def read_judge(text: str) -> float | None:
    """Return how often the judge that `text` names is right about a pair: none, or simulated:P.

    Raises:
        UsageError: it is neither, or P is no number in [0, 1].
    """
    if text == NO_JUDGE:
        return None
    try:
        chance = float(text.removeprefix(SIMULATED)) if text.startswith(SIMULATED) else -1.0
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        raise UsageError(f"got --judge {text!r}, allowed are {NO_JUDGE} and {SIMULATED}P with P from 0 to 1")
    return chance


def read_number(option: str, text: str) -> int | None:
    """Return the number that `text` names, None for all.

    Raises:
        UsageError: it is neither `all` nor a whole number from 1.
    """
    if text == ALL:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f"got {option} {text!r}, allowed are {ALL} and a whole number from 1")
    return int(text)


def _title(row: ReplayRow, setting: ReplaySetting) -> str:
    judge = "no judge" if setting.judge is None else f"a judge right about {setting.judge:g} of the pairs"
    told = "told the right answers" if setting.feedback else "told nothing"
    whose = "the weaker half of " if setting.weaker_half else ""
    team = f"{row.agents} agents of {whose}{shown(row.panel)}"
    return f"{team}, {row.tasks} tasks, {judge}, {told}; points are beyond the vote"
