import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence.sqlite_file import claim, shrink


def execute(file, *statements):
    with closing(sqlite3.connect(file)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def test_a_new_file_is_made_with_its_folders_and_logs_ahead(tmp_path):
    file = tmp_path / "a" / "b" / "policy.sqlite"
    claim(file, "ours")
    assert execute(file, "PRAGMA journal_mode") == [[("wal",)]]


@pytest.mark.parametrize("attempt", range(10))
def test_a_new_file_may_be_claimed_by_many_at_once(tmp_path, attempt):
    file = tmp_path / f"{attempt}.sqlite"
    with ThreadPoolExecutor(16) as threads:
        claims = [threads.submit(claim, file, "ours") for _ in range(16)]
    assert [one.exception() for one in claims] == [None] * 16
    assert execute(file, "PRAGMA journal_mode") == [[("wal",)]]


def test_a_file_that_stays_locked_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("aligngraph.persistence.sqlite_file.BUSY_TIMEOUT_S", 0.02)
    file = tmp_path / "policy.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="database is locked; another process holds it: try again"):
            claim(file, "ours")
        other.execute("COMMIT")
    claim(file, "ours")


def test_our_file_is_taken_as_it_is(tmp_path):
    file = tmp_path / "policy.sqlite"
    execute(file, "CREATE TABLE ours (x)", "INSERT INTO ours VALUES (1)")
    claim(file, "ours")
    assert execute(file, "SELECT x FROM ours") == [[(1,)]]


def test_another_programs_database_is_left_byte_for_byte(tmp_path):
    file = tmp_path / "policy.sqlite"
    execute(file, "CREATE TABLE bookmarks (x)")
    before = file.read_bytes()
    with pytest.raises(StoreError, match=r"policy\.sqlite is another program's database: move it away .*--db"):
        claim(file, "ours")
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["policy.sqlite"]


@pytest.mark.parametrize("content", [b"not a database, " * 300, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_database_is_left_byte_for_byte(tmp_path, content):
    file = tmp_path / "policy.sqlite"
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"cannot use .*policy.sqlite: .*--db"):
        claim(file, "ours")
    assert file.read_bytes() == content


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "store").write_text("mine")
    with pytest.raises(StoreError, match=r"File exists.*move it away"):
        claim(tmp_path / "store" / "policy.sqlite", "ours")
    with pytest.raises(StoreError, match="Not a directory"):
        claim(tmp_path / "store" / "deeper" / "policy.sqlite", "ours")
    assert (tmp_path / "store").read_text() == "mine"


def test_a_folder_in_place_of_the_file(tmp_path):
    (tmp_path / "policy.sqlite").mkdir()
    with pytest.raises(StoreError, match="unable to open database file"):
        claim(tmp_path / "policy.sqlite", "ours")


def fill(file):
    claim(file, "ours")
    execute(file, "CREATE TABLE ours (x)", "INSERT INTO ours VALUES (zeroblob(1000000))", "DELETE FROM ours")
    return file.stat().st_size


def test_the_space_of_what_was_deleted_is_given_back(tmp_path):
    file = tmp_path / "policy.sqlite"
    before = fill(file)
    shrink(file)
    assert file.stat().st_size < before / 50
    assert execute(file, "PRAGMA integrity_check", "PRAGMA journal_mode") == [[("ok",)], [("wal",)]]


def test_a_file_that_somebody_writes_to_is_left_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("aligngraph.persistence.sqlite_file.BUSY_TIMEOUT_S", 0.02)
    file = tmp_path / "policy.sqlite"
    before = fill(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="database is locked; another process holds it: try again"):
            shrink(file)
        other.execute("COMMIT")
        assert file.stat().st_size == before
