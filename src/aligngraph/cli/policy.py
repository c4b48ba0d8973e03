"""`aligngraph policy show`: what earlier tasks taught, by domain, and which models failed of late."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from aligngraph.cli.circuits import describe_circuits, print_circuits
from aligngraph.cli.rendering import console, shown
from aligngraph.nodes.arms import PRINCIPAL, earned_anchor, learned_of, read_competence, weigh_arms
from aligngraph.persistence import ArmSums, DomainSummary, Location, PolicyStore, Sums
from aligngraph.persistence.call_records import CircuitRow

TWO_ANSWERS, THREE_ANSWERS = 2, 3


def show(domain: str | None, db: str | None, *, as_json: bool) -> None:
    """Print every domain's arms with what its next task will use: competence, weight and the principal's anchor.

    Circuits of models belong to no domain, and are printed with any.
    """
    known = asyncio.run(_read(domain, db))
    chosen, models = known.domains, describe_circuits(known.circuits, time.time())
    if as_json:
        print(json.dumps({"domains": chosen, "models": models}, indent=2, ensure_ascii=False))
        return
    screen = console()
    if not chosen:
        screen.print("nothing learned yet" if domain is None else f"nothing learned yet in domain {domain!r}")
    for entry in chosen:
        _print_domain(entry, screen)
    print_circuits(models, screen)


@dataclass(frozen=True)
class _Known:
    """What lasts: what each domain has learned, and the stored circuits by model."""

    domains: list[dict[str, Any]]
    circuits: Mapping[str, CircuitRow]


async def _read(domain: str | None, db: str | None) -> _Known:
    async with await PolicyStore.open(Location.find(db)) as store:
        summaries = [summary for summary in await store.summary() if domain in {None, summary.domain}]
        domains = [_describe(summary, await store.read_sums(summary.domain)) for summary in summaries]
        return _Known(domains, await store.calls.read_circuits())


def _describe(summary: DomainSummary, sums: Sums) -> dict[str, Any]:
    agents = [arm for arm, known in sorted(summary.arms.items()) if known.kind == "agent"]
    principal, learned = summary.arms.get(PRINCIPAL), learned_of(sums, agents)
    means = dict(zip(agents, read_competence(learned, agents), strict=True))
    weights = weigh_arms(learned, answers=TWO_ANSWERS)
    return {
        "domain": summary.domain,
        "tasks": summary.tasks,
        "changed_at": summary.changed_at,
        "arms": {arm: _describe_arm(summary.arms[arm], means[arm], weights[arm]) for arm in agents},
        "principal": _describe_principal(principal, earned_anchor(learned, THREE_ANSWERS)) if principal else None,
        "judges": {arm: _describe_judge(known) for arm, known in sorted(summary.arms.items()) if _is_judge(arm, known)},
        "quarantined": list(summary.quarantined),
    }


def _describe_arm(sums: ArmSums, competence: float, weight: float) -> dict[str, Any]:
    return {"tasks": int(sums.count), "competence": competence, "weight": weight, "failures": sums.failures}


def _is_judge(arm: str, known: ArmSums) -> bool:
    return known.kind == "principal" and arm != PRINCIPAL


def _describe_judge(sums: ArmSums) -> dict[str, Any]:
    """Return how often the votes agreed with the first choice of one judge of a panel."""
    return {"tasks": int(sums.count), "agreement": sums.total / sums.count if sums.count else None}


def _describe_principal(sums: ArmSums, anchor: float) -> dict[str, Any]:
    """Return how often the votes agreed with the principal's first choice, and the anchor among three answers."""
    return {**_describe_judge(sums), "anchor": anchor}


def _print_domain(entry: dict[str, Any], screen: Console) -> None:
    tasks = f"{entry['tasks']} task{'' if entry['tasks'] == 1 else 's'}"
    table = Table(title=f"domain {shown(entry['domain'])}: {tasks}", title_justify="left")
    for heading in ("arm", "tasks", "competence", "weight", "failed calls"):
        table.add_column(heading, justify="left" if heading == "arm" else "right")
    for arm, row in entry["arms"].items():
        cells = (str(row["tasks"]), f"{row['competence']:.3f}", f"{row['weight']:.3f}", str(row["failures"]))
        table.add_row(shown(arm), *cells)
    screen.print(table)
    if principal := entry["principal"]:
        screen.print(
            f"principal: ranked {principal['tasks']} tasks, mean posterior of its first choice "
            f"{principal['agreement'] or 0:.3f}, anchor {principal['anchor']:.2f} (three answers)",
            highlight=False,
        )
    for arm, judge in entry["judges"].items():
        screen.print(shown(f"{arm}: ranked {judge['tasks']} tasks, mean posterior {judge['agreement'] or 0:.3f}"))
    for line in entry["quarantined"]:
        screen.print(f"[yellow]![/] left out: {shown(line)}")
