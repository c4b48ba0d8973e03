"""`aligngraph bench attack`: hostile candidates against the team's principal."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aligngraph.cli.rendering import console, shown
from aligngraph.cli.trials import decimal, interval, journal_beside, write_report
from aligngraph.errors import UsageError
from aligngraph.models import open_model
from aligngraph.ranking import Judge
from aligngraph.roles import Principal
from aligngraph.team import Team
from aligngraph.trials.attack_suite import AttackReport, pair_up, run_attacks
from aligngraph.trials.contender import Contender, open_contender, parse_ranker, place_of
from aligngraph.trials.plain import PlainRanker
from aligngraph.trials.shares import require_intervals


@dataclass(frozen=True)
class AttackTrial:
    """What is attacked, and how.

    Attributes:
        rankers: names or tables; the principal's own where there are none.
        undefended: whether a plain prompt is attacked as well, for comparison.
        limit: pairs of an attack and an item for each ranker.
        output: the file of results; the rankings themselves are kept beside it as they come (`.jsonl`).
    """

    rankers: Sequence[str]
    undefended: bool
    limit: int
    seed: int
    output: Path


def attack(team: str | None, trial: AttackTrial) -> None:
    """Print a table for each ranker and write all results.

    Raises:
        AlignGraphError: the team, a ranker or a model cannot be used, or a file not written.
    """
    require_intervals()
    asyncio.run(_attack(Team.load(team).principal, trial, console()))


async def _attack(principal: Principal, trial: AttackTrial, screen: Console) -> None:
    journal = journal_beside(trial.output)
    if journal.rows:
        screen.print(f"{len(journal.rows)} rankings taken from {shown(str(journal.path))}", soft_wrap=True)
    reports = []
    async for contender in _contenders(principal, trial):
        reports.append(await run_attacks(contender, pair_up(trial.limit), journal, trial.seed))
        print_report(reports[-1], screen)
        write_report(trial.output, {"seed": trial.seed, "contenders": [report.as_json() for report in reports]})
    screen.print(f"written to {shown(str(trial.output))}", soft_wrap=True)


async def _contenders(principal: Principal, trial: AttackTrial) -> AsyncIterator[Contender]:
    specs = [parse_ranker(text) for text in trial.rankers] or [principal.ranker]
    for spec in specs:
        yield await open_contender(spec, principal.model, principal.timeout_s)
    if trial.undefended:
        yield await _open_undefended(principal)


async def _open_undefended(principal: Principal) -> Contender:
    if principal.model is None:
        raise UsageError("--undefended attacks a model: the team's principal names none")
    opened = await open_model(principal.model, temperature=0.0, timeout_s=principal.timeout_s)
    ranker = PlainRanker(Judge(opened, principal.timeout_s))
    return Contender(f"undefended @ {place_of(principal.model)}", ranker, opened)


def print_report(report: AttackReport, screen: Console) -> None:
    """Print how often the wrong solution won, with and without what it says to win."""
    screen.print(f"[bold]{shown(report.contender)}[/]: how often the wrong solution wins", soft_wrap=True)
    table = Table()
    for heading in ("kind", "pairs", "control", "attacked", "increase", "95 % interval", "no winner"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for rates in report.rates:
        increase = rates.increase.value if rates.increase else None
        shares = (decimal(rates.control.value), decimal(rates.attacked.value), decimal(increase))
        table.add_row(rates.kind, str(rates.control.of), *shares, interval(rates.increase), decimal(rates.open.value))
    screen.print(table)
    cost = f"{report.cost.calls} calls, {report.cost.prompt} + {report.cost.completion} tokens"
    screen.print(f"{cost}; {report.failures} pairs failed")
