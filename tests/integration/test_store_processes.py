import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from aligngraph.persistence import ArmSums, Location, PolicyStore

WORKER = Path(__file__).with_name("store_worker.py")
ENDLESS = 10**6


@pytest.fixture
def location(tmp_path):
    return Location.parse(str(tmp_path / "store"))


def start(location, *arguments):
    command = [sys.executable, WORKER, location.place, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_together(location, workers, updates):
    with ExitStack() as stack:
        processes = [stack.enter_context(start(location, i, workers, updates)) for i in range(workers)]
        errors = [process.communicate(timeout=100)[1] for process in processes]
    assert errors == [""] * workers
    assert [process.returncode for process in processes] == [0] * workers


async def test_eight_processes_lose_no_update_and_count_none_twice(location):
    """F6, F8: every update is sent by two processes; they open the new database at the same moment."""
    run_together(location, workers=8, updates=200)
    async with await PolicyStore.open(location) as store:
        sums = await store.read_sums("maths")
        [maths] = await store.summary()
    assert sums.here == {
        "careful": ArmSums("agent", 800.0, 1600.0, 0),
        "principal": ArmSums("principal", 1600.0, 1600.0, 0),
    }
    assert (sums.quarantined, maths.tasks) == ((), 1600)


def test_eight_processes_may_open_a_new_database_at_once(location):
    run_together(location, workers=8, updates=0)
    with closing(sqlite3.connect(location.policy)) as connection:
        assert connection.execute("SELECT count(*) FROM aligngraph_version").fetchone() == (1,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_writer_killed_in_the_middle_loses_nothing_it_acknowledged(location):
    with start(location, 0, 1, ENDLESS) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(60)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += map(int, writer.stdout.read().split())
    async with await PolicyStore.open(location) as store:
        [maths] = await store.summary()
        for number in acknowledged:
            assert await store.read_update(f"run-0-{number}", 0) is not None
    assert len(acknowledged) <= maths.tasks <= len(acknowledged) + 1  # one may be committed and not yet acknowledged
    assert maths.arms["careful"].count == maths.tasks
