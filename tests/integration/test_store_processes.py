"""Processes that learn into one store at the same time, and one that is killed."""

import math
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from aligngraph.persistence import ArmKey, Location, PolicyStore, replayed
from aligngraph.persistence.sqlite_file import BUSY_TIMEOUT_S

WORKER = Path(__file__).with_name("store_worker.py")
POSTGRES = os.environ.get("ALIGNGRAPH_TEST_POSTGRES")
SQLITE_WORKERS, POSTGRES_WORKERS, UPDATES = 8, 32, 500
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.fixture
def location(tmp_path):
    return Location.parse(str(tmp_path / "store"))


@pytest.fixture
def postgres():
    """A schema of its own on the server that this machine has; what is shown there need not wait for the disk."""
    schema = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        url = make_url(POSTGRES).update_query_dict({"options": f"-csearch_path={schema} -csynchronous_commit=off"})
        yield Location.parse(url.render_as_string(hide_password=False))
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def start(location, *arguments):
    place = location.place if isinstance(location.place, Path) else location.place.render_as_string(hide_password=False)
    return subprocess.Popen([sys.executable, WORKER, str(place), *map(str, arguments)], **PIPES)


def run_together(location, workers, updates):
    with ExitStack() as stack:
        processes = [stack.enter_context(start(location, "learn", i, workers, updates)) for i in range(workers)]
        errors = [process.communicate(timeout=200)[1] for process in processes]
    assert errors == [""] * workers
    assert [process.returncode for process in processes] == [0] * workers


@contextmanager
def reading(location):
    """Read all the time, in a process of its own; yield what is then filled with how often, and the slowest."""
    said = []
    with start(location, "read") as reader:
        yield said
        printed, errors = reader.communicate(timeout=60)
    assert (errors, reader.returncode) == ("", 0)
    said += map(float, printed.split())


async def check_nothing_was_lost(location, workers):
    """Compare the sums with those of one process that sends all updates, and with the log."""
    async with await PolicyStore.open(location) as store:
        sums = await store.read_sums("maths")
        [maths] = await store.summary()
        log = [update async for update in store.log.read("maths")]
    arm, made = ArmKey("careful/plain", "m"), replayed(log)
    total = math.fsum(number % 7 / 7 for number in range(UPDATES)) * workers
    gradient = math.fsum(-number / 3 for number in range(UPDATES)) * workers
    loss = math.fsum(owner / 9 for owner in range(workers)) * UPDATES
    assert maths.tasks == sums.here[arm].count == sums.here[ArmKey("principal")].total == workers * UPDATES
    assert sums.here[arm].total == pytest.approx(total, abs=1e-9)
    assert (sums.here[arm].gradient, sums.here[arm].loss) == pytest.approx((gradient, loss), rel=1e-12)
    assert made[arm] == sums.here[arm]
    assert [update.sequence for update in log] == list(range(1, workers * UPDATES + 1))
    assert sums.quarantined == ()


async def test_eight_processes_lose_no_update_count_none_twice_and_keep_nobody_from_reading(location):
    """F6, F8, F9: they open the new database at the same moment; no "database is locked" reaches anybody."""
    with reading(location) as said:
        run_together(location, SQLITE_WORKERS, UPDATES)
    reads, slowest_s = said
    assert reads > UPDATES / 10
    assert slowest_s < BUSY_TIMEOUT_S
    await check_nothing_was_lost(location, SQLITE_WORKERS)


if POSTGRES:  # as for the contract of the store: once for each kind of database that this machine has

    async def test_thirty_two_processes_lose_no_update_on_a_server(postgres):
        """F8, F9: an update waits for the one before it in the same domain."""
        with start(postgres, "fork", POSTGRES_WORKERS, UPDATES) as workers:
            _, errors = workers.communicate(timeout=280)
        assert (errors, workers.returncode) == ("", 0)
        await check_nothing_was_lost(postgres, POSTGRES_WORKERS)


def test_eight_processes_may_open_a_new_database_at_once(location):
    run_together(location, workers=8, updates=0)
    with closing(sqlite3.connect(location.policy)) as connection:
        assert connection.execute("SELECT count(*) FROM aligngraph_version").fetchone() == (1,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_writer_killed_amid_a_thousand_updates_loses_nothing_it_acknowledged(location):
    with start(location, "learn", 0, 1, 1000) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(300)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += map(int, writer.stdout.read().split())
    async with await PolicyStore.open(location) as store:
        [maths] = await store.summary()
        log = [update async for update in store.log.read("maths")]
    assert len(acknowledged) < 1000
    assert [update.run_id for update in log[: len(acknowledged)]] == [f"run-0-{number}" for number in acknowledged]
    assert len(acknowledged) <= maths.tasks <= len(acknowledged) + 1  # one may be committed and not yet acknowledged
    assert maths.arms[ArmKey("careful/plain", "m")].count == maths.tasks == len(log)
