"""`aligngraph doctor`: everything that a run needs, checked one thing after the other."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

from langchain_core.runnables import RunnableConfig
from rich.console import Console

from aligngraph.cli.rendering import console, shown
from aligngraph.errors import AlignGraphError
from aligngraph.models import model_label, open_model
from aligngraph.nodes.isolation import attempt
from aligngraph.persistence import Location, PolicyStore
from aligngraph.ranking import RANKERS, Option, Preference, RankingTask
from aligngraph.team import Model, Principal, Team

TRIAL_TASK = "Tom has 3 boxes with 4 apples each and eats 2 apples. How many apples are left?"
RIGHT = Option("10", "3 boxes of 4 apples are 3 * 4 = 12 apples. 12 - 2 = 10.\nAnswer: 10")
WRONG = Option("5", "3 and 4 make 3 + 4 = 7 apples. 7 - 2 = 5.\nAnswer: 5")


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, whether it is in order, and what was found."""

    check: str
    ok: bool
    detail: str


def examine(team: str | None, db: str | None, *, as_json: bool) -> int:
    """Print every finding; return 0 when all is in order, else 1."""
    findings = asyncio.run(_collect(team, db, console(quiet=as_json)))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    return 0 if all(finding.ok for finding in findings) else 1


async def _collect(team: str | None, db: str | None, screen: Console) -> list[Finding]:
    findings = []
    async for finding in _check(team, db):
        mark = "[green]ok  [/]" if finding.ok else "[red]FAIL[/]"
        screen.print(f"{mark} {finding.check}: {shown(finding.detail)}", soft_wrap=True)
        findings.append(finding)
    return findings


async def _check(team: str | None, db: str | None) -> AsyncIterator[Finding]:
    yield await _check_database(db)
    try:
        members = Team.load(team)
    except AlignGraphError as error:
        yield Finding("team", ok=False, detail=str(error))
        return
    yield Finding(
        "team", ok=True, detail=f"{len(members.agents)} agents, principal {model_label(members.principal.model)}"
    )
    for model, timeout_s in dict.fromkeys((agent.model, agent.timeout_s) for agent in members.agents):
        yield await _check_model(model, timeout_s)
    for model in (members.principal.model, *members.principal.fallback):
        yield await _try_principal(model, members.principal)


async def _check_database(db: str | None) -> Finding:
    try:
        location = Location.find(db)
        async with await PolicyStore.open(location) as store:
            domains = await store.summary()
    except AlignGraphError as error:
        return Finding("database", ok=False, detail=str(error))
    return Finding(
        "database", ok=True, detail=f"{location}, {sum(domain.tasks for domain in domains)} tasks learned from"
    )


def _place(model: Model) -> str:
    """Return the model's label, with its server: two may serve one name."""
    base_url = getattr(model, "base_url", None)
    return f"{model_label(model)} at {base_url}" if base_url else model_label(model)


async def _check_model(model: Model, timeout_s: float) -> Finding:
    """Return whether the model opens and answers one short call."""
    label = _place(model)
    try:
        opened = await open_model(model, temperature=0.0, timeout_s=timeout_s)
    except AlignGraphError as error:
        return Finding(label, ok=False, detail=str(error))
    metadata = {"agent": "doctor", "task": "doctor", "sample": 0}
    ended = await attempt(opened.ainvoke("Reply with the word ready.", {"metadata": metadata}), timeout_s)
    if ended.value is None:
        return Finding(label, ok=False, detail=ended.cause or "no reply")
    return Finding(label, ok=True, detail="answers")


async def _try_principal(spec: Model, principal: Principal) -> Finding:
    """Return whether one of the principal's models ranks a right and a wrong solution in a form that can be used, in either order."""
    check = f"principal {_place(spec)}"
    try:
        model = await open_model(spec, temperature=0.0, timeout_s=principal.timeout_s)
    except AlignGraphError as error:
        return Finding(check, ok=False, detail=str(error))
    verdicts = []
    for options in ((RIGHT, WRONG), (WRONG, RIGHT)):
        work = RankingTask(
            TRIAL_TASK, options, 0, 2000, RunnableConfig(metadata={"agent": "principal", "task": "doctor"})
        )
        ended = await attempt(RANKERS[principal.ranker].rank(model, work), principal.timeout_s)
        if ended.value is None:
            return Finding(check, ok=False, detail=ended.cause or "no reply")
        verdicts.append((options, ended.value))
    return _judge(check, verdicts)


def _judge(check: str, verdicts: list[tuple[tuple[Option, Option], Preference]]) -> Finding:
    firsts = [options[preference.order[0]] for options, preference in verdicts if preference.order]
    if len(firsts) < len(verdicts):
        return Finding(
            check, ok=False, detail=f"{len(verdicts) - len(firsts)} of {len(verdicts)} rankings could not be used"
        )
    right = sum(first is RIGHT for first in firsts)
    said = {
        0: "prefers the wrong solution in both orders",
        1: "but goes by place, not by content: a stronger judge is worth it",
        2: "prefers the right solution in both orders",
    }
    return Finding(check, ok=True, detail=f"rankings are usable; {said[right]}")
