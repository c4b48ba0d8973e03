"""Runs a program that a model wrote in a process of its own, and says what came of it."""

import asyncio
import os
import platform
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast

from aligngraph.sandbox.child import READY
from aligngraph.sandbox.outcome import (
    ProgramLimits,
    ProgramOutcome,
    describe_flood,
    describe_lateness,
    read_outcome,
    refuse,
)
from aligngraph.sandbox.seccomp import build_filter

START_S = 30.0  # for an interpreter to start on a busy machine
DRAIN_S = 0.5  # for output that is held open by a process which left the group, as only an unconfined one can
_DEFAULT_LIMITS = ProgramLimits()
_CHILD = Path(__file__).with_name("child.py")
# As isolated as by -I, which would ignore the fixed hash seed too: a program is to answer the same twice.
_INTERPRETER = (sys.executable, "-P", "-s", "-S", "-B", "-W", "ignore")
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}


async def run_program(code: str, limits: ProgramLimits = _DEFAULT_LIMITS, *, confined: bool = True) -> ProgramOutcome:
    """Return the answer of a Python program, or the reason why it has none.

    The answer is what the program's `solution()` returns, else the last line that it prints, else its variable `answer`.
    Cancelling ends the process at once.

    Args:
        code: the program, in UTF-8 at most `limits.code_chars` characters.
        limits: what it may use.
        confined: in the sandbox, without which it is not run at all. False: with the limits alone, which a hostile
            program can evade.
    """
    if len(code) > limits.code_chars:
        return refuse(f"is longer than {limits.code_chars:,} characters")
    try:
        source = code.encode()
        confinement = _find_filter() if confined else b""
    except UnicodeEncodeError:
        return refuse("holds half a character (a lone surrogate), which is no text")
    except LookupError as error:
        return refuse(f"cannot be confined here: {error}")
    try:
        async with _empty_folder() as folder:
            return await _run(_write_command(folder, limits, confinement), folder, source, limits)
    except OSError as error:
        return refuse(f"cannot be started: {error}")


def _find_filter() -> bytes:
    if platform.system() != "Linux":
        raise LookupError(f"only Linux can, this is {platform.system()}")
    return build_filter(platform.machine())


def _write_command(folder: Path, limits: ProgramLimits, confinement: bytes) -> list[str]:
    numbers = (limits.cpu_s, limits.wall_s, limits.memory_mb, limits.output_chars)
    return [*_INTERPRETER, str(_CHILD), str(folder), *map(str, numbers), confinement.hex()]


@asynccontextmanager
async def _empty_folder() -> AsyncIterator[Path]:
    """Make a folder that is gone afterwards. The process removes it itself as soon as it stands in it."""
    loop = asyncio.get_running_loop()
    made = loop.run_in_executor(None, tempfile.mkdtemp, "", "aligngraph-")
    try:
        yield Path(await asyncio.shield(made))
    finally:  # also if the wait for it was cancelled while a thread was making it
        await asyncio.shield(loop.create_task(_remove(made)))


async def _remove(made: asyncio.Future[str]) -> None:
    with suppress(OSError):
        await asyncio.to_thread(os.rmdir, await made)


class _Watch(asyncio.SubprocessProtocol):
    """Keeps what a process writes, up to a bound, and ends its whole group."""

    def __init__(self, limits: ProgramLimits) -> None:
        self.output = bytearray()
        self.most_bytes = limits.output_bytes + len(READY)
        self.ready, self.exited, self.closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def is_flooded(self) -> bool:
        return len(self.output) > self.most_bytes

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - the interface's argument
        if self.is_flooded():
            return
        self.output += data
        if self.output.startswith(READY):
            self.ready.set()
        if self.is_flooded():
            self.kill()

    def process_exited(self) -> None:
        self.kill()
        self.ready.set()
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the interface's argument
        self.closed.set()

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses where only a zombie is left
            if sys.platform == "win32":
                self.transport.kill()
            else:
                os.killpg(self.transport.get_pid(), signal.SIGKILL)


async def _run(command: list[str], folder: Path, source: bytes, limits: ProgramLimits) -> ProgramOutcome:
    transport, watch = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Watch(limits),
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        cwd=folder,
        env=_environment(),
        start_new_session=True,
    )
    try:
        late = await _converse(transport, watch, source, limits)
    finally:
        if not watch.closed.is_set():
            watch.kill()
        transport.close()
        await watch.closed.wait()
    if watch.is_flooded() or late:
        return refuse(describe_flood(limits) if watch.is_flooded() else late)
    return read_outcome(bytes(watch.output).removeprefix(READY), transport.get_returncode() or 0, limits)


async def _converse(transport: asyncio.SubprocessTransport, watch: _Watch, source: bytes, limits: ProgramLimits) -> str:
    """Give the process its program and wait for its end; return what to say if it came too late, else an empty text."""
    try:
        async with asyncio.timeout(START_S):
            await watch.ready.wait()
    except TimeoutError:
        return f"did not start within {START_S:g} s"
    stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
    stdin.write(source)
    stdin.close()
    try:
        async with asyncio.timeout(limits.wall_s):
            await watch.exited.wait()
    except TimeoutError:
        return describe_lateness(limits)
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            await watch.closed.wait()
    return ""


def _environment() -> dict[str, str]:
    """Return what no interpreter starts without: nothing of the parent's but, on Windows, where the system lies."""
    return _ENVIRONMENT | {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
