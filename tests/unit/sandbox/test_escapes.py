"""Attempts to break out of the sandbox, each against a real kernel, and what must not have happened after it."""

import asyncio
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from aligngraph.sandbox import ALLOWED_MODULES, ProgramLimits, ProgramOutcome, running
from aligngraph.sandbox.seccomp import ARCHITECTURES

HERE = Path(__file__).parent
ATTEMPTS = {attempt["name"]: attempt for attempt in tomllib.loads((HERE / "escapes.toml").read_text())["attempt"]}
LIMITS = ProgramLimits(cpu_s=0.5, wall_s=3)
AT_ONCE = 4
SECRET = "the secret that nobody may read"  # noqa: S105
GRAB = """import random; os, sys = random._os, random._os.sys; builtins = sys.modules["builtins"]
__builtins__.update(vars(builtins))"""


@dataclass(frozen=True)
class World:
    """What an attempt could reach: each part is looked at afterwards."""

    folder: Path
    temporary: Path
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    inherited: int
    victim: subprocess.Popen

    def fill(self, code):
        calls = ARCHITECTURES[platform.machine()].calls
        values = {
            "$GRAB": GRAB, "$SECRET": f"{self.folder}/secret", "$FOLDER": f"{self.folder}/", "$UNIX": f"{self.folder}/socket",
            "$PORT": str(self.tcp.getsockname()[1]), "$PARENT": str(self.victim.pid), "$FUTEX": str(calls["futex"]),
            "$ALLOWED": str(sorted(calls.values())), "$BRACKETS": "(" * 15_000, "$SIGNS": "-" * 15_000 + "1",
        }  # fmt: skip
        for name, value in values.items():
            code = code.replace(name, value)
        return code

    def untouched(self):
        reached = [listener for listener in (self.tcp, self.udp, self.unix) if arrived(listener)]
        return (
            not reached
            and sorted(path.name for path in self.folder.iterdir()) == ["inherited", "secret", "socket"]
            and (self.folder / "secret").read_text() == SECRET
            and (self.folder / "secret").stat().st_mode & 0o777 == 0o644
            and (self.folder / "inherited").read_text() == ""
            and self.victim.poll() is None
        )


@dataclass(frozen=True)
class Ended:
    outcome: ProgramOutcome
    seconds: float


def arrived(listener):
    try:
        return listener.recv(100) if listener.type == socket.SOCK_DGRAM else listener.accept()
    except BlockingIOError:
        return None


def listen(family, kind, address):
    listener = socket.socket(family, kind)
    listener.bind(address)
    if kind == socket.SOCK_STREAM:
        listener.listen()
    listener.settimeout(0)
    return listener


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return listening sockets, a file, a descriptor that is inherited by careless starters, and a process to be killed."""
    folder, temporary = tmp_path_factory.mktemp("world"), tmp_path_factory.mktemp("temporary")
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o644)
    inherited = os.open(folder / "inherited", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(inherited, True)  # noqa: FBT003 - positional only
    victim = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"ALIGNGRAPH_SECRET": SECRET}
    )
    tcp = listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
    udp = listen(socket.AF_INET, socket.SOCK_DGRAM, tcp.getsockname())
    unix = listen(socket.AF_UNIX, socket.SOCK_STREAM, f"{folder}/socket")
    yield World(folder, temporary, tcp, udp, unix, inherited, victim)
    victim.communicate(b"\n")
    os.close(inherited)
    for listener in (tcp, udp, unix):
        listener.close()


class Tracked(running._Watch):
    """Also remembers the process, so that one can see whether it is gone."""

    pids: list[int] = []  # noqa: RUF012

    def connection_made(self, transport):
        super().connection_made(transport)
        self.pids.append(transport.get_pid())


async def attempt_all(world):
    slots = asyncio.Semaphore(AT_ONCE)

    async def attempt(code):
        async with slots:
            start = time.monotonic()
            return Ended(await running.run_program(world.fill(code), LIMITS), time.monotonic() - start)

    ended = {}
    for raw in (False, True):
        names = [name for name, one in ATTEMPTS.items() if one.get("raw", False) == raw]
        with pytest.MonkeyPatch.context() as patch:
            if raw:
                patch.setattr(running, "_INTERPRETER", (*running._INTERPRETER, str(HERE / "raw_child.py")))
            results = await asyncio.gather(*(attempt(ATTEMPTS[name]["code"]) for name in names))
        ended |= dict(zip(names, results, strict=True))
    return ended


@pytest.fixture(scope="module")
def ended(world):
    """Return how every attempt ended; they run at once, as programs of several agents do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALIGNGRAPH_SECRET", SECRET)
        patch.setattr(tempfile, "tempdir", str(world.temporary))
        patch.setattr(running, "_Watch", Tracked)
        return asyncio.run(attempt_all(world))


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_to_escape_ends_as_it_should(ended, name):
    expected, outcome = ATTEMPTS[name], ended[name].outcome
    if "value" in expected:
        assert (outcome.value, outcome.reason) == (expected["value"], None)
    else:
        assert outcome.value is None
        assert re.search(expected["reason"], outcome.reason), outcome.reason
        assert "\n" not in outcome.reason
        assert len(outcome.reason) <= 400


def test_no_attempt_learnt_the_secret(ended):
    assert [name for name, one in ended.items() if SECRET in str(one.outcome)] == []


def test_no_attempt_reached_a_file_a_socket_or_another_process(ended, world):
    assert world.untouched()


def test_no_attempt_outlasted_its_time_by_much(ended):
    late = {name: one.seconds for name, one in ended.items() if one.seconds > LIMITS.wall_s + 10}
    assert late == {}


def test_no_process_and_no_folder_is_left(ended, world):
    assert len(Tracked.pids) == len(ATTEMPTS)
    for pid in Tracked.pids:
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
    assert list(world.temporary.iterdir()) == []


def test_what_is_printed_and_answered_is_bounded_and_text_that_every_store_takes(ended):
    for one in ended.values():
        for text in (one.outcome.printed, one.outcome.value or "", one.outcome.reason or ""):
            assert len(text) <= LIMITS.output_chars
            assert "\0" not in text
            text.encode()


def test_the_suite_is_large_and_a_good_part_of_it_runs_without_the_python_level_guards():
    assert len(ATTEMPTS) >= 40
    assert sum(attempt.get("raw", False) for attempt in ATTEMPTS.values()) >= 10


def test_the_documentation_says_what_is_so():
    page = (HERE.parents[2] / "docs" / "sandbox.md").read_text()
    rows = re.findall(r"^\| ([a-z]+) \| (\d+) \|", page[page.index("| kind |") :], re.MULTILINE)
    assert [(kind, int(number)) for kind, number in rows] == list(
        Counter(one["kind"] for one in ATTEMPTS.values()).items()
    )
    assert f"{len(ATTEMPTS)} programs in" in page
    assert f"{sum(one.get('raw', False) for one in ATTEMPTS.values())} of them run with all\nbuilt-ins" in page
    modules = page[page.index("The modules:") :].split("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", modules)) == ALLOWED_MODULES
    assert "may make fourteen:" in page
    assert {len(architecture.calls) for architecture in ARCHITECTURES.values()} == {14}


async def test_without_confinement_the_same_attempts_get_through_so_that_these_tests_can_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "_INTERPRETER", (*running._INTERPRETER, str(HERE / "raw_child.py")))
    (tmp_path / "victim").write_text("x")
    code = f"import os\nos.unlink({str(tmp_path / 'victim')!r})\nprint(os.stat('/').st_mode > 0)"
    kept = await running.run_program(code)
    assert (kept.value, (tmp_path / "victim").exists()) == (None, True)
    lost = await running.run_program(code, confined=False)
    assert (lost.value, (tmp_path / "victim").exists()) == ("True", False)


async def test_without_confinement_the_limits_alone_still_refuse_files_and_floods(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "_INTERPRETER", (*running._INTERPRETER, str(HERE / "raw_child.py")))
    opened = await running.run_program(f"open({str(tmp_path / 'made')!r}, 'w')", LIMITS, confined=False)
    assert "OSError: [Errno 24]" in opened.reason
    spinning = await running.run_program("while True: pass", LIMITS, confined=False)
    assert re.search("processor time|ran longer", spinning.reason)
    growing = await running.run_program("x = 'a' * 10**10", LIMITS, confined=False)
    assert growing.reason == "needs more than 256 MB of memory"
    flooding = await running.run_program("import os\nwhile True: os.write(1, b'x' * 65536)", LIMITS, confined=False)
    assert flooding.reason == "wrote more than 20,000 characters"
