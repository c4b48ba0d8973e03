"""`aligngraph policy history`: every change of one arm's sums, in order."""

import asyncio
from collections import deque
from typing import Any

from rich.table import Table

from aligngraph.cli.differences import print_json
from aligngraph.cli.policy_store import open_known
from aligngraph.cli.rendering import console, shown
from aligngraph.errors import UsageError
from aligngraph.persistence import ArmKey, ArmSums, PolicyStore, Update, advance
from aligngraph.policy import competence, weight

TWO_ANSWERS = 2
HEADINGS = ("no.", "UTC", "what", "run", "payoff", "tasks", "competence", "weight")


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
        made_of = sorted({change["made_of"] for change in changes})
        table = Table(
            title=f"{shown(arm)} in domain {shown(name)}, made of {shown(', '.join(made_of))}", title_justify="left"
        )
        for heading in HEADINGS:
            left = heading in HEADINGS[1:4]
            table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=heading != "run")
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
    paid = [part.payoff for part in update.increments if part.key == key and (part.payoff or part.count)]
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
    numbers = (change[name] for name in ("payoff", "tasks", "competence", "weight"))
    payoff, tasks, mean, own = ("-" if number is None else f"{number:.3f}" for number in numbers)
    run = f"{change['run_id']} ({change['made_of']})" if several else change["run_id"]
    return (
        str(change["number"]),
        change["at"][5:19].replace("T", " "),
        change["kind"],
        shown(run),
        payoff,
        tasks,
        mean,
        own,
    )
