"""The process in which a model's program runs: `python -P -s -S -B child.py FOLDER CPU_S WALL_S MEMORY_MB OUTPUT_CHARS FILTER`.

`aligngraph.sandbox.running` starts it in an environment without secrets and treats what it writes as untrusted bytes. All
modules that a program may use are imported first, then the walls close, then `READY` is written, and only after that the
first byte of the program is read from standard input: neither the parser nor the import system meets hostile text unconfined.

The walls are the process, its resource limits and FILTER, a seccomp filter in hexadecimal (empty: unconfined). The
reduced built-ins and the refusing import are no wall: they tell an honest program early and in plain words what is missing.

The result is `KIND LENGTH LENGTH` and a line end, then the text of the answer or the reason, then what was printed, in UTF-8.
"""

import io
import os
import re
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

ALLOWED_MODULES = (
    "__future__", "bisect", "calendar", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "heapq", "itertools", "json", "math", "numbers", "operator", "random", "re", "statistics",
    "string", "textwrap", "time", "typing",
)  # fmt: skip
READY = b"ready\n"
PROGRAM = "<program>"  # the file name in its tracebacks
_LATE = ("_pylong", "_strptime", "unicodedata")  # imported by the interpreter itself, when they are first needed
_RESERVE_BYTES = 4 * 2**20  # so that running out of memory can be told
_ALARM_GRACE_S = 5.0  # the alarm is for programs whose parent is gone; the parent's clock is the exact one
_ADDRESS = re.compile(r"<.* at 0x[0-9a-f]+>", re.DOTALL)
_REASON_CHARS = 300

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 1, 22, 38, 2


@dataclass(frozen=True)
class Limits:
    """What this process was told on its command line."""

    cpu_s: float
    wall_s: float
    memory_mb: int
    output_chars: int


def main(arguments: list[str]) -> NoReturn:
    """Run the program on standard input within the walls, say how it ended, and end."""
    folder, cpu_s, wall_s, memory_mb, output_chars, code = arguments
    limits = Limits(float(cpu_s), float(wall_s), int(memory_mb), int(output_chars))
    with suppress(OSError):  # where a folder in use cannot be removed, the parent does it
        os.rmdir(folder)  # noqa: PTH106 - what is not imported need not be started
    for name in (*ALLOWED_MODULES, *_LATE):
        with suppress(ModuleNotFoundError):  # `_pylong` came with Python 3.12
            import_module(name)
    sys.modules["random"].seed(0)
    sys.set_int_max_str_digits(0)
    try:
        close_walls(limits, bytes.fromhex(code))
    except (ImportError, OSError, ValueError) as error:
        _finish("unconfined", f"{type(error).__name__}: {error}", "")
    os.write(1, READY)
    _finish(*run(_read_all(), limits))


def close_walls(limits: Limits, code: bytes) -> None:
    """Give up what a program needs no more. Without a filter `code`, what the system does not know is left open.

    Raises:
        ImportError: this Python lacks `ctypes` or `resource`.
        OSError, ValueError: the system refused a limit or the filter.
    """
    if code:
        library = import_module("ctypes")  # while files can still be opened
        _bound(limits, ())
        _confine(library, code)
    else:
        with suppress(ImportError, AttributeError):
            _bound(limits, (AttributeError, OSError, ValueError))


def _bound(limits: Limits, tolerated: tuple[type[Exception], ...]) -> None:
    resource = import_module("resource")
    memory_bytes = limits.memory_mb * 2**20
    used_s = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    last_s = int(used_s + limits.cpu_s) + 2  # in whole seconds; the timer below is the exact one
    bounds = {"AS": memory_bytes, "DATA": memory_bytes, "CPU": last_s, "NPROC": 0, "FSIZE": 0, "NOFILE": 0, "CORE": 0}
    for name, bound in bounds.items():
        with suppress(*tolerated):
            _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
            most = bound + (name == "CPU")
            hard = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (min(bound, hard), hard))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGPROF, signal.SIGXCPU, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
    signal.setitimer(signal.ITIMER_REAL, limits.wall_s + _ALARM_GRACE_S)


def _confine(ctypes: ModuleType, code: bytes) -> None:
    """Have the kernel refuse whatever the filter does not name, to this thread and to all that it could ever start."""
    instructions = ctypes.create_string_buffer(code, len(code))
    address = ctypes.addressof(instructions)
    descriptor = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, address))
    call = ctypes.CDLL(None, use_errno=True).prctl
    steps = (
        (_PR_SET_PDEATHSIG, signal.SIGKILL, 0),
        (_PR_SET_NO_NEW_PRIVS, 1, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(descriptor)),
    )
    for option, value, pointer in steps:
        if call(option, *(ctypes.c_ulong(number) for number in (value, pointer, 0, 0))):
            raise OSError(ctypes.get_errno(), f"Linux refused option {option} of prctl (22 is seccomp)")


def run(source: bytes, limits: Limits) -> tuple[str, str, str]:
    """Return what is to be finished with: kind, text and what the program printed."""
    sys.stdout = printed = _Printed(limits)
    ending = _Ending(limits)
    namespace = vars(ending.module)
    with ending:
        exec(_compile(source.decode("utf-8")), namespace)  # noqa: S102 - it is what this process is for
    if ending.reason is None:
        with ending:
            ending.answer = _find_answer(namespace, printed)
    text = ending.answer
    if ending.reason is None and len(text) > limits.output_chars:
        ending.reason = f"its answer has more than {limits.output_chars:,} characters"
    if ending.reason is None and not text:
        ending.reason = "printed and returned nothing"
    return (
        ("value", text, printed.getvalue()) if ending.reason is None else ("reason", ending.reason, printed.getvalue())
    )


def _compile(source: str) -> CodeType:
    try:
        return compile(source, PROGRAM, "exec", dont_inherit=True)
    except MemoryError as error:  # how the parser says it
        raise SyntaxError("nested too deeply") from error


class _RefusedImportError(ImportError):
    """What a program gets that imports what it may not use; one that is prepared for ImportError may go on."""


class _Printed(io.StringIO):
    """Takes what is printed; too much of it is the end of the process."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self._left = limits.output_chars
        self._most = limits.output_chars

    def write(self, text: str, /) -> int:
        self._left -= len(text)
        super().write(text if self._left >= 0 else text[: self._left])
        if self._left < 0:
            _finish("reason", f"wrote more than {self._most:,} characters", self.getvalue())
        return len(text)


class _Ending:
    """Runs a part of the program: whatever it raises becomes the reason."""

    def __init__(self, limits: Limits) -> None:
        self.module = sys.modules["__main__"] = ModuleType("__main__")  # dataclasses and others look there
        vars(self.module)["__builtins__"] = program_builtins()
        self.reason: str | None = None
        self.answer = ""
        self._memory_mb = limits.memory_mb
        self._reserve: bytearray | None = bytearray(_RESERVE_BYTES)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, MemoryError):
            self._reserve = None
            vars(self.module).clear()
            self.reason = f"needs more than {self._memory_mb:,} MB of memory"
        elif error is not None and not (isinstance(error, SystemExit) and error.code in {None, 0}):
            self.reason = " ".join(_describe(error, trace).split())[:_REASON_CHARS]
        return True


def program_builtins() -> dict[str, Any]:
    """Return the built-ins of a program: without files and terminals, and with an import that names what is allowed."""
    names = dict(vars(sys.modules["builtins"]))
    names |= {name: _refusal(name) for name in ("open", "input", "breakpoint")}
    return names | {"__import__": _import, "exit": sys.exit, "quit": sys.exit}


def _import(name: str, *rest: Any, **named: Any) -> ModuleType:
    if name.partition(".")[0] not in {*ALLOWED_MODULES, *_LATE}:
        raise _RefusedImportError(
            f"imports {name!r}, which programs may not use (allowed: {', '.join(ALLOWED_MODULES)})"
        )
    return __import__(name, *rest, **named)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise PermissionError(f"programs may not use {name}()")

    return refuse


def _describe(error: BaseException, trace: TracebackType | None) -> str:
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == PROGRAM else None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM:
            line = trace.tb_lineno
        trace = trace.tb_next
    place = f" (line {line})" if line else ""
    if isinstance(error, _RefusedImportError):
        return str(error)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    told = ": ".join(filter(None, (type(error).__name__, message)))[: _REASON_CHARS - len(place)] + place
    return f"was refused by the sandbox: {told}" if isinstance(error, PermissionError) else told


def _find_answer(namespace: dict[str, Any], printed: io.StringIO) -> str:
    """Return what `solution()` returns, else the last line printed, else the variable `answer`, else an empty text."""
    solution = namespace.get("solution")
    if callable(solution) and _needs_no_argument(solution) and (text := _tell(solution())):
        return text
    lines = [line.strip() for line in printed.getvalue().splitlines() if line.strip()]
    return lines[-1] if lines else _tell(namespace.get("answer"))


def _needs_no_argument(function: Callable[..., Any]) -> bool:
    try:
        signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


def _tell(value: object) -> str:
    """Return the text of an answer, empty for None.

    Raises:
        TypeError: the value is an object that says no more than where it lies, such as a function.
    """
    text = "" if value is None else str(value).strip()
    if _ADDRESS.fullmatch(text):
        raise TypeError(f"a {type(value).__name__} is no answer")
    return text


def _read_all() -> bytes:
    source = bytearray()
    while piece := os.read(0, 65536):
        source += piece
    return bytes(source)


def _finish(kind: str, text: str, printed: str) -> NoReturn:
    """Write the result and end at once: no exit hook and no destructor of the program runs."""
    parts = [part.encode("utf-8", "replace") for part in (text, printed)]
    result = memoryview(f"{kind} {len(parts[0])} {len(parts[1])}\n".encode() + b"".join(parts))
    while result:
        result = result[os.write(1, result) :]
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
