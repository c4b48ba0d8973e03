"""Ordinary programs, and what happens to processes when their parent stops waiting, is slow or dies."""

import asyncio
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from aligngraph.sandbox import ALLOWED_MODULES, ProgramLimits, confinement, missing_confinement, run_program, running

RAW_CHILD = Path(__file__).with_name("raw_child.py")
ENDLESS = "while True: pass"
ROOMY = ProgramLimits(cpu_s=60, wall_s=60)


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    """Return the folder for temporary files; no test may leave one."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def pids(monkeypatch):
    """Return a list to which the number of every process is added."""
    started = []

    class Tracked(running._Watch):
        def connection_made(self, transport):
            super().connection_made(transport)
            started.append(transport.get_pid())

    monkeypatch.setattr(running, "_Watch", Tracked)
    return started


@pytest.fixture
def raw(monkeypatch):
    monkeypatch.setattr(running, "_INTERPRETER", (*running._INTERPRETER, str(RAW_CHILD)))


def gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


async def wait_until(holds):
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("def solution():\n    eggs = 16_000_000_007\n    return (eggs - 7) * 2", "32000000000"),
        ("def solution():\n    return 7290113.0 / 2", "3645056.5"),
        ("def solution():\n    return 4 / 2", "2.0"),
        ("def solution():\n    return 0.1 + 0.2", "0.30000000000000004"),
        ("def solution():\n    return 10 ** 25 + 1.0", "1e+25"),
        ("def solution():\n    return True", "True"),
        ("def solution():\n    return [1, (2, 'a')]", "[1, (2, 'a')]"),
        ("def solution():\n    return ' Paris \\n'", "Paris"),
        ("def solution(price=3):\n    return price", "3"),
        ("solution = lambda: 4", "4"),
        ("def solution():\n    return None\nprint(5)", "5"),
        ("def solution(x):\n    return x\nprint(solution(6))", "6"),
        ("def solution():\n    print('thinking')\n    return 7", "7"),
        ("def solution():\n    print(8)", "8"),
        ("solution = 'no function'\nprint(9)", "9"),
        ("print('total')\nprint(10)\nprint('  ')\nprint()", "10"),
        ("answer = 11", "11"),
        ("answer = 11\nprint(12)", "12"),
        ("print(2 ** 100_000 % 10 ** 30)", str(2**100_000 % 10**30)),
        ("print(len(str(3 ** 20_000)), int('9' * 8_000) % 7)", "9543 1"),
        ("from fractions import Fraction\nanswer = Fraction(1, 3) + Fraction(1, 6)", "1/2"),
        ("from decimal import Decimal\nanswer = Decimal('0.10') + Decimal('0.20')", "0.30"),
        ("import math\nprint(math.comb(100, 50))", "100891344545564193334812497256"),
        ("if __name__ == '__main__':\n    print('main')", "main"),
        ("print(13)\nexit()", "13"),
        ("import collections.abc, json\nfrom json import decoder\nprint(json.dumps({'a': 1}))", '{"a": 1}'),
        ("try:\n    import numpy as np\nexcept ImportError:\n    print('without numpy')", "without numpy"),
        ("print(eval('1 + 1'))", "2"),
        ("from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nprint(P())", "P(x=1)"),
        ("import datetime\nprint(datetime.datetime.strptime('29 Feb 2024', '%d %b %Y').strftime('%Y-%m-%d %A'))", "2024-02-29 Thursday"),
        ("import random\nprint(random.SystemRandom().random() < 1, '\\N{GREEK SMALL LETTER PI}')", "True π"),
        ("import time\nprint(time.time() > 1e9, time.process_time() < 60)", "True True"),
        ("print('é', 'ascii'.encode('ascii'), 'x'.encode('latin-1').decode('latin-1'))", "é b'ascii' x"),
        ("print('\\ud800')", "?"),
        ("x = [bytearray(10**6) for _ in range(100)]\ndel x\nprint(sum(range(10**6)))", "499999500000"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("confined", [True, False])
async def test_a_program_answers(code, value, confined):
    outcome = await run_program(code, ROOMY, confined=confined)
    assert (outcome.value, outcome.reason) == (value, None)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("", "printed and returned nothing"),
        ("x = 1", "printed and returned nothing"),
        ("answer = None", "printed and returned nothing"),
        ("x = 1\n\ny = x / 0", "ZeroDivisionError: division by zero (line 3)"),
        ("def solution():\n    return {}['x']", "KeyError: 'x' (line 2)"),
        ("x = 1\ny = (", "SyntaxError: '(' was never closed (line 2)"),
        ("if 1:\nprint()", "IndentationError: expected an indented block after 'if' statement on line 1 (line 2)"),
        ("eval('1 +')", "SyntaxError: invalid syntax (line 1)"),
        ("def solution():\n    return solution", "TypeError: a function is no answer"),
        ("async def solution():\n    return 1", "TypeError: a coroutine is no answer"),
        ("raise ValueError", "ValueError (line 1)"),
        ("raise SystemExit(3)", "SystemExit: 3 (line 1)"),
        ("x = input()", "was refused by the sandbox: PermissionError: programs may not use input() (line 1)"),
        ("from os import path", f"imports 'os', which programs may not use (allowed: {', '.join(ALLOWED_MODULES)})"),
        ("import numpy.linalg", f"imports 'numpy.linalg', which programs may not use (allowed: {', '.join(ALLOWED_MODULES)})"),
        ("'a' * 10**12", "needs more than 256 MB of memory"),
        ("\ud800", "holds half a character (a lone surrogate), which is no text"),
        ("x" * 20_001, "is longer than 20,000 characters"),
    ],
)  # fmt: skip
async def test_a_program_without_an_answer_says_why(code, reason):
    outcome = await run_program(code)
    assert (outcome.value, outcome.reason) == (None, reason)


async def test_what_was_printed_is_kept_with_the_answer_and_with_the_reason():
    assert (await run_program("print('a')\nprint('b')")).printed == "a\nb\n"
    assert (await run_program("print('a', end='')\n1 / 0")).printed == "a"
    assert (await run_program("while True: print('a')", ProgramLimits(output_chars=5))).printed == "a\na\na"


async def test_the_limits_are_told_as_they_were_set(pids):
    limits = ProgramLimits(cpu_s=0.3, wall_s=0.5, memory_mb=64, output_chars=1000, code_chars=100)
    spinning, waiting, growing, printing, long = await asyncio.gather(
        run_program(ENDLESS, limits.model_copy(update={"wall_s": 30})),
        run_program(
            "import random\nlock = random._os.sys.modules['_thread'].allocate_lock()\nlock.acquire()\nlock.acquire()",
            limits.model_copy(update={"code_chars": 1000}),
        ),
        run_program("x = 'a' * 10**8", limits),
        run_program("print('x' * 1001)", limits),
        run_program("x" * 101, limits),
    )
    assert spinning.reason == "used more than 0.3 s of processor time"
    assert waiting.reason == "ran longer than 0.5 s"
    assert growing.reason == "needs more than 64 MB of memory"
    assert printing.reason == "wrote more than 1,000 characters"
    assert long.reason == "is longer than 100 characters"
    assert len(pids) == 4


async def test_the_same_program_answers_the_same_twice():
    code = "import random\nprint(random.random(), random.sample(range(100), 5), {'a', 'b', 'c', 'd'}, hash('a'))"
    first, second = await asyncio.gather(run_program(code), run_program(code))
    assert first == second
    assert first.value


async def test_programs_run_at_once_and_never_hold_up_the_event_loop():
    with blockbuster_ctx("aligngraph"):
        outcomes = await asyncio.gather(*(run_program(f"print({number})", ROOMY) for number in range(8)))
    assert [outcome.value for outcome in outcomes] == [str(number) for number in range(8)]


async def test_cancelling_ends_the_process_at_once(pids):
    task = asyncio.create_task(run_program(ENDLESS, ROOMY))
    await wait_until(lambda: pids)
    start = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(pids[0])
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("turns", range(1, 12))
async def test_cancelling_at_any_moment_leaves_nothing(pids, turns):
    task = asyncio.create_task(run_program(ENDLESS, ROOMY))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(gone(pid) for pid in pids)


async def test_a_time_limit_of_the_caller_leaves_nothing(pids):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await run_program(ENDLESS, ROOMY)
    assert all(gone(pid) for pid in pids)


@pytest.mark.usefixtures("raw")
async def test_what_an_unconfined_program_starts_ends_with_it(pids):
    code = "import os\nif os.fork():\n    print('parent')\nelse:\n    while True: pass"
    if os.geteuid():  # only root may go over the limit of processes
        code = "print('parent')"
    outcome = await run_program(code, ROOMY, confined=False)
    assert outcome.value == "parent"
    await wait_until(lambda: gone(pids[0]))


@pytest.mark.usefixtures("raw")
async def test_a_process_that_left_the_group_is_not_waited_for(pids):
    code = (
        "import os, signal\nif os.fork():\n    print('parent')\n"
        "else:\n    os.setsid()\n    signal.alarm(5)\n    signal.pause()"
    )
    if os.geteuid():
        code = "print('parent')"
    start = time.monotonic()
    outcome = await run_program(code, ROOMY, confined=False)
    assert outcome.value == "parent"
    assert time.monotonic() - start < 15


ORPHAN = f"""
import asyncio
from aligngraph.sandbox import ProgramLimits, run_program
asyncio.run(run_program({ENDLESS!r}, ProgramLimits(cpu_s=600, wall_s=600)))
"""


async def test_a_program_ends_when_its_parent_is_killed(temporary):
    parent = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", ORPHAN], env={"TMPDIR": str(temporary)})
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")

    def programs():  # those that run, with their folder removed: before that they have no walls yet
        return [pid for pid in children.read_text().split() if not list(temporary.iterdir()) and busy(pid)]

    await wait_until(programs)
    [child] = programs()
    parent.send_signal(signal.SIGKILL)
    await asyncio.to_thread(parent.wait)
    await wait_until(lambda: not Path(f"/proc/{child}").exists() or state(child) == "Z")


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[0]


def busy(pid):
    """Say whether a process is under a filter."""
    return "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text()


async def test_a_process_that_does_not_get_ready_is_ended(monkeypatch, tmp_path, pids):
    silent = tmp_path / "silent.py"
    silent.write_text("while True: pass")
    monkeypatch.setattr(running, "_CHILD", silent)
    monkeypatch.setattr(running, "START_S", 0.3)
    assert (await run_program("print(1)")).reason == "did not start within 0.3 s"
    assert gone(pids[0])


async def test_a_process_that_ends_before_it_is_ready_is_no_answer(monkeypatch, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    monkeypatch.setattr(running, "_CHILD", broken)
    assert (await run_program("print(1)")).reason == "ended without a result (exit status 1)"


async def test_an_interpreter_that_is_not_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(running, "_INTERPRETER", ("/nowhere/python",))
    assert (await run_program("print(1)")).reason.startswith("cannot be started: [Errno 2]")


async def test_a_folder_that_cannot_be_made_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert (await run_program("print(1)")).reason.startswith("cannot be started: [Errno 2]")


class TestMissingConfinement:
    @pytest.fixture(autouse=True)
    def _not_found_out_yet(self):
        missing_confinement.cache_clear()
        yield
        missing_confinement.cache_clear()

    def test_here_nothing_is_missing(self):
        assert missing_confinement() is None

    async def test_it_may_be_asked_where_an_event_loop_runs_and_is_found_out_once(self, pids):
        assert missing_confinement() is None
        assert missing_confinement() is None
        assert len(pids) == 1

    @pytest.mark.parametrize(
        ("owner", "name", "value", "why"),
        [
            (platform, "system", lambda: "Darwin", "cannot be confined here: only Linux can, this is Darwin; "),
            (
                platform,
                "machine",
                lambda: "riscv64",
                "cannot be confined here: no filter for 'riscv64', only for x86_64",
            ),
            (
                running,
                "build_filter",
                lambda machine: b"\0" * 8,
                "cannot be confined here: OSError: [Errno 22] Linux refused",
            ),
        ],
    )
    def test_what_is_missing_is_told_with_the_setting_that_goes_without(self, monkeypatch, owner, name, value, why):
        monkeypatch.setattr(owner, name, value)
        told = missing_confinement()
        monkeypatch.undo()
        assert told.startswith(why)
        assert "`allow_unsafe_programs = true`" in told
        assert "\n" not in told

    def test_a_filter_that_lets_too_much_through_is_noticed(self, monkeypatch):
        monkeypatch.setattr(running, "build_filter", lambda machine: bytes.fromhex("060000000000ff7f"))  # allows all
        assert "a confined program could open a file, a socket or send a signal" in missing_confinement()

    async def test_a_program_that_cannot_be_confined_is_not_run(self, monkeypatch):
        monkeypatch.setattr(running, "build_filter", lambda machine: b"\0" * 8)
        outcome = await run_program("print(1)")
        assert (outcome.value, outcome.printed) == (None, "")
        assert outcome.reason.startswith("cannot be confined here: OSError: [Errno 22]")
        assert (await run_program("print(1)", confined=False)).value == "1"

    def test_the_knock_is_a_program_like_any_other(self):
        assert asyncio.run(run_program(confinement._KNOCK)).value == "True True True"
        assert asyncio.run(run_program(confinement._KNOCK, confined=False)).value is None
