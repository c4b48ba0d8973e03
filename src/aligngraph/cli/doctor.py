"""`aligngraph doctor`: everything that a run needs, checked one thing after the other."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

from langchain_core.runnables import RunnableConfig
from rich.console import Console
from rich.table import Table

from aligngraph.answers import AnswerForm
from aligngraph.cli.rendering import console, shown
from aligngraph.cli.trials import decimal, interval
from aligngraph.errors import AlignGraphError
from aligngraph.isolation import attempt
from aligngraph.models import open_model
from aligngraph.persistence import Location, PolicyStore
from aligngraph.ranking import Option, Preference, RankingTask
from aligngraph.ranking.specs import Spec, missing_for, models_needed
from aligngraph.roles import JudgeTable, Model, Principal
from aligngraph.team import Team
from aligngraph.trials.contender import contender_label, failed, open_contender, place_of, winner
from aligngraph.trials.cost import Cost
from aligngraph.trials.fitness import Fitness, measure_fitness
from aligngraph.trials.shares import require_intervals

ORDERS = 2
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
    asked = ", ".join(contender_label(judge.ranker, judge.model) for judge in members.principal.judges)
    yield Finding("team", ok=True, detail=f"{len(members.agents)} agents, principal {asked}")
    for model, timeout_s in dict.fromkeys((agent.model, agent.timeout_s) for agent in members.agents):
        yield await _check_model(place_of(model), model, timeout_s)
    judges, timeout_s = _judges_of(members.principal)
    for judge in judges:
        yield await _try_principal(judge, timeout_s)
        if related := members.relatives(judge):
            yield _report_relatives(judge, related, members)
    if (model := members.answers.judge) is not None:
        yield await _check_model(f"answers.judge {place_of(model)}", model, timeout_s)


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


async def _check_model(check: str, model: Model, timeout_s: float) -> Finding:
    """Return whether the model opens and answers one short call."""
    try:
        opened = await open_model(model, temperature=0.0, timeout_s=timeout_s)
    except AlignGraphError as error:
        return Finding(check, ok=False, detail=str(error))
    metadata = {"agent": "doctor", "task": "doctor", "sample": 0}
    ended = await attempt(opened.ainvoke("Reply with the word ready.", {"metadata": metadata}), timeout_s)
    if ended.value is None:
        return Finding(check, ok=False, detail=ended.cause or "no reply")
    return Finding(check, ok=True, detail="answers")


async def _try_principal(judge: JudgeTable, timeout_s: float) -> Finding:
    """Return whether a judge ranks a right and a wrong solution in a form that can be used, in either order."""
    if not models_needed(judge.ranker):
        return _check_without_model(judge.ranker)
    check = f"principal {place_of(judge.model)}"
    try:
        contender = await open_contender(judge.ranker, judge.model, timeout_s)
    except AlignGraphError as error:
        return Finding(check, ok=False, detail=str(error))
    config = RunnableConfig(metadata={"agent": "principal", "task": "doctor"})
    verdicts = []
    for options in ((RIGHT, WRONG), (WRONG, RIGHT)):
        room, form = contender.room_for(TRIAL_TASK, len(options)), AnswerForm.of(TRIAL_TASK, "number")
        preference = await contender.ranker.rank(RankingTask(TRIAL_TASK, options, 0, room, config, form))
        if failed(preference):
            return Finding(check, ok=False, detail=preference.calls[0].problem or "no reply")
        verdicts.append((options, preference))
    return _judge(check, verdicts)


def _check_without_model(ranker: Spec) -> Finding:
    """Return whether what the ranker needs is there; it is not run."""
    lacking = missing_for(ranker)
    found = "asks a person" if ranker.name == "human" else "what it needs is there; it is not run"
    return Finding(f"principal {ranker.name}", ok=lacking is None, detail=lacking or found)


def _report_relatives(judge: JudgeTable, related: list[str], team: Team) -> Finding:
    """Return that agents share the model of a judge, and what recusal does about it."""
    whose = "the candidates of all agents" if len(related) == len(team.agents) else "their candidates"
    hidden = "recuse = true hides" if team.principal.recuse else "recuse = true would hide"
    detail = f"is also the model of {', '.join(related)}; {hidden} {whose} from it"
    return Finding(f"principal {place_of(judge.model)}", ok=True, detail=detail)


def _judge(check: str, verdicts: list[tuple[tuple[Option, Option], Preference]]) -> Finding:
    usable = [(options, preference) for options, preference in verdicts if preference.tiers]
    if len(usable) < len(verdicts):
        return Finding(
            check, ok=False, detail=f"{len(verdicts) - len(usable)} of {len(verdicts)} rankings could not be used"
        )
    firsts = [options[won] for options, preference in usable if (won := winner(preference, 0, 1)) is not None]
    return Finding(check, ok=True, detail=f"rankings are usable; {_describe(firsts)}")


def _describe(firsts: list[Option]) -> str:
    if len(firsts) < ORDERS:
        return "but the solutions are not told apart: see doctor --principal"
    said = {
        0: "but prefers the wrong solution in both orders: see doctor --principal",
        1: "but goes by place, not by content: see doctor --principal",
        2: "prefers the right solution in both orders",
    }
    return said[sum(first is RIGHT for first in firsts)]


def examine_principal(team: str | None, *, as_json: bool) -> int:
    """Print how fit every judge of the team is, the stand-ins among them; return 0 when all are, else 1.

    Raises:
        AlignGraphError: the team cannot be read, or nothing can be measured.
    """
    require_intervals()
    judges, timeout_s = _judges_of(Team.load(team).principal)
    found = asyncio.run(_measure(judges, timeout_s, console(quiet=as_json)))
    if as_json:
        print(json.dumps([fitness.as_json() for fitness in found], indent=2, ensure_ascii=False))
    return 1 if any(fitness.reasons for fitness in found) else 0


def _judges_of(principal: Principal) -> tuple[list[JudgeTable], float]:
    stand_ins = [JudgeTable(model=model, ranker=principal.ranker) for model in principal.fallback]
    return [*principal.judges, *stand_ins], principal.timeout_s


async def _measure(judges: list[JudgeTable], timeout_s: float, screen: Console) -> list[Fitness]:
    found = []
    for judge in judges:
        screen.print(f"measuring {shown(contender_label(judge.ranker, judge.model))} on twelve items", soft_wrap=True)
        found.append(await _measure_one(judge, timeout_s))
        _print_fitness(found[-1], screen)
    return found


async def _measure_one(judge: JudgeTable, timeout_s: float) -> Fitness:
    try:
        contender = await open_contender(judge.ranker, judge.model, timeout_s)
    except AlignGraphError as error:
        return Fitness(contender_label(judge.ranker, judge.model), (), Cost(), 0.0, str(error))
    return await measure_fitness(contender)


def _print_fitness(fitness: Fitness, screen: Console) -> None:
    verdict = "[red]unfit[/]" if fitness.reasons else "[green]fit[/]"
    screen.print(f"{verdict} principal {shown(fitness.principal)}", soft_wrap=True)
    for reason in fitness.reasons:
        screen.print(f"  {shown(reason)}", soft_wrap=True)
    if fitness.measures:
        screen.print(_table(fitness))
    spent = f"{fitness.cost.calls} calls, {fitness.cost.prompt} + {fitness.cost.completion} tokens"
    screen.print(f"  {spent}, {fitness.seconds:.1f} s")


def _table(fitness: Fitness) -> Table:
    table = Table()
    for heading in ("measure", "share", "of", "95 % interval", "at least"):
        table.add_column(heading, justify="left" if heading == "measure" else "right")
    for measure in fitness.measures:
        share, least = measure.share, "-" if measure.least is None else f"{measure.least:.3g}"
        style = "red" if measure.problem else None
        table.add_row(measure.name, decimal(share.value), str(share.of), interval(share.estimate), least, style=style)
    return table
