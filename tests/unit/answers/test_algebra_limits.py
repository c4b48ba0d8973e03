"""The limits of the worker, and what is remembered of its replies."""

import os
import signal
import subprocess
import sys
import time

import pytest

from aligngraph.answers import algebra
from aligngraph.answers.algebra import MathWorker


@pytest.fixture
def worker():
    worker = MathWorker()
    yield worker
    worker.close()


def wait_until(holds, seconds=10):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        os.sched_yield()


SILENT = """
import sys
open(sys.argv[1], "a").write("started ")
print("{}", flush=True)
sys.stdin.read()
"""


def test_a_worker_that_does_not_end_itself_is_ended_and_not_asked_again(monkeypatch, worker, tmp_path):
    starts = tmp_path / "starts"
    monkeypatch.setattr(algebra, "_COMMAND", (sys.executable, "-c", SILENT, str(starts)))
    monkeypatch.setattr(algebra, "_PATIENCE_S", 0.1)
    assert worker.ask({"value": "2+2"}, limit_s=0.1) is None
    assert worker._connection is None
    assert starts.read_text() == "started "


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_the_limit_is_one_of_processor_time_so_that_a_busy_machine_changes_no_answer():
    code = """
from aligngraph.answers import math_worker
math_worker._confine()
math_worker._set_alarm(0.1)
print("set", flush=True)
input()
print("alive", flush=True)
while True:
    pass
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout.readline() == b"set\n"
        late = time.monotonic() + 0.3
        wait_until(lambda: time.monotonic() > late)
        reader.stdin.write(b"\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == b"alive\n"
        assert reader.wait(30) == -signal.SIGPROF


class Scripted:
    """A worker that gives one reply after the other."""

    def __init__(self, *replies):
        self.replies = list(replies)

    def ask(self, request, limit_s):
        return self.replies.pop(0)


def test_only_what_the_worker_said_is_remembered(monkeypatch):
    monkeypatch.setattr(algebra, "_known", {})
    monkeypatch.setattr(algebra, "_WORKER", Scripted(None, {"exact": ["4", "1"], "seconds": 0.5}))
    assert algebra.ask({"value": "2+2"}, 0.9) is None
    assert algebra.ask({"value": "2+2"}, 0.9)["exact"] == ["4", "1"]
    assert algebra.ask({"value": "2+2"}, 0.9)["exact"] == ["4", "1"]


def test_what_is_remembered_costs_as_much_as_when_it_was_found(monkeypatch):
    monkeypatch.setattr(algebra, "_known", {})
    monkeypatch.setattr(algebra, "_WORKER", Scripted({"exact": ["4", "1"], "seconds": 0.5}))
    assert algebra.ask({"value": "2+2"}, 0.9)["seconds"] == 0.5
    assert algebra.ask({"value": "2+2"}, 0.4) is None


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(algebra, "_known", {})
    monkeypatch.setattr(algebra, "_MAX_KNOWN", 2)
    monkeypatch.setattr(algebra, "_WORKER", Scripted(*({"seconds": 0.1, "number": number} for number in range(5))))
    assert [algebra.ask({"value": str(number)}, 1)["number"] for number in range(5)] == list(range(5))
    assert len(algebra._known) <= 2
