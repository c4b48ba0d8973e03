"""`aligngraph policy learn`: from recorded tasks with right answers, or anew from all stored runs."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aligngraph.answers import AnswerForm
from aligngraph.cli.differences import agree, print_differences
from aligngraph.cli.policy_store import open_known
from aligngraph.cli.rendering import console, shown
from aligngraph.errors import UsageError
from aligngraph.learning.relearning import Relearned, relearn, write_relearned
from aligngraph.learning.warming import RecordedVotes, warm_up
from aligngraph.persistence import Location, PolicyStore
from aligngraph.team import Team
from aligngraph.trials.panel import Panel, RecordedTask, read_panel


def learn_from_runs(db: str | None, *, yes: bool, dry_run: bool) -> None:
    """Learn anew from the evidence of all stored runs, once the difference was shown.

    Raises:
        UsageError: nobody is there to be asked.
    """
    screen = console()
    found = asyncio.run(_relearn(db))
    if dry_run:
        print_differences(found.differences, screen)
    elif agree(found.differences, yes=yes, question="Take over what the present rules make of the stored runs?"):
        written = asyncio.run(_write(found, db))
        left_out = sorted(found.corrections.keys() - set(written))
        screen.print(f"learned anew: {shown(', '.join(written)) or 'nothing'}", soft_wrap=True)
        if left_out:
            screen.print(f"left as it is, since it learned in the meantime: {shown(', '.join(left_out))}")


def learn_from_panel(place: Path, domain: str, team: str | None, mapping: Sequence[str], db: str | None) -> None:
    """Learn from a recorded panel, or a file with one task a line, each task once.

    Args:
        place: a folder with `panel.jsonl`, or a JSONL file.
        domain: under which it is learned, where the record names none.
        team: file of the team whose arms these are.
        mapping: `source=arm`, for each source whose name is not that of its arm; where any is given others are left out.
        db: where it is learned.

    Raises:
        UsageError: the record or a mapping cannot be used.
    """
    renamed = dict(_pair(entry) for entry in mapping)
    by_domain = dict(_group(_read(place, domain), renamed))
    made_of = Team.load(team).arms if team else {}
    taught = asyncio.run(_warm_up(by_domain, place.resolve().name, made_of, db))
    for name, number in taught.items():
        tasks = len(by_domain[name])
        console().print(f"domain {shown(name)}: learned from {number} of {tasks} tasks; {tasks - number} were known")


async def _relearn(db: str | None) -> Relearned:
    async with open_known(db) as store:
        return await relearn(store)


async def _write(found: Relearned, db: str | None) -> list[str]:
    async with open_known(db) as store:
        return [domain async for domain in write_relearned(store, found)]


async def _warm_up(
    by_domain: Mapping[str, Sequence[RecordedVotes]], source: str, made_of: Mapping[str, str], db: str | None
) -> dict[str, int]:
    async with await PolicyStore.open(Location.find(db)) as store:
        return {name: await warm_up(store, name, source, tasks, made_of) for name, tasks in by_domain.items()}


def _pair(entry: str) -> tuple[str, str]:
    source, equals, arm = entry.partition("=")
    if not (source and equals and "/" in arm):
        raise UsageError(f"--map {entry!r}: SOURCE=AGENT/STRATEGY is allowed")
    return source, arm


def _read(place: Path, domain: str) -> Iterator[tuple[str, RecordedVotes]]:
    if place.is_dir():
        panel = read_panel(place, "auto")
        yield from (
            (domain if task.domain == "general" else task.domain, _votes_of(panel, task)) for task in panel.tasks
        )
        return
    try:
        lines = place.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {str(place)!r}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            yield str(row.get("domain", domain)), _votes_of_row(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            form = '{"id": ..., "answers": {"agent/strategy": ["42", null]}, "gold": "42"}'
            raise UsageError(f"{place}, line {number}: {error!r}; a line is {form}") from error


def _votes_of(panel: Panel, task: RecordedTask) -> RecordedVotes:
    votes, asked = {}, {}
    for agent, samples in zip(panel.agents, task.samples, strict=True):
        if samples:
            counted = Counter(sample.answer for sample in samples)
            votes[agent] = tuple(counted[number] for number in range(len(task.right)))
            asked[agent] = len(samples)
    return RecordedVotes(task.id, votes, asked, task.right)


def _votes_of_row(row: Mapping[str, Any]) -> RecordedVotes:
    """Return one line's votes: `answers` by arm, and `gold`, one right answer or several."""
    given = {str(arm): [None if one is None else str(one) for one in its] for arm, its in row["answers"].items()}
    gold = [str(one) for one in (row["gold"] if isinstance(row["gold"], list) else [row["gold"]])]
    flat = [one for its in given.values() for one in its]
    groups = AnswerForm.of(str(row.get("question", "")), row.get("kind", "auto")).group([*gold, *flat])
    own = [group for group in groups if any(member >= len(gold) for member in group.members)]
    number_of = {member - len(gold): number for number, group in enumerate(own) for member in group.members}
    right = tuple(any(member < len(gold) for member in group.members) for group in own)
    votes, place = {}, 0
    for arm, its in given.items():
        counted = Counter(number_of.get(place + offset) for offset in range(len(its)))
        votes[arm] = tuple(counted[number] for number in range(len(own)))
        place += len(its)
    return RecordedVotes(str(row["id"]), votes, {arm: len(its) for arm, its in given.items()}, right)


def _group(
    tasks: Iterator[tuple[str, RecordedVotes]], renamed: Mapping[str, str]
) -> Iterator[tuple[str, list[RecordedVotes]]]:
    by_domain: dict[str, list[RecordedVotes]] = {}
    for domain, task in tasks:
        by_domain.setdefault(domain, []).append(_rename(task, renamed))
    yield from by_domain.items()


def _rename(task: RecordedVotes, renamed: Mapping[str, str]) -> RecordedVotes:
    arms = {source: renamed[source] for source in task.asked if source in renamed}
    arms = arms if renamed else {source: source if "/" in source else f"{source}/recorded" for source in task.asked}
    return RecordedVotes(
        task.task_id,
        {arm: task.votes[source] for source, arm in arms.items()},
        {arm: task.asked[source] for source, arm in arms.items()},
        task.right,
    )
