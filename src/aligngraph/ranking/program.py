"""No model: a function or a test command scores each solution, such as the unit tests of a program."""

import asyncio
import inspect
import math
import os
import shutil
import signal
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from reprlib import repr as outline
from threading import Thread
from typing import Self, SupportsFloat, cast

from aligngraph.errors import UsageError
from aligngraph.isolation import attempt
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.sheet import Sheet

MOST_OUTPUT_BYTES = 2**20
DRAIN_S = 0.5  # for what was printed before the end
MOST_TOLD = 200  # characters of what a command that did not work says
ScoreFunction = Callable[[str, str, str], SupportsFloat | Awaitable[SupportsFloat]]


@dataclass(frozen=True)
class ProgramRanker:
    """Scores every option by itself, as many at once as the machine has cores.

    A score is taken as the probability to be right. Two options that pass alike are in one tier. An exception or a timeout
    counts as 0 where another option passes, since then the program works and it is the solution that does not; where none
    passes, and for a score outside [0, 1], nothing is said about the option.

    Attributes:
        score: of task, answer and solution, in [0, 1] or a bool; may be asynchronous. Any other function runs in a
            thread, which cannot be stopped: one that is late is no longer waited for, and ends with the process.
        timeout_s: seconds for one solution.
    """

    score: ScoreFunction
    timeout_s: float = 10.0

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference that follows from the scores; options without one are abstained from."""
        cores = asyncio.Semaphore(os.cpu_count() or 1)
        calls = await asyncio.gather(*(self._judge(work, number, cores) for number in range(len(work.options))))
        if any(call.score for call in calls):
            calls = [replace(call, outcome="ranked", score=0.0) if call.outcome == "failed" else call for call in calls]
        return Preference.from_scores([call.score for call in calls], calls)

    async def _judge(self, work: RankingTask, number: int, cores: asyncio.Semaphore) -> RankingCall:
        labels = Sheet.of(work, (number,), "program", number).labels
        option = work.options[number]
        async with cores:
            ended = await attempt(self._ask(work.task, option.answer, option.solution), self.timeout_s)
        if ended.cause is not None:
            return RankingCall(labels, "", "failed", problem=ended.cause)
        return _read(labels, ended.value)

    async def _ask(self, *texts: str) -> object:
        scored = await _in_thread(partial(self.score, *texts))
        try:
            value = await scored if inspect.isawaitable(scored) else scored
            return float(value) if isinstance(value, SupportsFloat) else value
        except SystemExit as error:  # a test runner's, which is to fail a solution and not the run
            raise RuntimeError("the score function failed") from error


@dataclass(frozen=True)
class CommandScorer:
    """Scores a solution by a command: 1 if it exits with status 0, 0 if with status 1 or by a signal.

    The last line of what it prints, if that is a number in [0, 1], is the score of a command that exits with status 0.
    Any other status may say that the command itself did not work, as of Python for a script that is not there, of a
    shell for a command, and of pytest for wrong usage: it is an error, which counts as 0 where another solution passes.

    The command runs with the rights, the environment and the folder of whoever started this process. If it executes
    code of a candidate, that code can do whatever the caller can: it is the command's business to put it into a sandbox.
    The texts themselves are never interpreted here: no shell is involved, and arguments hold paths alone. What the
    command leaves running in its process group is killed when it ends.

    For code, a file of tests does. With `check.py` as

        import runpy, sys
        median = runpy.run_path(sys.argv[1])["median"]
        assert median([3, 1, 2]) == 2

    the command is `("python", "check.py", "{answer}")`; with pytest, `("pytest", "-q", "test_median.py", "--program",
    "{answer}")`, where `conftest.py` declares the option `--program`.

    Attributes:
        command: program and arguments. In each argument `{task}`, `{answer}` and `{solution}` become the path of a file
            with that text (UTF-8), in a folder of its own that only the caller can open, removed afterwards.
        timeout_s: seconds, after which the command is killed.
    """

    command: tuple[str, ...]
    timeout_s: float = 10.0

    async def __call__(self, task: str, answer: str, solution: str) -> float:
        """Return the score in [0, 1].

        Raises:
            UsageError: the command cannot be started, or says by its exit status that it did not work.
            TimeoutError: it did not end in time.
        """
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="aligngraph-"))
        try:
            files = await asyncio.to_thread(_write, folder, {"task": task, "answer": answer, "solution": solution})
            async with asyncio.timeout(self.timeout_s):
                return await _run([_fill(argument, files) for argument in self.command])
        except TimeoutError as error:
            raise TimeoutError(f"{self.command[0]!r} did not end within {self.timeout_s:g} s") from error
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


class _Watch(asyncio.SubprocessProtocol):
    """Keeps the end of a command's output, and ends what the command leaves running.

    `asyncio.create_subprocess_exec` would wait for every process that holds the output open, not for the command alone.
    """

    def __init__(self) -> None:
        self.output, self.errors = bytearray(), bytearray()
        self.exited, self.closed = asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._group = cast("asyncio.SubprocessTransport", transport).get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self.output if fd == 1 else self.errors
        kept += data
        del kept[:-MOST_OUTPUT_BYTES]

    def process_exited(self) -> None:
        self.kill()
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the interface's argument
        self.closed.set()

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses where only a zombie is left
            os.killpg(self._group, signal.SIGKILL)


def _read(labels: dict[str, int], value: object) -> RankingCall:
    if isinstance(value, float) and 0 <= value <= 1:
        return RankingCall(labels, outline(value), "ranked", score=value)
    problem = f"the score is {outline(value)}, not a number in [0, 1]"
    return RankingCall(labels, outline(value), "unusable", problem=problem)


class _Delivery(Future[object]):
    """A result that a thread delivers; what is raised within its `with` block is raised where it is awaited."""

    def __enter__(self) -> Self:
        self.set_running_or_notify_cancel()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is not None:  # wrapped, since sys.exit() in a test runner is to fail a solution and not the run
            failure = RuntimeError("the score function failed")
            failure.__cause__ = error
            self.set_exception(failure)
        return True


async def _in_thread(function: Callable[[], object]) -> object:
    """Return the result of `function`, run in a thread that does not keep the process alive, as a pool's would."""
    delivery = _Delivery()

    def run() -> None:
        with delivery:
            delivery.set_result(function())

    Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(delivery)


def _write(folder: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Write each text to a file of a fixed name; return the paths by the placeholder they replace."""
    paths = {f"{{{name}}}": folder / f"{name}.txt" for name in texts}
    for path, text in zip(paths.values(), texts.values(), strict=True):
        path.write_bytes(text.encode("utf-8", "replace"))
    return {placeholder: str(path) for placeholder, path in paths.items()}


def _fill(argument: str, files: Mapping[str, str]) -> str:
    for placeholder, path in files.items():
        argument = argument.replace(placeholder, path)
    return argument


async def _run(command: Sequence[str]) -> float:
    """Return the score that `command` gives; it is killed when the caller stops waiting."""
    loop = asyncio.get_running_loop()
    try:
        transport, watch = await loop.subprocess_exec(
            _Watch, *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        raise UsageError(f"the command {command[0]!r} cannot be started: {error.strerror}") from error
    try:
        await watch.exited.wait()
        with suppress(TimeoutError):  # a process that left the group may hold the output open for as long as it likes
            async with asyncio.timeout(DRAIN_S):
                await watch.closed.wait()
    finally:
        if not watch.closed.is_set():
            watch.kill()
        transport.close()
        await watch.closed.wait()
    status = transport.get_returncode() or 0
    if status > 1:
        raise UsageError(f"{command[0]!r} exited with status {status}: {_last_line(watch.errors)[-MOST_TOLD:]}")
    return _score(watch.output) if status == 0 else 0.0


def _score(output: bytearray) -> float:
    printed = _number(_last_line(output))
    return printed if 0 <= printed <= 1 else 1.0


def _last_line(output: bytearray) -> str:
    lines = output.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
