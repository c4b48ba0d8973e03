"""`aligngraph policy show`: what earlier tasks taught, by domain."""

import asyncio
import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from aligngraph.cli.rendering import console
from aligngraph.persistence import ArmSums, DomainSummary, Location, PolicyStore
from aligngraph.policy import competence, principal_anchor, weight

TWO_ANSWERS, THREE_ANSWERS = 2, 3


def show(domain: str | None, db: str | None, *, as_json: bool) -> None:
    """Print every domain's arms with competence and weight, and how far the principal is trusted."""
    summaries = asyncio.run(_read(db))
    chosen = [_describe(summary) for summary in summaries if domain in {None, summary.domain}]
    if as_json:
        print(json.dumps({"domains": chosen}, indent=2, ensure_ascii=False))
        return
    screen = console()
    if not chosen:
        screen.print("nothing learned yet" if domain is None else f"nothing learned yet in domain {domain!r}")
    for entry in chosen:
        _print_domain(entry, screen)


async def _read(db: str | None) -> list[DomainSummary]:
    async with await PolicyStore.open(Location.find(db)) as store:
        return await store.summary()


def _describe(summary: DomainSummary) -> dict[str, Any]:
    agents = {arm: sums for arm, sums in sorted(summary.arms.items()) if sums.kind == "agent"}
    principal = next((sums for sums in summary.arms.values() if sums.kind == "principal"), None)
    return {
        "domain": summary.domain,
        "tasks": summary.tasks,
        "changed_at": summary.changed_at,
        "arms": {arm: _describe_arm(sums) for arm, sums in agents.items()},
        "principal": _describe_principal(principal) if principal else None,
        "quarantined": list(summary.quarantined),
    }


def _describe_arm(sums: ArmSums) -> dict[str, Any]:
    mean = float(competence(sums.total, sums.count))
    return {
        "tasks": int(sums.count),
        "competence": mean,
        "weight": float(weight(mean, TWO_ANSWERS)),
        "failures": sums.failures,
    }


def _describe_principal(sums: ArmSums) -> dict[str, Any]:
    """Return how often the votes agreed with the principal's first choice, and the anchor among three answers."""
    mean = sums.total / sums.count if sums.count else None
    anchor = principal_anchor(sums.total, sums.count, THREE_ANSWERS)
    return {"tasks": int(sums.count), "agreement": mean, "anchor": anchor}


def _print_domain(entry: dict[str, Any], screen: Console) -> None:
    tasks = f"{entry['tasks']} task{'' if entry['tasks'] == 1 else 's'}"
    table = Table(title=f"domain {escape(entry['domain'])}: {tasks}", title_justify="left")
    for heading in ("arm", "tasks", "competence", "weight", "failed calls"):
        table.add_column(heading, justify="left" if heading == "arm" else "right")
    for arm, row in entry["arms"].items():
        cells = (str(row["tasks"]), f"{row['competence']:.3f}", f"{row['weight']:.3f}", str(row["failures"]))
        table.add_row(escape(arm), *cells)
    screen.print(table)
    if principal := entry["principal"]:
        screen.print(
            f"principal: ranked {principal['tasks']} tasks, mean posterior of its first choice "
            f"{principal['agreement'] or 0:.3f}, anchor {principal['anchor']:.2f} (three answers)",
            highlight=False,
        )
    for line in entry["quarantined"]:
        screen.print(f"[yellow]![/] left out: {escape(line)}")
