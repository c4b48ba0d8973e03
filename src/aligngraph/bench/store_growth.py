"""What the policy store costs a task, and whether that grows with the tasks it remembers."""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Select, String, Table, cast, create_engine, literal, select, true
from sqlalchemy.engine import URL

from aligngraph.bench.measurement import Measurement
from aligngraph.persistence import Candidate, Increment, Location, PolicyStore, Run, Update
from aligngraph.persistence.tables import CANDIDATES, DOMAINS, RANKINGS, RUNS, UPDATES

TASK_MS = 10
GROWTH = 1.25  # what two measurements of the same thing may differ by
TASKS_A_VALUE = 15
AGENTS = 8
CANDIDATES_A_TASK = 2 * AGENTS
_FIRST = "first"


@dataclass(frozen=True)
class Past:
    """How many tasks a young and an old store remember."""

    young: int = 10
    old: int = 100_000


async def measure_store(folder: Path, repeats: int, past: Past | None = None) -> list[Measurement]:
    """Return what all that the store does for one task takes in a young and in an old store, and the ratio of the two.

    The two are measured in turn; each value is the median of several tasks.
    """
    ages = past or Past()
    async with AsyncExitStack() as stack:
        young, old = [
            await stack.enter_async_context(await _open_with(folder / str(tasks), tasks))
            for tasks in (ages.young, ages.old)
        ]
        pairs = [(await _value_ms(young, f"y{i}"), await _value_ms(old, f"o{i}")) for i in range(repeats)]
    return [
        Measurement(f"store, one task after {ages.young:,}", "ms", tuple(first for first, _ in pairs), TASK_MS),
        Measurement(f"store, one task after {ages.old:,}", "ms", tuple(second for _, second in pairs), TASK_MS),
        Measurement("store, the old over the young", "times", tuple(late / soon for soon, late in pairs), GROWTH),
    ]


async def _open_with(folder: Path, tasks: int) -> PolicyStore:
    """Return the store in `folder`, remembering this many tasks."""
    location = Location(folder)
    async with await PolicyStore.open(location) as store:
        await _do_task(store, _FIRST)
    await asyncio.to_thread(_repeat_first_task, folder / "policy.sqlite", tasks - 1)
    return await PolicyStore.open(location)


def _repeat_first_task(file: Path, times: int) -> None:
    """Copy the rows of the first task, in one transaction: task by task it would take minutes."""
    engine = create_engine(URL.create("sqlite", database=str(file)))
    with engine.begin() as connection:
        for table in (RUNS, CANDIDATES, RANKINGS, UPDATES):
            connection.execute(table.insert().from_select(table.columns.keys(), _copies(table, times)))
        connection.execute(DOMAINS.update().values(updates=times + 1))
    engine.dispose()


def _copies(table: Table, times: int) -> Select[Any]:
    number = select(literal(1).label("n")).cte("numbers", recursive=True)
    number = number.union_all(select(number.c.n + 1).where(number.c.n < times))
    own = {"run_id": literal("past-") + cast(number.c.n, String), "sequence": number.c.n + 1}
    columns = [own.get(column.name, column) for column in table.columns]
    return select(*columns).select_from(table.join(number, true())).where(table.c.run_id == _FIRST, number.c.n <= times)


async def _value_ms(store: PolicyStore, name: str) -> float:
    seconds = []
    for number in range(TASKS_A_VALUE):
        start = time.perf_counter()
        await _do_task(store, f"{name}-{number}")
        seconds.append(time.perf_counter() - start)
    return median(seconds) * 1000


async def _do_task(store: PolicyStore, run_id: str) -> None:
    """Do what the nodes of one task of one round ask of the store, in their order."""
    await asyncio.gather(_start(store, run_id), store.read_sums("general"))
    await asyncio.gather(*(store.read_candidates(run_id) for _ in range(AGENTS)))
    await asyncio.gather(*(store.record_candidate(run_id, _candidate(number)) for number in range(CANDIDATES_A_TASK)))
    await store.read_ranking(run_id, 1)
    await store.read_texts(run_id)
    await store.record_ranking(run_id, 1, {"order": [1, 0], "preference": [[0.5, 0.0], [1.0, 0.5]]})
    increments = [Increment(f"agent{number}/direct", "agent", 0.5) for number in range(AGENTS)]
    await store.apply_update(Update(run_id, 1, "general", tuple(increments)))
    await store.read_texts(run_id)
    await store.finish_run(run_id, "ok", {"answer": "42"})


async def _start(store: PolicyStore, run_id: str) -> None:
    await store.read_run(run_id)
    await store.start_run(Run(run_id, "general", "What is 17 + 25?", seed=0))


def _candidate(number: int) -> Candidate:
    agent, sample = divmod(number, 2)
    text = "Step by step. " * 20 + "\nAnswer: 42"
    return Candidate(f"agent{agent}.{sample}", f"agent{agent}", "direct", sample, number, "42", text)
