"""`aligngraph cancel`: stops a run on which a session of another process works."""

import asyncio

from aligngraph.cancellation import Ending, stop_run
from aligngraph.cli.rendering import visible
from aligngraph.errors import UsageError
from aligngraph.persistence import Location, PolicyStore

_TOLD: dict[Ending, str] = {
    "stopped": "was stopped; to go on ask with --run {run}",
    "ended": "had ended already; its decision is shown by asking with --run {run}",
    "interrupted": "had been stopped before; to go on ask with --run {run}",
    "unattended": "is marked as interrupted: no session of aligngraph works on it; a LangGraph server, or a program that runs"
    " the graph itself, may still go on with it until it is cancelled there; to go on here ask with --run {run}",
}


def cancel_run(run_id: str, db: str | None) -> None:
    """Have the run stopped and print what became of it.

    Raises:
        UsageError: there is no such run.
        StoreError: the database cannot be used.
    """
    run = visible(run_id)
    ending = asyncio.run(_stop(run_id, db))
    if ending is None:
        raise UsageError(f"no run {run!r} in this database: name another one, or where it is with --db")
    print(f"run {run} {_TOLD[ending].format(run=run)}")


async def _stop(run_id: str, db: str | None) -> Ending | None:
    async with await PolicyStore.open(Location.find(db)) as store:
        return await stop_run(store, run_id)
