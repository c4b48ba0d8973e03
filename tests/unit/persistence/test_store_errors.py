import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnectionError

from aligngraph.errors import StoreError
from aligngraph.persistence.store_errors import reported

FILE = Path("folder/policy.sqlite")


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("attempt to write a readonly database"),
        OperationalError("SELECT 1", {}, sqlite3.OperationalError("unable to open database file")),
        NoFreeConnectionError("none free"),
        PermissionError(13, "Permission denied", "folder"),
    ],
)
def test_the_first_line_names_the_file_and_says_what_to_do(error):
    with pytest.raises(StoreError) as caught, reported(FILE):
        raise error
    first_line, *others = str(caught.value).splitlines()
    assert first_line.startswith("cannot use folder/policy.sqlite: ")
    assert first_line.endswith("move it away, make it writable, or name another folder with --db")
    assert others == []
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("cause", ["file is not a database", "database disk image is malformed", "disk I/O error"])
def test_of_a_damaged_file_both_ways_out_are_said(cause):
    with pytest.raises(StoreError) as caught, reported(FILE):
        raise sqlite3.DatabaseError(cause)
    assert str(caught.value) == (
        f"cannot use folder/policy.sqlite: {cause}; it is damaged and was left as it is: move it away to begin anew, from a "
        "copy or with `aligngraph policy import` of an export, or name another folder with --db"
    )


def test_a_locked_file_is_not_to_be_moved_away():
    with pytest.raises(StoreError, match="database is locked; another process holds it: try again"), reported(FILE):
        raise sqlite3.OperationalError("database is locked")


def test_a_servers_message_becomes_one_line_without_the_password():
    url = make_url("postgresql+psycopg://me:secret@db/name")
    with pytest.raises(StoreError) as caught, reported(url):
        raise OperationalError("SELECT 1", {}, OSError("connection refused\n\tis it running?"))
    assert str(caught.value) == (
        "cannot use postgresql+psycopg://me:***@db/name: connection refused is it running?; "
        "check that the server runs and lets you in, or name another database with --db"
    )


def test_drivers_can_be_added():
    with pytest.raises(StoreError, match="odd"), reported(FILE, KeyError):
        raise KeyError("odd")


@pytest.mark.parametrize("error", [ValueError("ours"), StoreError("already said"), KeyError("x")])
def test_every_other_error_passes(error):
    with pytest.raises(type(error)) as caught, reported(FILE):
        raise error
    assert caught.value is error
