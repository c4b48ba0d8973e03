"""`aligngraph policy reset`, `rollback` and `prune`: forgetting."""

import asyncio
from collections.abc import Sequence

from aligngraph.cli.differences import agree
from aligngraph.cli.policy_store import open_known
from aligngraph.cli.rendering import console
from aligngraph.errors import UsageError
from aligngraph.persistence import Difference, Location, compare, forget_checkpoints

LONGEST_DAYS = 365_000
NUMBER_DIGITS = 18  # longer ones no database counts


def reset_domain(domain: str, db: str | None, *, yes: bool) -> None:
    """Forget what a domain has learned, its log left as it is.

    Raises:
        UsageError: the domain has learned nothing, or nobody is there to be asked.
    """
    differences = asyncio.run(_all_of(domain, db))
    if not differences:
        raise UsageError(f"domain {domain!r} has learned nothing: `policy show` lists those that have")
    if agree(differences, yes=yes, question=f"Forget all that domain {domain!r} has learned?"):
        asyncio.run(_reset(domain, db))
        console().print("forgotten; `policy rollback` brings it back")


def roll_back(to: str, domain: str | None, db: str | None, *, yes: bool) -> None:
    """Give one domain or all the sums that they had at a run, a time or a number of `policy history`.

    Raises:
        UsageError: nobody is there to be asked.
        StoreError: `to` names nothing.
    """
    place = asyncio.run(_find_place(to, db))
    differences = asyncio.run(_preview(place, domain, db))
    if agree(differences, yes=yes, question=f"Go back to {to!r}?"):
        asyncio.run(_roll_back(place, domain, db))
        console().print("gone back; this is logged, and can be undone in the same way")


def prune_runs(keep_days: float, db: str | None, *, dry_run: bool) -> None:
    """Drop the texts of runs that ended more days ago, and say how many; what they taught stays.

    Raises:
        UsageError: no calendar has that day.
    """
    if not 0 <= keep_days <= LONGEST_DAYS:
        raise UsageError(f"--keep-days {keep_days!r}: 0 to {LONGEST_DAYS} is allowed")
    dropped = asyncio.run(_prune(keep_days, db, dry_run=dry_run))
    verb = "would drop" if dry_run else "dropped"
    console().print(f"{verb} the texts of {dropped} run{'' if dropped == 1 else 's'}; what they taught stays")


async def _all_of(domain: str, db: str | None) -> Sequence[Difference]:
    async with open_known(db) as store:
        export = await store.log.export()
    return compare({domain: export.domains.get(domain, {})}, {})


async def _reset(domain: str, db: str | None) -> None:
    async with open_known(db) as store:
        await store.log.reset(domain)


async def _find_place(to: str, db: str | None) -> int | str:
    """Return the number that `to` is, unless a run has that name."""
    async with open_known(db) as store:
        is_run = await store.read_run(to) is not None
    return to if is_run or not to.isdecimal() or len(to) > NUMBER_DIGITS else int(to)


async def _preview(to: int | str, domain: str | None, db: str | None) -> Sequence[Difference]:
    async with open_known(db) as store:
        return await store.log.preview_rollback(to, domain)


async def _roll_back(to: int | str, domain: str | None, db: str | None) -> None:
    async with open_known(db) as store:
        await store.log.rollback(to, domain)


async def _prune(keep_days: float, db: str | None, *, dry_run: bool) -> int:
    async with open_known(db) as store:
        run_ids = await store.find_prunable(keep_days=keep_days)
        if dry_run:
            return len(run_ids)
        await forget_checkpoints(Location.find(db), run_ids)
        return await store.prune(keep_days=keep_days)
