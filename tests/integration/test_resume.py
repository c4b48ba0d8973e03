"""kill -9 at a chosen place, then the same run again: every model is asked once, the update is applied once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aligngraph import ask
from aligngraph.errors import UsageError

TASK = "What is 6 * 7?"
COMMAND = Path(sys.executable).with_name("aligngraph")

# Kills its own process when LangGraph starts the node that the fourth argument names, or ends it where the fifth says so.
KILLED = """
import asyncio, os, signal, sys
from langchain_core.callbacks import AsyncCallbackHandler
from aligngraph import aask

task, team, db, node, moment = sys.argv[1:]

class Killer(AsyncCallbackHandler):
    started = None

    async def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
        if kwargs.get("name") == node and moment == "start":
            os.kill(os.getpid(), signal.SIGKILL)
        if kwargs.get("name") == node:
            self.started = run_id

    async def on_chain_end(self, outputs, *, run_id, **kwargs):
        if run_id == self.started:
            os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(aask(task, team=team, db=db, run_id="r1", options={"seed": 7}, config={"callbacks": [Killer()]}))
"""


def kill_at(node, team, db, moment="start"):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, TASK, team, db, node, moment], check=False, capture_output=True, timeout=60
    )
    assert killed.returncode == -9, killed.stderr


def resume(team, db):
    done = subprocess.run(
        [COMMAND, "ask", TASK, "--team", team, "--db", db, "--run", "r1", "--seed", "7", "--json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tasks_learned(db):
    shown = subprocess.run(
        [COMMAND, "policy", "show", "--json", "--db", db], check=True, capture_output=True, text=True
    )
    return json.loads(shown.stdout)["domains"]


def without_names(decision):
    return {key: value for key, value in decision.items() if key not in {"run_id", "seconds"}}


@pytest.mark.parametrize("node", ["principal", "policy_update", "answer"])
def test_a_killed_run_resumes_without_asking_or_learning_twice(openai_server, tmp_path, db, node):
    team = openai_server.team(tmp_path / "team.toml", ["says-42", "says-41"], "judge-42")
    kill_at(node, team, db)
    resumed = resume(team, db)
    assert (resumed["status"], resumed["answer"]) == ("ok", "42")
    assert {model: openai_server.calls(model) for model in ("says-42", "says-41", "judge-42")} == {
        "says-42": 2,
        "says-41": 2,
        "judge-42": 1,
    }
    (domain,) = tasks_learned(db)
    assert domain["tasks"] == 1
    assert {arm: row["tasks"] for arm, row in domain["arms"].items()} == {
        "agent0/step_by_step": 1,
        "agent1/step_by_step": 1,
    }

    again = resume(team, db)
    assert again == resumed
    assert len(openai_server.requests) == 5
    assert tasks_learned(db) == [domain]


def test_a_run_killed_before_its_ranking_reached_a_checkpoint_does_not_ask_the_judge_again(openai_server, tmp_path, db):
    team = openai_server.team(tmp_path / "team.toml", ["says-42", "says-41"], "judge-42")
    kill_at("principal", team, db, "end")
    resumed = resume(team, db)
    assert (resumed["status"], resumed["ranking"]["order"]) == ("ok", ["42", "41"])
    assert openai_server.calls("judge-42") == resumed["usage"]["principal"]["calls"] == 1


def test_a_killed_run_is_not_resumed_by_another_team_domain_or_seed(openai_server, tmp_path, db):
    team = openai_server.team(tmp_path / "team.toml", ["says-42", "says-41"], "judge-42")
    kill_at("principal", team, db)
    other = openai_server.team(tmp_path / "other.toml", ["says-42"], "judge-42")
    asked = len(openai_server.requests)
    for arguments, differs in (
        ({"team": other}, "team"),
        ({"team": team, "domain": "law"}, "domain"),
        ({"team": team, "options": {"seed": 8}}, "seed"),
    ):
        with pytest.raises(UsageError, match=f"'r1' belongs to another {differs}: "):
            ask(TASK, db=db, run_id="r1", **arguments)
    assert len(openai_server.requests) == asked


def test_a_resumed_run_decides_as_the_uninterrupted_one(openai_server, tmp_path, db):
    team = openai_server.team(tmp_path / "team.toml", ["says-42", "says-41", "says-41"], "judge-42")
    kill_at("policy_update", team, db)
    assert without_names(resume(team, db)) == without_names(resume(team, str(tmp_path / "other-db")))
