"""`aligngraph policy ...` on several places: other kinds of database, nothing written where nothing should be, hostile names."""

import json
import os
import secrets
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from aligngraph.persistence import Increment, Update

POSTGRES = os.environ.get("ALIGNGRAPH_TEST_POSTGRES")
HOSTILE = "[red]d\x1b[2J\x9b\u202e\n/x"
STEERING = {"\x1b", "\x9b", "\u202e"}
LESSON = {"id": "1", "answers": {"a/direct": ["1"], "b/direct": ["2"]}, "gold": "1"}


@pytest.fixture(params=["sqlite", "postgres"] if POSTGRES else ["sqlite"])
def elsewhere(request, tmp_path):
    """An empty place, once for each kind of database that this machine has."""
    if request.param == "sqlite":
        yield str(tmp_path / "elsewhere")
        return
    schema = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        url = make_url(POSTGRES).update_query_dict({"options": f"-csearch_path={schema}"})
        yield url.render_as_string(hide_password=False)
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def record(tmp_path):
    """Return a function that writes a record of one task and returns the file."""

    def write(**fields):
        (tmp_path / "log.jsonl").write_text(json.dumps({**LESSON, **fields}) + "\n")
        return tmp_path / "log.jsonl"

    return write


@pytest.fixture
def document(policy, learned, tmp_path):
    policy("export", tmp_path / "export.json")
    return tmp_path / "export.json"


def domains(policy, place):
    return json.loads(policy("export", place=place))["domains"]


def numbers(policy, place):
    """Return what is known of the arms that the fixture has taught, by domain and arm, without times."""
    return {
        (entry["domain"], arm): (row["made_of"], row["tasks"], row["competence"], row["failures"])
        for entry in json.loads(policy("show", "--json", place=place))["domains"]
        for arm, row in entry["arms"].items()
    }


def test_what_was_learned_moves_to_another_database_and_back(policy, document, db, elsewhere):
    assert "- -> 3" in policy("import", document, "--yes", place=elsewhere)
    assert policy("diff", db, elsewhere, place=None) == "no difference\n"
    assert numbers(policy, elsewhere) == numbers(policy, db)
    Path(document).write_text(policy("export", place=elsewhere))
    policy("reset", "--domain", "maths", "--yes")
    assert domains(policy, db) != domains(policy, elsewhere)
    policy("import", document, "--yes")
    assert policy("diff", db, elsewhere, place=None) == "no difference\n"


def test_every_command_works_there(policy, document, elsewhere, record):
    policy("import", document, "--yes", place=elsewhere)
    assert "3 -> 6" in policy("import", document, "--add", "--yes", place=elsewhere)
    told = policy("learn", "--panel", record(), "--domain", "maths", place=elsewhere)
    assert told == "domain maths: learned from 1 of 1 tasks; 0 were known\n"
    assert "1 were known" in policy("learn", "--panel", record(), "--domain", "maths", place=elsewhere)
    known = json.loads(policy("history", "--arm", "a/direct", "--domain", "maths", "--json", place=elsewhere))["maths"]
    assert [(row["kind"], row["tasks"]) for row in known] == [("import", 3), ("import", 6), ("learn", 1)]
    assert policy("learn", "--runs", place=elsewhere) == "no difference\n"
    before = domains(policy, elsewhere)
    policy("reset", "--domain", "maths", "--yes", place=elsewhere)
    assert set(domains(policy, elsewhere)) == {"law"}
    policy("rollback", "--to", known[-1]["number"], "--domain", "maths", "--yes", place=elsewhere)
    assert domains(policy, elsewhere) == before
    assert "dropped the texts of 0 runs" in policy("prune", "--keep-days", 0, place=elsewhere)


def test_a_rollback_is_undone_by_another_and_that_by_a_third(policy, learned, totals):
    latest, earlier = totals(), (0.75, 1)
    policy("rollback", "--to", 1, "--domain", "maths", "--yes")
    assert totals()["a/direct"] == earlier
    policy("rollback", "--to", 3, "--domain", "maths", "--yes")
    assert totals() == latest
    policy("rollback", "--to", 4, "--domain", "maths", "--yes")
    assert totals()["a/direct"] == earlier
    kinds = [row["kind"] for row in json.loads(policy("history", "--arm", "a/direct", "--json"))["maths"]]
    assert kinds == ["task"] * 3 + ["rollback"] * 3


def files(place):
    """Return what every file of a place holds."""
    return {path.name: path.read_bytes() for path in Path(place).iterdir()}


def test_what_only_looks_changes_no_byte(policy, document, db, record):
    before = files(db)
    looks = [
        ("show",),
        ("history", "--arm", "a/direct"),
        ("export",),
        ("import", document, "--add", "--dry-run"),
        ("learn", "--panel", record(), "--dry-run"),
        ("learn", "--runs", "--dry-run"),
        ("rollback", "--to", "r3", "--domain", "maths"),
    ]
    for look in looks:
        assert policy(*look)
        assert files(db) == before, look


@pytest.fixture
def hostile(in_store):
    """Let an arm and a domain with names that steer terminals learn something."""
    part = Increment(HOSTILE, "agent", 1.0, made_of="\x1b]0;m\x07")
    in_store(lambda store: store.apply_update(Update("r\x1b[31m", 1, HOSTILE, (part,))))


def test_names_cannot_steer_the_terminal_from_any_command(policy, hostile, db, tmp_path, record):
    file = tmp_path / "export.json"
    policy("export", file)
    commands = [
        ("show",),
        ("history", "--arm", HOSTILE),
        ("import", file, "--add", "--yes"),
        ("learn", "--panel", record(domain=HOSTILE, answers={HOSTILE: ["1"]}), "--dry-run"),
        ("learn", "--panel", record(domain=HOSTILE, answers={HOSTILE: ["1"]})),
        ("rollback", "--to", 1, "--domain", HOSTILE, "--yes"),
        ("reset", "--domain", HOSTILE, "--yes"),
    ]
    for command in commands:
        told = policy(*command)
        assert told, command
        assert not STEERING & set(told), command
    assert not STEERING & set(policy("diff", file, db, place=None))


def test_a_hostile_name_survives_its_way_through_a_document(policy, hostile, db, tmp_path):
    before = policy("show", "--json")
    policy("export", tmp_path / "export.json")
    policy("reset", "--domain", HOSTILE, "--yes")
    policy("import", tmp_path / "export.json", "--yes")
    (was,), (now,) = (json.loads(text)["domains"] for text in (before, policy("show", "--json")))
    assert (now["domain"], set(now["arms"])) == (was["domain"], set(was["arms"])) == (HOSTILE, {HOSTILE})
