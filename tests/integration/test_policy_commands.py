"""`aligngraph policy ...` as a person runs it: a process of its own, on what real runs have taught."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aligngraph import open_session
from aligngraph.cli.policy_commands import policy_app
from aligngraph.errors import UsageError
from aligngraph.learning.drifting import RECENT_UPDATES
from aligngraph.learning.feedback import feedback
from aligngraph.learning.relearning import relearn
from aligngraph.persistence import Increment, Location, PolicyStore, Update
from aligngraph.team import Team

COMMAND = Path(sys.executable).with_name("aligngraph")
CAREFUL, QUICK = "careful/step_by_step", "quick/step_by_step"
TASKS = 3


@pytest.fixture
def environment(db):
    return {**os.environ, "ALIGNGRAPH_DB": db, "COLUMNS": "160"}


@pytest.fixture
def run(tmp_path, environment):
    """Return a function that runs the command, without a terminal, and gives back the finished process."""

    def call(*arguments, status=0):
        line = [COMMAND, "policy", *map(str, arguments)]
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == status, done.stderr
        return done

    return call


@pytest.fixture
def answer_at_a_terminal(tmp_path, environment):
    """Return a function that runs the command at a terminal where somebody types, and returns what stood on it."""

    def call(typed, *arguments):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [COMMAND, "policy", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment
        ) as process:
            os.close(theirs)
            os.write(ours, typed.encode())
            text = b""
            try:
                while chunk := os.read(ours, 4096):
                    text += chunk
            except OSError:  # as Linux says that the other side is closed
                pass
            finally:
                os.close(ours)
        return process.returncode, text.decode()

    return call


@pytest.fixture
def team(scripted_team):
    return Team.load(str(scripted_team({"careful": ["42", "42"], "quick": ["41"]}, order=["42", "41"])))


@pytest.fixture
def asked(team, db):
    """Ask three tasks, tell of the first that it was right, and return the names of the runs."""

    async def ask():
        async with open_session(team=team, db=db) as session:
            runs = [(await session.ask(f"What is {n} + 1?", domain="sums")).run_id for n in range(TASKS)]
            await session.feedback(runs[0], correct=True)
        return runs

    return asyncio.run(ask())


def competence(run, arm=CAREFUL):
    (entry,) = json.loads(run("show", "--json").stdout)["domains"]
    return entry["arms"][arm]["competence"]


def test_what_tasks_have_taught_is_shown(run, asked):
    (entry,) = json.loads(run("show", "--json").stdout)["domains"]
    assert (entry["domain"], entry["tasks"]) == ("sums", TASKS)
    assert {arm: row["tasks"] for arm, row in entry["arms"].items()} == {CAREFUL: TASKS, QUICK: TASKS}
    assert entry["arms"][CAREFUL]["competence"] > 0.5 > entry["arms"][QUICK]["competence"]
    assert entry["learners"]["tasks"] == 1
    assert entry["drift"] == entry["quarantined"] == []
    assert "domain sums: 3 tasks" in run("show").stdout


def test_history_ends_at_what_is_shown(run, asked):
    changes = json.loads(run("history", "--arm", CAREFUL, "--json").stdout)["sums"]
    assert [change["run_id"] for change in changes] == [*asked, asked[0]]
    assert [change["kind"] for change in changes] == ["task"] * TASKS + ["feedback"]
    assert changes[-1]["competence"] == pytest.approx(competence(run))


def test_what_was_forgotten_comes_back(run, asked):
    before = run("export").stdout
    run("reset", "--domain", "sums", "--yes")
    assert json.loads(run("export").stdout)["domains"] == {}
    last = json.loads(run("history", "--arm", CAREFUL, "--json").stdout)["sums"][-2]
    run("rollback", "--to", last["number"], "--domain", "sums", "--yes")
    assert json.loads(run("export").stdout)["domains"] == json.loads(before)["domains"]


def test_without_a_terminal_the_difference_is_shown_and_the_status_is_2(run, asked):
    before = competence(run)
    done = run("rollback", "--to", asked[0], status=2)
    assert "3 -> 1" in done.stdout
    assert done.stderr.splitlines() == [
        "aligngraph: nobody is there to be asked: nothing was changed; --yes changes it without a question"
    ]
    assert competence(run) == before


@pytest.mark.parametrize(("typed", "status", "kept"), [("n\n", 0, TASKS), ("y\n", 0, 1)])
def test_at_a_terminal_a_person_is_asked(run, answer_at_a_terminal, asked, typed, status, kept):
    done, text = answer_at_a_terminal(typed, "rollback", "--to", asked[0])
    assert done == status, text
    assert "3 -> 1" in text
    assert f"Go back to '{asked[0]}'? [y/N]" in text
    (entry,) = json.loads(run("show", "--json").stdout)["domains"]
    assert entry["arms"][CAREFUL]["tasks"] == kept


def test_another_place_takes_over_what_this_one_learned(run, asked, tmp_path):
    file, other = tmp_path / "learned.json", tmp_path / "other"
    assert run("export", file).stdout.endswith("learned.json\n")
    assert "- -> 3" in run("import", file, "--db", other, "--dry-run").stdout
    run("import", file, "--db", other, "--yes")
    assert run("diff", file, other).stdout == "no difference\n"
    file.write_text(file.read_text().replace("careful", "careless"))
    assert "aligngraph: " in run("import", file, "--db", other, "--yes", status=2).stderr


def test_weights_are_warm_before_the_first_task(run, team, db, tmp_path):
    rows = [{"id": n, "answers": {CAREFUL: ["1"], QUICK: ["2"]}, "gold": "2"} for n in range(6)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    team_file = tmp_path / "team.toml"
    assert "learned from 6 of 6" in run("learn", "--panel", "log.jsonl", "--domain", "sums", "--team", team_file).stdout
    assert "6 were known" in run("learn", "--panel", "log.jsonl", "--domain", "sums", "--team", team_file).stdout

    async def ask():
        async with open_session(team=team, db=db) as session:
            return await session.ask("What is 0 + 1?", domain="sums")

    weights = asyncio.run(ask()).weights.before
    assert weights[QUICK] > weights[CAREFUL]


def test_pruned_runs_keep_what_they_taught_and_can_be_learned_anew(run, asked):
    before = competence(run)
    assert run("prune", "--keep-days", 0).stdout == "dropped the texts of 3 runs; what they taught stays\n"
    assert competence(run) == before
    assert run("learn", "--runs", "--dry-run").stdout == "no difference\n"


def test_feedback_on_a_pruned_run_still_takes_back_what_it_thought(run, asked, db):
    run("prune", "--keep-days", 0)
    before = competence(run)
    given = feedback(asked[1], correct=False, db=db)
    assert given.changed
    assert competence(run) < before
    assert feedback(asked[1], correct=True, db=db).changed
    assert competence(run) > before
    with pytest.raises(UsageError, match="texts of this run were not kept"):
        feedback(asked[1], answer="42", db=db)
    assert run("learn", "--runs").stdout == "no difference\n"


def test_no_file_holds_a_text_of_a_pruned_run(run, asked, db):
    def texts():
        told = (b"What is", b"careful thinks")
        return {text for path in Path(db).iterdir() for text in told if text in path.read_bytes()}

    assert len(texts()) == 2
    run("prune", "--keep-days", 1)
    run("prune", "--keep-days", 0, "--dry-run")
    assert len(texts()) == 2
    run("prune", "--keep-days", 0)
    assert texts() == set()


def test_an_arm_that_nobody_knows_is_bad_usage(run, asked):
    done = run("history", "--arm", "nobody/x", status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("aligngraph: no arm 'nobody/x' has learned anything there")


DOCS = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
ASKING = {"reset", "rollback", "import"}


def test_the_docs_name_every_command():
    named = set(re.findall(r"^\| `(\w+)", DOCS, re.MULTILINE))
    assert named == {command.name for command in policy_app.registered_commands}


def test_the_commands_of_the_docs_run(run, team, db, tmp_path):
    async def ask():
        async with open_session(team=team, db=db) as session:
            for number in range(TASKS):
                await session.ask(f"What is {number} + 1?", domain="arithmetic")

    asyncio.run(ask())
    blocks = "".join(re.findall(r"^```json\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE))
    (tmp_path / "evaluation.jsonl").write_text(blocks.replace("gpt/direct", "gpt4"))
    commands = re.findall(r"^(?:\$ )?aligngraph policy (.*)$", DOCS, re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        name, *arguments = command.split()
        run(name, *arguments, *(["--yes"] if name in ASKING else []))


SETTINGS = {
    "plain": "",
    "half_life": "[learning]\nhalf_life = 4\n",
    "rounds": "[game]\nmax_rounds = 2\n",
    "early_stop": '[budget]\nstop = "settled"\n',
    "dealt": '[budget]\ndeal = "learned"\nsamples = 3\n',
    "shadow": '[learning]\nmode = "shadow"\n',
    "fixed_anchor": "[game]\nanchor = 0.7\n",
}


@pytest.mark.parametrize("sections", SETTINGS.values(), ids=SETTINGS)
async def test_real_runs_learned_anew_by_the_same_rules_teach_the_same(scripted_team, db, sections):
    answers = {"careful": ["42", "41"], "quick": ["41"], "slow": ["43", "42"]}
    team = Team.load(str(scripted_team(answers, order=["42", "43", "41"], sections="\n" + sections)))
    async with open_session(team=team, db=db) as session:
        runs = []
        for number in range(10):
            runs.append((await session.ask(f"What is {number} + 1?", domain=f"d{number % 2}")).run_id)
            if number % 3 == 1:
                await session.feedback(runs[number // 2], correct=number % 2 == 0)
        await session.feedback(runs[0], answer="43")
        await session.feedback(runs[0], answer="41")
    async with await PolicyStore.open(Location.parse(db)) as store:
        found = await relearn(store)
    assert found.differences == ()
    assert found.corrections == {}
    assert set(found.sequences) == {"d0", "d1"}


async def test_every_task_says_that_an_arm_has_changed(team, db):
    async with await PolicyStore.open(Location.parse(db)) as store:
        for number in range(60 + RECENT_UPDATES):
            paid = 0.9 if number < 60 else 0.2
            part = Increment(CAREFUL, "agent", paid, made_of=team.arms[CAREFUL])
            await store.apply_update(Update(f"r{number}", 1, "sums", (part,)))
    async with open_session(team=team, db=db) as session:
        decision = await session.ask("What is 0 + 1?", domain="sums")
        elsewhere = await session.ask("What is 0 + 1?", domain="other")
    assert decision.warnings == [f"{CAREFUL} was paid 0.20 a task of late, 0.90 before: it may have changed"]
    assert elsewhere.warnings == []
    assert decision.status == "ok"
