"""The benchmark of speed and size: every figure next to the limit that the product is held to."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from aligngraph.bench.cold_start import measure_cold_start
from aligngraph.bench.game_cost import measure_game
from aligngraph.bench.measurement import Measurement
from aligngraph.bench.memory import measure_memory
from aligngraph.bench.report import print_table, write_json
from aligngraph.bench.round_overhead import measure_round
from aligngraph.bench.startup import measure_startup
from aligngraph.bench.store_growth import measure_store
from aligngraph.errors import UsageError

REPEATS = 7


def run_speed(path: Path, repeats: int = REPEATS, *, cold: bool = False) -> None:
    """Measure everything, print the table and write it to `path` as JSON.

    Args:
        path: the JSON file.
        repeats: how often everything but the cold start is measured.
        cold: measure `make run` on a clone of the repository in the working folder as well, once; it downloads all.

    Raises:
        UsageError: no repeats, a file that cannot be written, or no cold start.
    """
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}: at least 1 is needed")
    console = Console()
    console.print("measuring ...", style="dim")  # a spinner would be measured too
    with TemporaryDirectory() as folder:
        rows = measure_cold_start(Path(folder), Path.cwd()) if cold else []
        rows += _measure(Path(folder), repeats)
    publish(rows, path, console)


def publish(rows: Sequence[Measurement], path: Path, console: Console) -> None:
    """Print the rows and write them to `path`."""
    print_table(rows, console)
    write_json(rows, path)
    over = sum(row.verdict == "over" for row in rows)
    console.print(f"{over} of {len(rows)} over the limit; written to {path}", highlight=False, soft_wrap=True)


def _measure(folder: Path, repeats: int) -> Iterator[Measurement]:
    for topic in ("round", "memory", "store"):
        (folder / topic).mkdir()
    yield from asyncio.run(measure_round(folder / "round", repeats))
    yield from measure_startup(repeats)
    yield from measure_memory(folder / "memory", repeats)
    yield from measure_game(repeats)
    yield from asyncio.run(measure_store(folder / "store", repeats))
