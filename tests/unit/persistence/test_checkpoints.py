"""What only SQLite can get wrong; the promises common to all databases are in tests/contract."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from blockbuster import blockbuster_ctx
from langgraph.checkpoint.base import empty_checkpoint

from aligngraph.errors import MissingExtraError, StoreError
from aligngraph.persistence import Location, open_checkpointer, prune_checkpoints


@pytest.fixture
def location(tmp_path):
    return Location.parse(str(tmp_path / "store"))


def rows(location, statement):
    with closing(sqlite3.connect(location.checkpoints)) as connection:
        return connection.execute(statement).fetchall()


async def put(saver, checkpoint_id, namespace="", parent=None):
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace, "checkpoint_id": parent}}
    written = await saver.aput(config, {**empty_checkpoint(), "id": checkpoint_id}, {}, {})
    await saver.aput_writes(written, [("channel", checkpoint_id)], task_id="task")


async def test_the_file_waits_and_logs_ahead(location):
    async with open_checkpointer(location) as saver:
        pragmas = [await saver.conn.execute_fetchall(f"PRAGMA {name}") for name in ("synchronous", "busy_timeout")]
        assert pragmas == [[(1,)], [(30000,)]]
        assert rows(location, "PRAGMA journal_mode") == [("wal",)]


async def test_pruning_keeps_the_last_of_each_lasting_namespace_with_its_writes(location):
    async with open_checkpointer(location) as saver:
        for namespace in ("", "memory", "agent:1234", "agent:1234|inner"):
            await put(saver, "1", namespace)
            await put(saver, "2", namespace, parent="1")
        await prune_checkpoints(saver, "t")
        kept = [("", "2"), ("memory", "2")]
        assert rows(location, "SELECT checkpoint_ns, checkpoint_id FROM checkpoints ORDER BY 1") == kept
        assert rows(location, "SELECT checkpoint_ns, checkpoint_id FROM writes ORDER BY 1") == kept
        assert rows(location, "SELECT DISTINCT parent_checkpoint_id FROM checkpoints") == [(None,)]


async def test_a_pruning_that_fails_deletes_nothing(location):
    async with open_checkpointer(location) as saver:
        await put(saver, "1")
        await put(saver, "2")
        with closing(sqlite3.connect(location.checkpoints)) as connection:
            connection.execute("CREATE TRIGGER t BEFORE DELETE ON writes BEGIN SELECT raise(ABORT, 'no room'); END")
        with pytest.raises(StoreError, match=r"checkpoints\.sqlite: no room"):
            await prune_checkpoints(saver, "t")
        assert not saver.conn.in_transaction
        assert rows(location, "SELECT count(*) FROM checkpoints") == [(2,)]


async def test_another_strategy_is_refused(location):
    async with open_checkpointer(location) as saver:
        with pytest.raises(NotImplementedError, match="'delete'"):
            await saver.aprune(["t"], strategy="delete")


async def test_the_event_loop_is_never_blocked(location):
    with blockbuster_ctx():
        async with open_checkpointer(location) as saver:
            await put(saver, "1")
            await prune_checkpoints(saver, "t")


@pytest.mark.parametrize("content", [b"hello, I am a text file" * 50, b"SQLite format 3\0" + b"\xff" * 4080])
async def test_a_file_that_is_no_database_is_reported_and_kept(location, content):
    location.place.mkdir()
    location.checkpoints.write_bytes(content)
    with pytest.raises(StoreError, match=r"checkpoints\.sqlite.*--db"):
        async with open_checkpointer(location):
            pass
    assert location.checkpoints.read_bytes() == content


async def test_another_programs_database_is_reported_and_kept(location):
    location.place.mkdir()
    with closing(sqlite3.connect(location.checkpoints)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (x)")
    with pytest.raises(StoreError, match="another program's database"):
        async with open_checkpointer(location):
            pass
    assert rows(location, "SELECT name FROM sqlite_master") == [("bookmarks",)]


@pytest.mark.parametrize("use", ["aget_tuple", "alist", "aput", "aput_writes", "adelete_thread"])
async def test_a_file_that_breaks_while_open_is_reported(location, use):
    thread = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
    async with open_checkpointer(location) as saver:
        await put(saver, "1")
        with closing(sqlite3.connect(location.checkpoints)) as connection:
            connection.execute("DROP TABLE writes")
            connection.execute("DROP TABLE checkpoints")
        uses = {
            "aget_tuple": lambda: saver.aget_tuple(thread),
            "alist": lambda: anext(saver.alist(thread)),
            "aput": lambda: put(saver, "2"),
            "aput_writes": lambda: saver.aput_writes(thread, [("channel", 1)], task_id="task"),
            "adelete_thread": lambda: saver.adelete_thread("t"),
        }
        with pytest.raises(StoreError, match=r"^cannot use .*checkpoints\.sqlite: no such table.*--db$"):
            await uses[use]()


async def test_what_fails_inside_is_not_the_files_fault(location):
    with pytest.raises(OSError, match="theirs"):
        async with open_checkpointer(location):
            raise OSError("theirs")


async def test_postgresql_without_psycopg_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r'pip install "aligngraph\[postgres\]"'):
        async with open_checkpointer(Location.parse("postgresql://127.0.0.1:1/none")):
            pass


async def test_a_server_that_does_not_answer_is_reported():
    with pytest.raises(StoreError, match=r"me:\*\*\*@127.0.0.1:1/none: .*check that the server runs"):
        async with open_checkpointer(Location.parse("postgresql://me:secret@127.0.0.1:1/none")):
            pass


def test_importing_the_package_does_not_import_the_savers():
    code = (
        "import sys, aligngraph.persistence; sys.exit(any(m.startswith(('langgraph', 'alembic')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
