import asyncio
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from aligngraph.errors import StoreError
from aligngraph.persistence.database import Database, within_timeout

ADD = text("INSERT INTO numbers VALUES (1)")
COUNT = text("SELECT count(*) FROM numbers")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "numbers.sqlite"


@pytest.fixture
async def database(file):
    database = await Database.open(file, "numbers")
    await database.write(lambda connection: connection.execute(text("CREATE TABLE numbers (x)")))
    yield database
    await database.close()


@pytest.fixture
def elsewhere(file, database):
    """A connection as another process has it, that never waits."""
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)) as connection:
        yield connection


def add(connection):
    connection.execute(ADD)


def count(connection):
    return connection.scalar(COUNT)


async def test_what_is_written_can_be_read(database):
    await database.write(add)
    assert await database.read(count) == 1


async def test_a_write_that_fails_changes_nothing(database):
    def fail(connection):
        add(connection)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        await database.write(fail)
    assert await database.read(count) == 0


async def test_an_error_of_the_database_names_the_file(database):
    with pytest.raises(StoreError, match=r"numbers\.sqlite: no such table: words"):
        await database.read(lambda connection: connection.execute(text("SELECT * FROM words")))


async def test_a_write_has_the_file_to_itself_from_the_start(database, elsewhere):
    def another_begins(_):
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            elsewhere.execute("BEGIN IMMEDIATE")

    await database.write(another_begins)


async def test_a_read_keeps_nobody_from_writing_and_sees_one_state(database, elsewhere):
    def read_twice(connection):
        before = count(connection)
        elsewhere.execute(ADD.text)
        return before, count(connection)

    assert await database.read(read_twice) == (0, 0)
    assert await database.read(count) == 1


async def test_a_write_waits_for_another_process(database, elsewhere):
    elsewhere.execute("BEGIN IMMEDIATE")
    elsewhere.execute(ADD.text)
    writing = asyncio.create_task(database.write(add))
    _, waiting = await asyncio.wait({writing}, timeout=0.05)
    elsewhere.execute("COMMIT")
    await writing
    assert waiting == {writing}
    assert await database.read(count) == 2


async def test_closing_ends_what_is_under_way_first(file, database):
    writing = asyncio.create_task(database.write(add))
    await asyncio.sleep(0)
    writing.cancel()
    await database.close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute(COUNT.text).fetchone()[0] in {0, 1}  # not begun, or ended
        connection.execute("BEGIN EXCLUSIVE")


async def test_a_commit_is_not_flushed_to_the_disk_one_by_one(database):
    assert await database.read(lambda connection: connection.scalar(text("PRAGMA synchronous"))) == 1


@pytest.mark.parametrize(("query", "timeout"), [("", "10"), ("?connect_timeout=3", "3")])
def test_connecting_takes_ten_seconds_at_most_unless_the_url_says_otherwise(query, timeout):
    assert within_timeout(make_url(f"postgresql+psycopg://db/name{query}")).query["connect_timeout"] == timeout
