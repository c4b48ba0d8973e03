"""`aligngraph policy history`: every change of one arm's sums, in order."""

import asyncio
from collections import deque
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from aligngraph.cli.differences import print_json
from aligngraph.cli.policy_store import open_known
from aligngraph.cli.rendering import console, shown
from aligngraph.errors import UsageError
from aligngraph.persistence import ArmKey, ArmSums, PolicyStore, Update, advance
from aligngraph.policy import competence, weight

TWO_ANSWERS = 2
LESSONS = {"task", "feedback", "learn"}  # what other changes add is no payoff
HEADINGS = ("no.", "UTC", "what", "payoff", "tasks", "competence", "weight", "run")
LEFT = ("UTC", "what", "run")


def show_history(arm: str, domain: str | None, db: str | None, limit: int, *, as_json: bool) -> None:
    """Print the latest changes of the arm, what it was paid and what its sums came to.

    Raises:
        UsageError: no domain knows the arm.
    """
    found = asyncio.run(_read(arm, domain, db, limit))
    if not found:
        raise UsageError(f"no arm {arm!r} has learned anything there: `policy show` lists those that have")
    if as_json:
        print_json(found)
        return
    screen = console()
    for name, changes in found.items():
        made_of = sorted({change["made_of"] for change in changes} - {""})
        making = f", made of {', '.join(made_of)}" if made_of else ""
        title = f"{shown(arm)} in domain {shown(name)}{shown(making)}"
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for heading in HEADINGS:
            justify: Literal["left", "right"] = "left" if heading in LEFT else "right"
            table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading != "run")
        for change in changes:
            table.add_row(*_cells(change, several=len(made_of) > 1))
        screen.print(table)


async def _read(arm: str, domain: str | None, db: str | None, limit: int) -> dict[str, list[dict[str, Any]]]:
    async with open_known(db) as store:
        domains = [entry.domain for entry in await store.summary() if domain in {None, entry.domain}]
        found = {name: await _changes(store, name, arm, limit) for name in domains}
    return {name: changes for name, changes in found.items() if changes}


async def _changes(store: PolicyStore, domain: str, arm: str, limit: int) -> list[dict[str, Any]]:
    arms: dict[ArmKey, ArmSums] = {}
    latest: deque[dict[str, Any]] = deque(maxlen=limit)
    async for update in store.log.read(domain):
        advance(arms, update)
        touched = {*(part.key for part in update.increments), *update.cleared}
        latest.extend(_describe(update, key, arms.get(key)) for key in sorted(touched) if key.arm == arm)
    return list(latest)


def _describe(update: Update, key: ArmKey, sums: ArmSums | None) -> dict[str, Any]:
    lesson = update.kind in LESSONS
    paid = [part.payoff for part in update.increments if lesson and part.key == key and (part.payoff or part.count)]
    mean = None if sums is None else float(competence(min(max(0.0, sums.total), sums.count), sums.count))
    return {
        "number": update.sequence,
        "at": update.at,
        "kind": update.kind,
        "run_id": update.run_id,
        "made_of": key.made_of,
        "payoff": paid[0] if paid else None,
        "tasks": None if sums is None else sums.count,
        "competence": mean,
        "weight": None if mean is None else float(weight(mean, TWO_ANSWERS)),
    }


def _cells(change: dict[str, Any], *, several: bool) -> tuple[str, ...]:
    run = f"{change['run_id']} ({change['made_of']})" if several else change["run_id"]
    return (
        str(change["number"]),
        change["at"][5:16].replace("T", " "),
        change["kind"],
        _number(change["payoff"], ".3f"),
        _number(change["tasks"], ".6g"),
        _number(change["competence"], ".3f"),
        _number(change["weight"], ".3f"),
        shown(run),
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
