"""`ask --estimate` and the circuits of `policy show`, as a person runs them."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("aligngraph")
TASK = "What is 6 * 7?"


@pytest.fixture
def run(tmp_path, db):
    """Return a function that runs the command and gives back the finished process."""

    def call(*arguments, stdin=""):
        settings = {**os.environ, "ALIGNGRAPH_DB": db, "COLUMNS": "200"}
        line = [COMMAND, *map(str, arguments)]
        return subprocess.run(
            line, input=stdin, capture_output=True, check=False, text=True, cwd=tmp_path, env=settings
        )

    return call


@pytest.fixture
def team(openai_server, tmp_path):
    return openai_server.team(tmp_path / "team.toml", ["says-42", "says-41"], "ranks-42")


def counted(db):
    with sqlite3.connect(Path(db) / "policy.sqlite") as connection:
        [row] = connection.execute("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM candidates)")
    connection.close()
    return row


def test_an_estimate_calls_nobody_and_writes_no_run(run, team, openai_server, db):
    done = run("ask", TASK, "--team", team, "--estimate")
    assert (done.returncode, done.stderr) == (0, "")
    for expected in ("agent0", "openai:says-42", "principal", "listwise", "5 (6)", "total", "max_tokens", "a guess"):
        assert expected in done.stdout
    assert openai_server.requests == []
    assert counted(db) == (0, 0)


def test_the_run_that_follows_stays_within_it_and_makes_the_next_one_better(run, team, openai_server):
    def estimate():
        return json.loads(run("ask", TASK, "--team", team, "--estimate", "--json").stdout)

    before = estimate()
    used = json.loads(run("ask", TASK, "--team", team, "--json").stdout)["usage"]
    assert len(openai_server.requests) == used["total"]["calls"] == before["expected"]["calls"] == 5
    assert used["total"]["completion_tokens"] < before["most"]["completion_tokens"]
    agent = next(line for line in estimate()["lines"] if line["role"] == "agent0")
    assert agent["expected"]["completion_tokens"] == used["agents"]["agent0"]["completion_tokens"] == 20
    assert len(openai_server.requests) == 5


def test_prices_and_caps_are_shown(run, tmp_path):
    path = tmp_path / "team.toml"
    price = "price = { prompt = 1.0, completion = 1000.0 }\n"
    agents = f'[[agents]]\nname = "a"\nmodel = "openai:m"\n{price}'
    path.write_text(f'{agents}[principal]\nmodel = "openai:m"\n{price}[budget]\nmoney = 0.1\ncalls = 99\nseconds = 5\n')
    done = run("ask", TASK, "--team", path, "--estimate")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.5" in done.stdout
    assert "budget.money = 0.1 may be reached" in done.stdout
    assert "budget.calls = 99 is not reached: the worst case is 4" in done.stdout
    assert "budget.seconds = 5 may be reached or not" in done.stdout


def test_an_unknown_price_is_a_question_mark_and_null(run, scripted_team):
    team = scripted_team({"a": ["42"], "b": ["41"]})
    assert "?" in run("ask", TASK, "--team", team, "--estimate").stdout
    found = json.loads(run("ask", TASK, "--team", team, "--estimate", "--json").stdout)
    assert found["expected"]["cost"] is None


@pytest.mark.parametrize(
    "arguments", [(" ",), ("-",), (TASK, "--team", "absent.toml"), ("x" * 120_000, "--team", "s.toml")]
)
def test_what_ask_would_refuse_is_refused_in_one_line(run, tmp_path, arguments):
    model = 'model = "scripted:s.jsonl"\n'
    (tmp_path / "s.toml").write_text(f'[[agents]]\nname = "a"\n{model}[principal]\n{model}')
    done = run("ask", *arguments, "--estimate")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_policy_show_lists_models_that_failed(run, scripted_team, tmp_path):
    team = scripted_team({"a": ["42", "42"], "b": ["41"]}, order=["42", "41"], sections="[circuit]\nfailures = 1\n")
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"agent": "b", "error": "HTTP 503: \u001b[31mred"}) + "\n")
    text = team.read_text().replace(
        'name = "b"\nmodel = "scripted:script.jsonl"', 'name = "b"\nmodel = "scripted:broken.jsonl"'
    )
    team.write_text(text)
    assert json.loads(run("policy", "show", "--json").stdout)["models"] == []
    assert run("ask", TASK, "--team", team).returncode == 0
    [model] = json.loads(run("policy", "show", "--json").stdout)["models"]
    assert (model["state"], model["failures"]) == ("open", 1)
    assert model["model"] == f"scripted:{broken}"
    assert model["rests_until"]
    shown = run("policy", "show").stdout
    assert "models that failed of late" in shown
    assert "HTTP 503: \\x1b[31mred" in shown
    assert "\x1b[31m" not in shown
