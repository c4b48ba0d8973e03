"""`aligngraph policy learn`: from recorded tasks with right answers, or anew from all stored runs."""

import asyncio
from collections.abc import Mapping, Sequence

from aligngraph.cli.differences import agree, print_differences
from aligngraph.cli.policy_record import RecordedPanel
from aligngraph.cli.policy_store import open_known, open_or_make
from aligngraph.cli.rendering import console, shown
from aligngraph.learning.relearning import Relearned, relearn, write_relearned
from aligngraph.learning.warming import Recording, Warmed, warm_up
from aligngraph.team import Team


def learn_from_runs(domain: str | None, db: str | None, *, yes: bool, dry_run: bool) -> None:
    """Learn anew from the evidence of all stored runs, of one domain if it is named, once the difference was shown.

    Raises:
        UsageError: nobody is there to be asked.
    """
    screen = console()
    found = asyncio.run(_relearn(domain, db))
    if dry_run:
        print_differences(found.differences, screen)
    elif agree(found.differences, yes=yes, question="Take over what the present rules make of the stored runs?"):
        written = asyncio.run(_write(found, db))
        left_out = sorted(found.corrections.keys() - set(written))
        screen.print(f"learned anew: {shown(', '.join(written)) or 'nothing'}", soft_wrap=True)
        if left_out:
            screen.print(
                f"left as it is, since it learned in the meantime: {shown(', '.join(left_out))}", soft_wrap=True
            )


def learn_from_panel(panel: RecordedPanel, team: str | None, db: str | None, *, dry_run: bool) -> None:
    """Learn from a recorded panel, or a file with one task a line, each task once.

    Args:
        panel: what is learned.
        team: file of the team whose arms these are.
        db: where it is learned.
        dry_run: changes nothing, and shows the difference.

    Raises:
        UsageError: the record or a mapping cannot be used.
    """
    recordings = panel.read()
    screen, made_of = console(), Team.load(team).arms if team else {}
    strangers = (
        {arm for one in recordings for task in one.tasks for arm in task.asked} - set(made_of) if team else set()
    )
    if strangers:
        names = shown(", ".join(sorted(strangers)))
        screen.print(f"[yellow]note[/] no arm of the team: {names}; --map gives them its names", soft_wrap=True)
    outcomes = asyncio.run(_warm_up(recordings, made_of, db, dry_run))
    if dry_run:
        print_differences([difference for warmed in outcomes for difference in warmed.differences], screen)
    for recording, warmed in zip(recordings, outcomes, strict=True):
        screen.print(_tell(recording, warmed, dry_run=dry_run), soft_wrap=True)


def _tell(recording: Recording, warmed: Warmed, *, dry_run: bool) -> str:
    tasks, verb = len(recording.tasks), "would learn" if dry_run else "learned"
    voteless = tasks - warmed.taught - warmed.known
    rest = [f"{warmed.known} were known"] + ([f"{voteless} have no vote"] if voteless else [])
    return f"domain {shown(recording.domain)}: {verb} from {warmed.taught} of {tasks} tasks; {', '.join(rest)}"


async def _relearn(domain: str | None, db: str | None) -> Relearned:
    async with open_known(db) as store:
        return await relearn(store, domain)


async def _write(found: Relearned, db: str | None) -> list[str]:
    async with open_known(db) as store:
        return [domain async for domain in write_relearned(store, found)]


async def _warm_up(
    recordings: Sequence[Recording],
    made_of: Mapping[str, str],
    db: str | None,
    dry_run: bool,  # noqa: FBT001 - passed on
) -> list[Warmed]:
    async with open_or_make(db, dry_run=dry_run) as store:
        return [await warm_up(store, one, made_of, dry_run=dry_run) for one in recordings]
