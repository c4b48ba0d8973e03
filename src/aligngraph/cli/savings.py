"""`aligngraph bench savings`: what early stop saves on recorded panels, and what it costs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from aligngraph.answers import AnswerKind
from aligngraph.cli.rendering import console, shown
from aligngraph.cli.trials import write_report
from aligngraph.errors import UsageError
from aligngraph.trials.panel import read_panel
from aligngraph.trials.savings import Savings, measure_savings
from aligngraph.trials.shares import require_intervals
from aligngraph.trials.waves import ReplaySetting

LEAST_WIDTH = 170  # below it the columns fall to pieces
PANELS: dict[str, AnswerKind | Literal["auto"]] = {
    "gen_zeroeval_gsm8k": "number",
    "gen_gsm8k_subq": "number",
    "gen_metaprompt_gpt4": "auto",
    "gen_local_gsm8k": "number",
    "gen_tot_game24": "text",
    "gen_qwen_rm_math100": "math",
}


def compare_savings(data: Path, setting: ReplaySetting, output: Path) -> None:
    """Print a line for each panel in `data` and write all of them to `output`.

    Raises:
        AlignGraphError: there is no panel, one cannot be read, scipy is missing, or the file cannot be written.
    """
    require_intervals()
    folders = [data / name for name in PANELS if (data / name).is_dir()]
    if not folders:
        raise UsageError(f"{data} holds none of the recorded panels {', '.join(PANELS)}")
    lines = []
    for folder in folders:
        lines.append(measure_savings(read_panel(folder, PANELS[folder.name]), setting))
        write_report(output, {"setting": asdict(setting), "panels": {line.panel: line.as_json() for line in lines}})
    screen = console()
    print_savings(lines, setting, screen)
    screen.print(f"written to {shown(str(output))}", soft_wrap=True)


def print_savings(lines: Sequence[Savings], setting: ReplaySetting, screen: Console) -> None:
    """Print the table."""
    screen.width = max(screen.width, LEAST_WIDTH)
    title = f"early stop at {setting.threshold:g} next to all samples; differences in points, shares in percent"
    table = Table(title=title, title_justify="left")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "panel" else "right", no_wrap=True)
    for line in lines:
        table.add_row(shown(line.panel), *_cells(line))
    screen.print(table)


_HEADINGS = (
    "panel",
    "agents",
    "tasks",
    "vote",
    "full",
    "early",
    "oracle",
    "points",
    "95 % interval",
    "samples",
    "tokens",
    "waves",
    "unchangeable",
    "confident",
    "same",
)


def _cells(line: Savings) -> tuple[str, ...]:
    low, high = (100 * bound for bound in (line.difference.low, line.difference.high))
    return (
        str(line.agents),
        str(line.tasks),
        *(f"{share:.3f}" for share in (line.vote, line.full, line.early, line.oracle)),
        f"{100 * line.difference.value:+.2f}",
        f"{low:+.2f} .. {high:+.2f}",
        _percent(line.samples),
        _percent(line.tokens),
        f"{line.waves:.2f}",
        _percent(line.stopped["unchangeable"]),
        _percent(line.stopped["confident"]),
        _percent(line.same),
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
