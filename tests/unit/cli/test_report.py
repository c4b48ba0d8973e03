import asyncio
from importlib.util import find_spec

import pytest

from aligngraph.cli import report as command
from aligngraph.cli.report import write_report
from aligngraph.errors import MissingExtraError, StoreError, UsageError
from aligngraph.persistence import Increment, Location, PolicyStore, Run, Update

PART = {"calls": 1, "prompt_tokens": 1, "completion_tokens": 1, "cost": None}
FAILED = {
    "run_id": "gone", "status": "failed", "problems": ["nobody answered"], "answer": None, "text": None, "domain": "d", "kind": "text",
    "kind_guessed": False, "seed": 0, "candidates": [], "answers": [], "ranking": None, "game": None, "alternatives": None,
    "weights": {"before": {}, "after": {}}, "usage": {"agents": {}, "principal": PART, "total": PART}, "seconds": 0.1,
}  # fmt: skip


@pytest.fixture
def keep(db):
    """Return a function that does something with the store."""

    def call(work):
        async def in_store():
            async with await PolicyStore.open(Location.find(db)) as store:
                await work(store)

        asyncio.run(in_store())

    return call


@pytest.fixture
def learned(keep):
    """Keep one run that taught something, and whose evidence nobody can read."""

    async def learn(store):
        await store.start_run(Run("r1", "d", "task", 0))
        await store.apply_update(Update("r1", 1, "d", (Increment("a/x", "agent", 1.0),)))
        await store.finish_run("r1", "failed", {"nonsense": True}, evidence={"arms": "nonsense"})

    keep(learn)


def test_neither_a_run_nor_a_domain(keep, db, tmp_path):
    keep(lambda store: store.start_run(Run("r1", "d", "task", 0)))
    with pytest.raises(
        UsageError, match="no run and no domain 'x' in this database: name one, or where it is with --db"
    ):
        write_report("x", tmp_path / "r.html", db=db, text=False)
    assert not (tmp_path / "r.html").exists()


def test_a_mistyped_place_gets_no_database(tmp_path):
    with pytest.raises(UsageError, match="nothing was learned at"):
        write_report("x", tmp_path / "r.html", db=str(tmp_path / "nowhere"), text=False)
    assert not (tmp_path / "nowhere").exists()


def test_a_run_that_has_not_ended_has_no_report_yet(keep, db):
    keep(lambda store: store.start_run(Run("r1", "d", "task", 0)))
    with pytest.raises(UsageError, match="run 'r1' has no decision to report: it has not ended"):
        write_report("r1", None, db=db, text=True)


def test_a_decision_that_cannot_be_read_is_an_error_of_the_store(learned, db):
    with pytest.raises(StoreError, match="the stored decision of run 'r1' cannot be read"):
        write_report("r1", None, db=db, text=True)


def test_a_run_that_failed_is_reported(keep, db, capsys):
    async def fail(store):
        await store.start_run(Run("gone", "d", "task", 0))
        await store.finish_run("gone", "failed", FAILED)

    keep(fail)
    write_report("gone", None, db=db, text=True)
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Run gone", "Status: failed (there was nothing to decide with)", "! nobody answered",
    ]  # fmt: skip


def test_evidence_that_cannot_be_read_is_a_problem_and_the_rest_is_shown(learned, db, capsys):
    write_report("d", None, db=db, text=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Domain d", "Status: 1 task learned from, 0 with feedback, the last in run r1"]
    assert lines[2].startswith("! set aside: run 'r1': the stored evidence of a task cannot be read")
    assert any("a/x" in line and "0.600" in line for line in lines)


def test_of_a_run_and_a_domain_of_one_name_the_run_is_meant(keep, db, capsys):
    async def learn(store):
        await store.start_run(Run("gone", "gone", "task", 0))
        await store.apply_update(Update("gone", 1, "gone", (Increment("a/x", "agent", 1.0),)))
        await store.finish_run("gone", "failed", FAILED)

    keep(learn)
    write_report("gone", None, db=db, text=True)
    assert capsys.readouterr().out.startswith("Run gone\n")


def test_the_page_goes_where_it_is_told_to_and_an_older_one_is_replaced(learned, db, tmp_path, capsys):
    page = tmp_path / "d.html"
    page.write_text("old")
    write_report("d", page, db=db, text=False)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "written to" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_says_so(learned, db, tmp_path):
    with pytest.raises(UsageError, match="cannot be written: Is a directory; name another file with --output"):
        write_report("d", tmp_path, db=db, text=False)


def test_a_missing_package_is_named_before_anything_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "matplotlib" else find_spec(name))
    with pytest.raises(MissingExtraError, match=r'reports need matplotlib: pip install "aligngraph\[report\]"'):
        write_report("d", None, db=str(tmp_path / "none"), text=True)
    assert not (tmp_path / "none").exists()
