"""What only SQLite can get wrong; the promises common to all databases are in tests/contract."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from blockbuster import blockbuster_ctx

from aligngraph.errors import MissingExtraError, StoreError
from aligngraph.persistence import Candidate, Increment, Location, PolicyStore, Run, Update

AN_UPDATE = Update("r", 0, "maths", (Increment("careful/plain", "agent", 0.5),))


@pytest.fixture
def location(tmp_path):
    return Location.parse(str(tmp_path))


async def test_the_event_loop_is_never_blocked(location):
    with blockbuster_ctx():
        async with await PolicyStore.open(location) as store:
            await store.start_run(Run(run_id="r", domain="maths", task="t", seed=1))
            await store.record_candidate("r", Candidate("c", "careful", "plain", 0, 0, "1", "it is 1"))
            await store.record_ranking("r", 0, {"order": [0]})
            await store.apply_update(AN_UPDATE)
            await store.finish_run("r", "ok", {})
            await store.summary()


async def test_no_thread_outlives_the_store(location):
    async with await PolicyStore.open(location) as store:
        await asyncio.gather(*(store.read_sums("maths") for _ in range(4)))
        workers = [thread for thread in threading.enumerate() if thread.name.startswith("aligngraph-store")]
        assert len(workers) == 1
    assert not workers[0].is_alive()


def test_a_process_that_forgets_to_close_still_ends(location):
    forgetful = (
        "import asyncio, sys; from aligngraph.persistence import *;"
        "asyncio.run(PolicyStore.open(Location.parse(sys.argv[1])))"
    )
    command = [sys.executable, "-W", "ignore", "-c", forgetful, str(location.place)]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("content", [b"hello, I am a text file" * 50, b"SQLite format 3\0" + b"\0" * 4080])
async def test_a_file_that_is_no_database_is_reported_and_kept(location, content):
    location.policy.write_bytes(content)
    with pytest.raises(StoreError, match=r"policy\.sqlite.*--db"):
        await PolicyStore.open(location)
    assert location.policy.read_bytes() == content


async def test_a_file_that_breaks_while_open_is_reported(location):
    async with await PolicyStore.open(location) as store:
        await store.apply_update(AN_UPDATE)
    content = bytearray(location.policy.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # the first page, which lists the tables, stays
    location.policy.write_bytes(content)
    with pytest.raises(StoreError, match=r"policy\.sqlite.*malformed.*--db"):
        async with await PolicyStore.open(location) as store:
            await store.read_sums("maths")


async def test_another_programs_database_is_reported_and_kept(location):
    with closing(sqlite3.connect(location.policy)) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num)")
    before = location.policy.read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        await PolicyStore.open(location)
    assert location.policy.read_bytes() == before


async def test_a_failed_opening_leaves_no_thread_and_no_connection(location):
    async with await PolicyStore.open(location):
        pass
    with closing(sqlite3.connect(location.policy)) as connection, connection:
        connection.execute("UPDATE aligngraph_version SET version_num = 'policy_9999'")
    with pytest.raises(StoreError, match="newer aligngraph"):
        await PolicyStore.open(location)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("aligngraph-store")] == []
    assert [path.name for path in location.place.iterdir()] == ["policy.sqlite"]  # the last to close removes the log


@pytest.mark.parametrize("column", ["total", "count", "failures", "gradient", "loss"])
async def test_text_in_place_of_a_number_counts_as_unseen(location, column):
    async with await PolicyStore.open(location) as store:
        await store.apply_update(AN_UPDATE)
        with closing(sqlite3.connect(location.policy)) as connection, connection:
            connection.execute(f"UPDATE arms SET {column} = 'many'")  # noqa: S608
        sums = await store.read_sums("maths")
    assert sums.here == {}
    assert "'many'" in sums.quarantined[0]


async def test_a_value_broken_by_hand_is_reported(location):
    async with await PolicyStore.open(location) as store:
        await store.start_run(Run(run_id="r", domain="maths", task="t", seed=1))
        with closing(sqlite3.connect(location.policy)) as connection, connection:
            connection.execute("UPDATE runs SET team = '{broken'")
        with pytest.raises(StoreError, match=r"policy\.sqlite: Expecting property name"):
            await store.read_run("r")


async def test_an_update_cut_short_leaves_nothing(location):
    async with await PolicyStore.open(location) as store:
        with closing(sqlite3.connect(location.policy)) as connection:
            connection.execute("CREATE TRIGGER cut AFTER INSERT ON arms BEGIN SELECT raise(ABORT, 'cut'); END")
            with pytest.raises(StoreError, match="cut"):
                await store.apply_update(AN_UPDATE)
            connection.execute("DROP TRIGGER cut")
        assert await store.read_update("r", 0) is None
        assert (await store.apply_update(AN_UPDATE)).applied
        assert (await store.read_sums(AN_UPDATE.domain)).find("careful/plain").count == 1.0


async def test_a_cancelled_update_leaves_the_store_usable(location):
    async with await PolicyStore.open(location) as store:
        for steps in range(12):
            call = asyncio.create_task(store.apply_update(AN_UPDATE))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        await store.apply_update(AN_UPDATE)
        assert (await store.read_sums("maths")).find("careful/plain").count == 1.0


async def test_postgresql_without_psycopg_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r'pip install "aligngraph\[postgres\]"'):
        await PolicyStore.open(Location.parse("postgresql://127.0.0.1:1/none"))


async def test_a_server_that_does_not_answer_is_reported():
    with pytest.raises(StoreError, match=r"cannot use postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/none: .*--db"):
        await PolicyStore.open(Location.parse("postgresql://me:secret@127.0.0.1:1/none"))


async def test_rows_that_make_no_sense_are_only_warned_of_where_nothing_can_be_written(location):
    """F18: a full disk or a file of somebody else's stops no run."""
    async with await PolicyStore.open(location) as store:
        await store.apply_update(AN_UPDATE)
        with closing(sqlite3.connect(location.policy)) as connection, connection:
            connection.execute("UPDATE arms SET total = 7")
            connection.execute("CREATE TRIGGER full BEFORE INSERT ON quarantine BEGIN SELECT raise(ABORT, 'full'); END")
        first, second = await store.read_sums("maths"), await store.read_sums("maths")
        assert (first.here, second.quarantined) == ({}, first.quarantined)
        with closing(sqlite3.connect(location.policy)) as connection, connection:
            connection.execute("DROP TRIGGER full")
        assert (await store.read_sums("maths")).quarantined == first.quarantined
        assert (await store.read_sums("maths")).quarantined == ()


async def test_a_name_that_is_no_text_is_nobody_s(location):
    async with await PolicyStore.open(location) as store:
        await store.apply_update(AN_UPDATE)
        with closing(sqlite3.connect(location.policy)) as connection, connection:
            connection.execute("UPDATE arms SET arm = x'00'")
        sums = await store.read_sums("maths")
        assert (sums.here, sums.quarantined) == ({}, ())
        assert (await store.summary())[0].arms == {}
