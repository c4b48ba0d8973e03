"""What mathematical expressions are worth, asked of a worker process that may be killed at any time.

The worker is started when first needed and shared by all threads of this process. It outlives no parent: its standard input
ends with the parent, and a request ends with its limit. That is one of processor time, so that what is equal does not depend
on how busy the machine is.
"""

import atexit
import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

LIMIT_S = 0.9  # of processor time, for one expression
_START_LIMIT_S = 60.0
# The worker is ended at its limit by its system; where that cannot, or does not, it is ended from here: after so many seconds.
_PATIENCE_S = 10.0 if hasattr(signal, "setitimer") else 1.0
_MAX_KNOWN = 8192
_MAX_FAILURES = 3
_COMMAND = (sys.executable, "-P", "-m", "aligngraph.answers.math_worker")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Connection:
    """A running worker. A thread reads its lines, since no other way of waiting for them works everywhere."""

    process: subprocess.Popen[str]
    lines: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)

    def exchange(self, request: str | None, limit_s: float) -> str | None:
        """Return the reply to a request, `""` where the worker is dead, or None where it is silent."""
        try:
            if request is not None:
                print(request, file=self.process.stdin, flush=True)
            return self.lines.get(timeout=limit_s)
        except OSError:
            return ""
        except queue.Empty:
            return None

    def read(self, pipe: IO[str]) -> None:
        """Pass on the worker's lines; the last one is empty."""
        with contextlib.suppress(OSError, ValueError):
            for line in pipe:
                self.lines.put(line)
        self.lines.put("")

    def end(self) -> None:
        """Kill the worker and the process it has forked, and wait until it is gone."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # what it was being told
                pipe.close() if pipe else None


class MathWorker:
    """A worker process; `ask` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._failures = 0

    def ask(self, request: Mapping[str, Any], limit_s: float = LIMIT_S) -> dict[str, Any] | None:
        """Return the worker's reply, or None where it had none within the limit. A worker that was dead is replaced once."""
        line = json.dumps({**request, "limit_s": limit_s})
        with self._lock:
            reply = self._exchange(line, limit_s + _PATIENCE_S)
            if reply == "":
                reply = self._exchange(line, limit_s + _PATIENCE_S)
        answer: dict[str, Any] | None = json.loads(reply or "null")
        return answer

    def close(self) -> None:
        """End the worker; the next request starts another."""
        with self._lock:
            self._stop()

    def forget(self) -> None:
        """Leave the worker to the process that this one was forked from."""
        connection, self._connection, self._lock = self._connection, None, threading.Lock()
        if connection:
            connection.process.returncode = 0  # not ours to wait for
            for pipe in (connection.process.stdin, connection.process.stdout):
                with contextlib.suppress(OSError):
                    os.close(pipe.fileno()) if pipe else None

    def _exchange(self, line: str, patience_s: float) -> str | None:
        connection = self._connection or self._start()
        reply = connection.exchange(line, patience_s) if connection else None
        if not reply:
            self._stop()
        return reply

    def _start(self) -> _Connection | None:
        if self._failures >= _MAX_FAILURES:
            return None
        try:
            process = _spawn()
        except OSError as error:
            self._note_failure(error)
            return None
        self._connection = connection = _Connection(process)
        threading.Thread(target=connection.read, args=(process.stdout,), name="math-worker", daemon=True).start()
        if not connection.exchange(None, _START_LIMIT_S):
            self._stop()
            self._note_failure(f"{_COMMAND} ended at once")
            return None
        self._failures = 0
        return connection

    def _note_failure(self, cause: object) -> None:
        self._failures += 1
        if self._failures == _MAX_FAILURES:
            _log.warning("Expressions are compared as strings from now on: no worker process can be started: %s", cause)

    def _stop(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.end()


def _spawn() -> subprocess.Popen[str]:
    """Start the worker with the modules that this process finds, out of reach of the terminal's Ctrl-C."""
    return subprocess.Popen(  # noqa: S603 - our own module
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
        start_new_session=True,
    )


_WORKER = MathWorker()
atexit.register(_WORKER.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WORKER.forget)


_known: dict[str, Mapping[str, Any]] = {}


def ask(request: Mapping[str, Any], limit_s: float) -> Mapping[str, Any] | None:
    """Return what the worker says, or None where that takes more processor time than `limit_s`, remembered or not.

    Only what it said is remembered: a worker that could not be started, or a limit that was lower, is no property of the request.
    """
    key = json.dumps(request)
    reply = _known.get(key) or _WORKER.ask(request, limit_s)
    if reply is None:
        return None
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    _known[key] = reply
    return reply if reply.get("seconds", 0) <= limit_s else None
