"""Which texts last: none, encrypted ones, or those in clear. What is learned is the same."""

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aligngraph import Team, afeedback, open_session
from aligngraph.cli.app import app
from aligngraph.errors import RunCancelledError, StoreError, TeamError, UsageError
from aligngraph.graphs.delegation import make_graph
from aligngraph.persistence import Location, PolicyStore
from aligngraph.persistence.sealing import KEY_VARIABLE

TASK = "What is six times seven, dear Ambrosius?"
NOTHING_KEPT, ENCRYPTED = "\n[privacy]\nstore_texts = false\n", "\n[privacy]\nencrypt = true\n"
SECRETS = ("Ambrosius", "thinks", "4242424242", "Answer")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "0123456789abcdef")


@pytest.fixture
def team_with(scripted_team):
    return lambda sections: scripted_team(
        {"a": ["4242424242", "4242424242"], "b": ["17"]}, order=["4242424242", "17"], sections=sections
    )


async def ask(team, db, run_id="r1", **more):
    async with open_session(team, db=str(db)) as session:
        return await session.ask(TASK, run_id=run_id, options={"seed": 3}, **more)


def found_in(db):
    """Return which of the secrets stand in any file below `db`."""
    stored = b"".join(path.read_bytes() for path in Path(db).rglob("*") if path.is_file())
    return {secret for secret in SECRETS if secret.encode() in stored}


async def sums_in(db):
    async with await PolicyStore.open(Location.parse(str(db))) as store:
        return (await store.read_sums("general")).here


async def test_texts_in_clear_are_there_by_default(team_with, tmp_path):
    await ask(team_with(""), tmp_path / "db")
    assert found_in(tmp_path / "db") == set(SECRETS)


@pytest.mark.parametrize("sections", [NOTHING_KEPT, ENCRYPTED])
async def test_no_file_holds_a_text_and_what_is_learned_and_decided_is_the_same(team_with, tmp_path, sections):
    open_decision = await ask(team_with(""), tmp_path / "open")
    decision = await ask(team_with(sections), tmp_path / "db")
    assert found_in(tmp_path / "db") == set()
    different = {"run_id", "seconds"}
    assert decision.model_dump(exclude=different) == open_decision.model_dump(exclude=different)
    assert await sums_in(tmp_path / "db") == await sums_in(tmp_path / "open")


async def test_an_encrypted_run_is_recalled_and_fed_back_with_the_key(team_with, tmp_path):
    team, db = team_with(ENCRYPTED), tmp_path / "db"
    first = await ask(team, db)
    assert await ask(team, db) == first
    async with open_session(team, db=str(db)) as session:
        given = await session.feedback("r1", answer="4,242,424,242")
    assert (given.changed, given.right) == (True, (True, False))
    assert found_in(db) == set()


async def test_an_encrypted_run_cannot_be_recalled_with_another_key(team_with, tmp_path, monkeypatch):
    team, db = team_with(ENCRYPTED), tmp_path / "db"
    await ask(team, db)
    monkeypatch.setenv(KEY_VARIABLE, "another key that is 32 bytes long"[:32])
    with pytest.raises(StoreError, match=KEY_VARIABLE):
        await ask(team, db)


async def test_without_a_key_nothing_is_asked(team_with, tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(StoreError, match="it is not set"):
        await ask(team_with(ENCRYPTED), tmp_path / "db")
    assert not (tmp_path / "db").exists()


async def test_encryption_can_be_switched_on_in_a_database_with_texts_in_clear(team_with, tmp_path):
    db = tmp_path / "db"
    before = await ask(team_with(""), db, "r1")
    await ask(team_with(ENCRYPTED), db, "r2")
    assert await ask(team_with(ENCRYPTED), db, "r1") == before
    assert (await ask(team_with(""), db, "r2")).answer == before.answer


async def test_a_run_whose_texts_were_not_kept_is_not_asked_again_under_its_name(team_with, tmp_path):
    team, db = team_with(NOTHING_KEPT), tmp_path / "db"
    await ask(team, db)
    with pytest.raises(UsageError, match="its texts were not kept"):
        await ask(team, db)


async def test_feedback_on_a_run_without_texts_needs_no_text(team_with, tmp_path):
    team, db = team_with(NOTHING_KEPT), tmp_path / "db"
    await ask(team, db)
    async with open_session(team, db=str(db)) as session:
        with pytest.raises(UsageError, match="--correct or --wrong"):
            await session.feedback("r1", answer="4242424242")
        assert (await session.feedback("r1", correct=True)).changed


async def test_a_run_without_texts_that_was_stopped_is_drawn_anew(team_with, tmp_path):
    """What it had cost is lost with its texts; it learns once."""
    team, db = team_with(NOTHING_KEPT), tmp_path / "db"
    async with open_session(team, db=str(db)) as session:
        stopping = []

        def stop(event):
            if event["event"] == "candidate" and not stopping:
                stopping.append(event)
                raise RunCancelledError("r1")

        with pytest.raises(RunCancelledError):
            await session.ask(TASK, run_id="r1", options={"seed": 3}, on_event=stop)
    decision = await ask(team, db)
    assert (decision.status, decision.answer) == ("ok", "4242424242")
    assert {known.count for known in (await sums_in(db)).values()} == {1.0}
    assert found_in(db) == set()


async def test_an_encrypted_run_of_another_process_goes_on_where_it_was_stopped(team_with, tmp_path):
    team, db = team_with(ENCRYPTED), tmp_path / "db"
    code = (
        "import asyncio, os, sys\n"
        "from aligngraph import open_session\n"
        "async def main():\n"
        "    async with open_session(sys.argv[1], db=sys.argv[2]) as session:\n"
        f"        await session.ask({TASK!r}, run_id='r1', options={{'seed': 3}},\n"
        "            on_event=lambda event: event['event'] == 'ranking' and os._exit(9))\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, team, db)
    assert await process.wait() == 9
    assert found_in(db) == set()
    decision = await ask(team, db)
    with closing(sqlite3.connect(db / "policy.sqlite")) as connection:
        [(calls,)] = connection.execute("SELECT count(*) FROM candidates").fetchall()
    assert (decision.answer, calls) == ("4242424242", 3)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (NOTHING_KEPT + "[cache]\nresponses = true\n", "cache.responses keeps texts"),
        (NOTHING_KEPT + "keep = 1\n", "unknown key 'keep'"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(team_with, sections, said):
    with pytest.raises(TeamError, match=said):
        Team.load(team_with(sections))


def test_a_person_cannot_rank_what_nobody_keeps(scripted_team):
    team = scripted_team({"a": ["1"]}, principal_keys='ranker = "human"\n', sections=NOTHING_KEPT)
    with pytest.raises(TeamError, match="waits for a person"):
        Team.load(team)


def test_privacy_does_not_make_another_team(team_with):
    described = [json.dumps(Team.load(team_with(sections)).describe()) for sections in ("", NOTHING_KEPT, ENCRYPTED)]
    assert len(set(described)) == 1


async def test_feedback_from_outside_a_session_leaves_no_text_either(team_with, tmp_path):
    await ask(team_with(ENCRYPTED), tmp_path / "db")
    given = await afeedback("r1", answer="4242424242", db=str(tmp_path / "db"))
    assert given.changed
    assert not (await afeedback("r1", answer="4242424242", db=str(tmp_path / "db"))).changed
    assert found_in(tmp_path / "db") == set()


async def test_whoever_lost_the_key_goes_on_learning(team_with, tmp_path, monkeypatch):
    """A lost key costs texts, and nothing that was learned."""
    team, db = team_with(ENCRYPTED), tmp_path / "db"
    await ask(team, db)
    before = await sums_in(db)
    monkeypatch.delenv(KEY_VARIABLE)
    assert await sums_in(db) == before
    assert (await ask(team_with(""), db, "r2")).status == "ok"
    assert {known.count for known in (await sums_in(db)).values()} == {2.0}


async def test_a_pruned_run_leaves_no_text_behind_in_any_file(team_with, tmp_path):
    team, db = team_with(""), tmp_path / "db"
    await ask(team, db)
    await afeedback("r1", answer="4242424242", db=str(db))
    command = ["policy", "prune", "--keep-days", "0", "--db", str(db)]
    outcome = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert outcome.output == "dropped the texts of 1 run; what they taught stays\n"
    assert found_in(db) == set()


def test_a_server_is_refused_a_team_that_keeps_no_texts(team_with, tmp_path):
    configurable = {"team": str(team_with(NOTHING_KEPT)), "db": str(tmp_path / "db")}
    with pytest.raises(UsageError, match="a server keeps every text"):
        make_graph({"configurable": configurable})
