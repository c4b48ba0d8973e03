"""Ctrl-C in code that is not async: the work behind the door ends before the caller goes on."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from aligngraph.sync_door import run_blocking

ASKING = """
import sys
from aligngraph import ask

ask("What is 6 * 7?", team=sys.argv[1], db=sys.argv[2], run_id="r1", on_event=lambda event: print(event, flush=True))
"""


def test_ctrl_c_marks_the_run_interrupted(scripted_team, db):
    slow = {"agent": "slow", "text": "Answer: 41", "latency_s": 60}
    team = scripted_team({"quick": ["42"], "slow": []}, order=["42"], agent_keys={}, rows=[slow])
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    process = subprocess.Popen(
        [sys.executable, "-c", ASKING, team, db], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert any("quick.0" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    _, trace = process.communicate(timeout=20)
    assert trace.splitlines()[-1] == "KeyboardInterrupt"
    with closing(sqlite3.connect(Path(db) / "policy.sqlite")) as connection:
        assert connection.execute("select run_id, status from runs").fetchall() == [("r1", "interrupted")]


def test_what_the_work_returns_and_raises_comes_through():
    async def double(number):
        if number < 0:
            raise ValueError(number)
        return 2 * number

    assert run_blocking(double(2)) == 4
    with pytest.raises(ValueError, match="-1"):
        run_blocking(double(-1))
