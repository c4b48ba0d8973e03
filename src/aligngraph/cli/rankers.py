"""`aligngraph bench rankers`: rankers as principal on recorded candidates, next to the vote and to chance."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aligngraph.answers import AnswerKind
from aligngraph.cli.rendering import console, shown
from aligngraph.cli.trials import decimal, interval, journal_beside, write_report
from aligngraph.errors import UsageError
from aligngraph.roles import Principal
from aligngraph.team import Team
from aligngraph.trials.comparison import RANDOM, RECORDED_REWARDS, VOTE, Comparison, Entrant, Setting, compare
from aligngraph.trials.contender import open_contender, parse_ranker
from aligngraph.trials.recorded import RecordedQuestion, has_texts, read_questions
from aligngraph.trials.shares import require_intervals

LEAST_WIDTH = 160  # below it the columns fall to pieces
PANELS: dict[str, AnswerKind] = {"gen_local_gsm8k": "number", "gen_qwen_rm_math100": "math"}


@dataclass(frozen=True)
class RankerTrial:
    """What is compared.

    Attributes:
        rankers: names or tables; the principal's own where there are none.
        data: the folder of the recorded panels.
        limit: questions of each panel; None for all.
        swap_questions: how many of them are ranked in two opposite orders.
        output: the file of results; each question is kept beside it as it comes (`.jsonl`).
    """

    rankers: Sequence[str]
    data: Path
    limit: int | None
    swap_questions: int
    seed: int
    output: Path


def compare_rankers(team: str | None, trial: RankerTrial) -> None:
    """Print a table for each panel and write all results.

    Raises:
        AlignGraphError: the team, the data, a ranker or a model cannot be used, or a file not written.
    """
    require_intervals()
    panels = {name: trial.data / name for name in PANELS if (trial.data / name).is_dir()}
    if not panels:
        raise UsageError(f"{trial.data} holds none of the recorded panels {', '.join(PANELS)}")
    questions = {name: read_questions(folder, PANELS[name])[: trial.limit] for name, folder in panels.items()}
    asked = [name for name, folder in panels.items() if has_texts(folder)]
    asyncio.run(_compare(Team.load(team).principal, trial, questions, asked))


async def _compare(
    principal: Principal, trial: RankerTrial, questions: dict[str, list[RecordedQuestion]], asked: list[str]
) -> None:
    screen, journal, report = console(), journal_beside(trial.output), {}
    screen.width = max(screen.width, LEAST_WIDTH)
    if journal.rows:
        screen.print(f"{len(journal.rows)} questions taken from {shown(str(journal.path))}", soft_wrap=True)
    for source, its in questions.items():
        lines = []
        async for entrant in _entrants(principal, trial, rewarded=source not in asked):
            lines.append(await compare(entrant, its, Setting(source, journal, trial.seed, trial.swap_questions)))
            report[source] = [line.as_json() for line in lines]
            write_report(trial.output, {"seed": trial.seed, "panels": report})
        print_comparison(source, lines, screen)
    screen.print(f"written to {shown(str(trial.output))}", soft_wrap=True)


async def _entrants(principal: Principal, trial: RankerTrial, *, rewarded: bool) -> AsyncIterator[Entrant]:
    """Yield the lines of one panel; where no solutions were kept, its recorded rewards stand for the rankers."""
    yield VOTE
    yield RANDOM
    if rewarded:
        yield RECORDED_REWARDS
        return
    for spec in [parse_ranker(text) for text in trial.rankers] or [principal.ranker]:
        yield Entrant.of(await open_contender(spec, principal.model, principal.timeout_s))


def print_comparison(source: str, lines: Sequence[Comparison], screen: Console) -> None:
    """Print the table of one panel."""
    table = Table(title=shown(source), title_justify="left")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "ranker" else "right", no_wrap=heading != "ranker")
    for line in lines:
        table.add_row(shown(line.entrant.partition(" @ ")[0]), *_cells(line))
    screen.print(table)


_HEADINGS = (
    "ranker",
    "tasks",
    "pairs",
    "accuracy",
    "95 % interval",
    "decided",
    "first",
    "as vote",
    "swapped",
    "calls",
    "tokens",
    "s",
    "silent",
    "failed",
)


def _cells(line: Comparison) -> tuple[str, ...]:
    """Return the cells after the first; calls, tokens and seconds are for one question."""
    each = max(line.questions, 1)
    return (
        str(line.questions),
        str(line.decided.of),
        decimal(line.accuracy.value),
        interval(line.accuracy.estimate),
        decimal(line.decided.value),
        decimal(line.first_right),
        decimal(line.agreement),
        f"{decimal(line.swapped.value)} of {line.swapped.of}",
        f"{line.cost.calls / each:.1f}",
        f"{(line.cost.prompt + line.cost.completion) / each:.0f}",
        f"{line.seconds / each:.1f}",
        str(line.abstentions),
        str(line.failures),
    )
