"""A warm process that asks in forked children and kills them: `kill_worker.py`, a job and its report a line of JSON each.

A job names team, db, task, seed, and where to kill: `place`, a phase or a call, its `entry` (1 for the first) and `delay_s`
after that, or null. A report holds the child's events as `[seconds, kind, name]`, whether it was killed, and the decision's JSON if it came.
"""

import asyncio
import json
import os
import select
import signal
import sys
import time
import traceback
from importlib import import_module

from langchain_core.callbacks import AsyncCallbackHandler

from aligngraph import aask

for name in ("alembic.command", "alembic.config", "numpy.ma", "numpy.random"):
    import_module(name)  # what is imported here no child imports again
for name in ("models.scripted", "persistence.sqlite_checkpoints"):
    import_module(f"aligngraph.{name}")

PHASES = ("intake", "settle", "principal", "policy_update", "answer")
CHUNK = 65536


class Reporter(AsyncCallbackHandler):
    """Writes what begins into a pipe, where it outlives the process."""

    def __init__(self, pipe):
        self.pipe = pipe

    def tell(self, kind, name):
        line = json.dumps([time.monotonic(), kind, name]) + "\n"
        os.write(self.pipe, line.encode())

    async def on_chain_start(self, serialized, inputs, *, metadata=None, **more):
        node = (metadata or {}).get("langgraph_node")
        if node is not None and more.get("name") == node:
            self.tell("phase", node if node in PHASES else "agents")

    async def on_chat_model_start(self, serialized, messages, *, metadata=None, **more):
        agent = metadata["agent"]
        self.tell("call", f"{agent}.{metadata['round' if agent == 'principal' else 'sample']}")


def ask(job, pipe):
    reporter = Reporter(pipe)
    reporter.tell("phase", "opening")
    arguments = {"run_id": "r1", "options": {"seed": job["seed"]}, "config": {"callbacks": [reporter]}}
    decision = asyncio.run(aask(job["task"], team=job["team"], db=job["db"], **arguments))
    reporter.tell("decision", decision.model_dump_json())


def fork(job):
    reading, writing = os.pipe()
    if child := os.fork():
        os.close(writing)
        return child, reading
    status = 1
    try:
        os.close(reading)
        ask(job, writing)
        status = 0
    except BaseException:  # noqa: BLE001 - told to the test, which finds no decision
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


class Listener:
    """Reads the events of one child, and notices when it has entered the phase in which it is to die."""

    def __init__(self, pipe, kill):
        self.pipe, self.kill = pipe, kill
        self.text, self.open = b"", True

    @property
    def events(self):
        return [json.loads(line) for line in self.text.decode().splitlines()]

    @property
    def deadline(self):
        """When to kill, None while it is not known."""
        if self.kill is None:
            return None
        entries, wanted = self.entries_of(self.kill["place"]), self.kill["entry"]
        return entries[wanted - 1] + self.kill["delay_s"] if len(entries) >= wanted else None

    def entries_of(self, place):
        """Return when a phase was entered, whose nodes may be several, or when each call of that name began."""
        entries, phase = [], None
        for at, kind, name in self.events:
            if name == place and (kind == "call" or name != phase):
                entries.append(at)
            phase = name if kind == "phase" else phase
        return entries

    def read_until_due(self):
        while self.open and ((due := self.deadline) is None or time.monotonic() < due):
            self.read(None if due is None else max(0, due - time.monotonic()))

    def read_rest(self):
        while self.open:
            self.read(None)

    def read(self, patience_s):
        if select.select([self.pipe], [], [], patience_s)[0]:
            more = os.read(self.pipe, CHUNK)
            self.text += more
            self.open = bool(more)


def work(job):
    child, pipe = fork(job)
    listener = Listener(pipe, job["kill"])
    listener.read_until_due()
    if listener.open:
        os.kill(child, signal.SIGKILL)
        listener.read_rest()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(pipe)
    decisions = [name for _, kind, name in listener.events if kind == "decision"]
    return {
        "status": status,
        "events": [event for event in listener.events if event[1] != "decision"],
        "decision": decisions[0] if decisions else None,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        assert len(os.listdir("/proc/self/task")) == 1, "forking a process with threads may copy a lock that is held"  # noqa: PTH208
        print(json.dumps(work(json.loads(line))), flush=True)  # noqa: T201 - what the test reads
