"""`aligngraph policy show`: what earlier tasks taught, by domain, and which models failed of late."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from aligngraph.cli.circuits import describe_circuits, print_circuits
from aligngraph.cli.differences import print_json
from aligngraph.cli.rendering import console, shown
from aligngraph.learning.drifting import find_drift
from aligngraph.learning.known import read_learned, share_samples, trust_principal, weigh_arms
from aligngraph.persistence import ArmKey, ArmSums, DomainSummary, Location, PolicyStore, Sums
from aligngraph.persistence.call_records import CircuitRow
from aligngraph.policy import LEARNER_PRIOR, LEARNERS, competence, competence_interval, mixture_shares
from aligngraph.roles import PRINCIPAL

TWO_ANSWERS = 2
HEADINGS = ("arm", "tasks", "competence, 90 %", "weight", "share", "failed", "changed")


def show(domain: str | None, db: str | None, *, as_json: bool) -> None:
    """Print every domain's arms with what its next task will use: competence, weight and the principal's anchor.

    Circuits of models belong to no domain, and are printed with any.
    """
    known = asyncio.run(_read(domain, db))
    chosen, models = known.domains, describe_circuits(known.circuits, time.time())
    if as_json:
        print_json({"domains": chosen, "models": models})
        return
    screen = console()
    if not chosen:
        screen.print(
            "nothing learned yet" if domain is None else f"nothing learned yet in domain {shown(repr(domain))}"
        )
    for entry in chosen:
        _print_domain(entry, screen)
    print_circuits(models, screen)


@dataclass(frozen=True)
class _Known:
    """What lasts: what each domain has learned, and the stored circuits by model."""

    domains: list[dict[str, Any]]
    circuits: Mapping[str, CircuitRow]


async def _read(domain: str | None, db: str | None) -> _Known:
    location = Location.find(db)
    if await asyncio.to_thread(location.is_new):  # a mistyped folder must not make a database
        return _Known([], {})
    async with await PolicyStore.open(location) as store:
        summaries = [summary for summary in await store.summary() if domain in {None, summary.domain}]
        domains = [await _describe(summary, store) for summary in summaries]
        return _Known(domains, await store.calls.read_circuits())


async def _describe(summary: DomainSummary, store: PolicyStore) -> dict[str, Any]:
    sums = await store.read_sums(summary.domain)
    agents: dict[str, Any] = {}
    drift: list[str] = []
    for made_of in _makings(summary):
        entry = _describe_arms(summary, sums, made_of)
        agents |= entry["arms"]
        drift += await find_drift(store, summary.domain, entry["learned"])
    return {
        "domain": summary.domain,
        "tasks": summary.tasks,
        "changed_at": summary.changed_at,
        "arms": dict(sorted(agents.items())),
        **_describe_principals(summary, sums),
        "learners": _describe_learners(sums),
        "drift": drift,
        "quarantined": list(summary.quarantined),
    }


def _makings(summary: DomainSummary) -> list[dict[str, str]]:
    """Return the arms of agents by name with what they are made of; several times where one name stands for several."""
    left = [key for key, known in sorted(summary.arms.items()) if known.kind == "agent"]
    groups = []
    while left:
        first = {key.arm: key.made_of for key in reversed(left)}
        groups.append(first)
        left = [key for key in left if first[key.arm] != key.made_of]
    return groups


def _describe_arms(summary: DomainSummary, sums: Sums, made_of: Mapping[str, str]) -> dict[str, Any]:
    learned = read_learned(sums, made_of, {})
    weights, shares = weigh_arms(learned, answers=TWO_ANSWERS), share_samples(learned)
    several = Counter(key.arm for key in summary.arms)
    arms = {}
    for arm, record in learned["arms"].items():
        known = summary.arms[ArmKey(arm, made_of[arm])]
        own = [record[name] for name in ("total", "count", "other_total", "other_count")]
        interval = competence_interval(*own)
        arms[f"{arm} ({made_of[arm]})" if several[arm] > 1 else arm] = {
            "made_of": made_of[arm],
            "tasks": round(known.count),
            "competence": float(competence(*own)),
            "interval": [float(interval.low), float(interval.high)],
            "weight": weights[arm],
            "share": shares[arm],
            "failures": known.failures,
            "changed_at": known.changed_at,
        }
    return {"arms": arms, "learned": learned}


def _describe_principals(summary: DomainSummary, sums: Sums) -> dict[str, Any]:
    """Return how the principal fared in its duels, and how often the votes agreed with each judge of a panel."""
    latest = sorted(summary.arms.items(), key=lambda item: (item[1].changed_at or "", item[0]))
    principals = {key.arm: key.made_of for key, known in latest if known.kind == "principal"}
    learned = read_learned(sums, {}, principals)
    judges = {arm: _describe_judge(sums.find(arm, made_of)) for arm, made_of in sorted(principals.items())}
    principal = judges.pop(PRINCIPAL, None)
    if principal is not None:
        own = sums.find(PRINCIPAL, principals[PRINCIPAL])
        principal["clarity"] = 1 - own.loss / own.count if own.count else None
        principal["trust"] = trust_principal(learned)
    return {"principal": principal, "judges": judges}


def _describe_judge(sums: ArmSums) -> dict[str, Any]:
    return {"tasks": round(sums.count), "agreement": sums.total / sums.count if sums.count else None}


def _describe_learners(sums: Sums) -> dict[str, Any]:
    """Return the tasks with feedback, and what each learner lost on them and has in the mixture; nothing without any."""
    tasks = sums.find(LEARNERS[0]).count
    if not tasks:
        return {}
    losses = [sums.find(name).loss for name in LEARNERS]
    shares = mixture_shares(losses, LEARNER_PRIOR).tolist()
    rows = zip(LEARNERS, losses, shares, strict=True)
    its = {name: {"log_loss": loss, "share": share} for name, loss, share in rows}
    return {"tasks": round(tasks), **its}


def _print_domain(entry: dict[str, Any], screen: Console) -> None:
    tasks = f"{entry['tasks']} task{'' if entry['tasks'] == 1 else 's'}"
    table = Table(
        title=f"domain {shown(entry['domain'])}: {tasks}", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for heading in HEADINGS:
        left = heading == "arm"
        table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=not left)
    for arm, row in entry["arms"].items():
        table.add_row(shown(arm), *_cells(row))
    if entry["arms"]:
        screen.print(table)
    else:
        screen.print(f"domain {shown(entry['domain'])}: nothing is known of any arm any more", soft_wrap=True)
    for line in _notes(entry):
        screen.print(shown(line), soft_wrap=True)
    for line in entry["drift"]:
        screen.print(f"[yellow]note[/] {shown(line)}", soft_wrap=True)
    for line in entry["quarantined"]:
        screen.print(f"[yellow]![/] set aside: {shown(line)}", soft_wrap=True)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = row["interval"]
    return (
        str(row["tasks"]),
        f"{row['competence']:.3f} {low:.2f}-{high:.2f}",
        f"{row['weight']:.3f}",
        f"{row['share']:.2f}",
        str(row["failures"]),
        (row["changed_at"] or "-")[5:16].replace("T", " "),
    )


def _notes(entry: Mapping[str, Any]) -> list[str]:
    notes = []
    if principal := entry["principal"]:
        notes.append(
            f"principal: ranked {principal['tasks']} tasks, {principal['agreement'] or 0:.3f} of its duels won by the right "
            f"answer as far as is known, clarity {principal['clarity'] or 0:.2f}, trust {principal['trust']:.2f} nats a duel"
        )
    for arm, judge in entry["judges"].items():
        notes.append(f"{arm}: ranked {judge['tasks']} tasks, mean posterior {judge['agreement'] or 0:.3f}")
    if learners := entry["learners"]:
        parts = [
            f"{name} {learners[name]['share']:.2f} (log loss {learners[name]['log_loss']:.1f} nats)"
            for name in LEARNERS
        ]
        notes.append(f"feedback on {learners['tasks']} tasks; the decisions are {', '.join(parts)}")
    return notes
