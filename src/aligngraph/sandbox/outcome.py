"""What a program may use, and how it ended: the reading of untrusted bytes."""

import re
import signal
from dataclasses import dataclass

from pydantic import BaseModel, Field

MOST_BYTES_PER_CHAR = 4
_FRAME_BYTES = 2048  # room for what is no text: the head of the result, and a reason
_REASON_CHARS = 400
_HEAD = re.compile(rb"(value|reason|unconfined) (\d{1,10}) (\d{1,10})")


class ProgramLimits(BaseModel, frozen=True, extra="forbid"):
    """What one program may use.

    Attributes:
        cpu_s: seconds of processor time.
        wall_s: seconds from the start of the program; starting an interpreter is not counted.
        memory_mb: 2**20 bytes of address space, the interpreter's own 20 to 30 included.
        output_chars: characters that it may print, and characters that its answer may have.
        code_chars: characters of the program.
    """

    cpu_s: float = Field(default=2.0, gt=0, le=3600)
    wall_s: float = Field(default=5.0, gt=0, le=3600)
    memory_mb: int = Field(default=256, ge=64, le=2**20)
    output_chars: int = Field(default=20_000, ge=1, le=10**8)
    code_chars: int = Field(default=20_000, ge=1, le=10**8)

    @property
    def output_bytes(self) -> int:
        """The most that an honest program's process writes: its answer and what it printed."""
        return _FRAME_BYTES + 2 * MOST_BYTES_PER_CHAR * self.output_chars


@dataclass(frozen=True)
class ProgramOutcome:
    """How a program ended: exactly one of `value` and `reason` is not None.

    Attributes:
        value: its answer, not empty.
        printed: what it printed before it ended by itself; empty if it was ended.
        reason: why there is no answer, in one line.
    """

    value: str | None
    printed: str
    reason: str | None


def refuse(reason: str, printed: str = "") -> ProgramOutcome:
    """Return the outcome of a program without an answer."""
    return ProgramOutcome(None, printed, " ".join(reason.split())[:_REASON_CHARS])


def read_outcome(result: bytes, status: int, limits: ProgramLimits) -> ProgramOutcome:
    """Return the outcome that a process wrote before it ended with `status`, negative for a signal.

    Nothing here depends on `result` being what an honest process writes. One that forges it chooses its answer, which it
    may do anyway.
    """
    if status < 0:
        return refuse(_describe_signal(-status, limits))
    head, _, texts = result.partition(b"\n")
    match = _HEAD.fullmatch(head)
    if status or not match or len(texts) != int(match[2]) + int(match[3]):
        return refuse(f"ended without a result (exit status {status})")
    length = int(match[2])
    text, printed = (_decode(part, limits) for part in (texts[:length], texts[length:]))
    if match[1] == b"unconfined":
        return refuse(f"cannot be confined here: {text}")
    if match[1] == b"reason" or not text.strip():
        return refuse(text if text.strip() else "printed and returned nothing", printed)
    return ProgramOutcome(text, printed, None)


def _describe_signal(number: int, limits: ProgramLimits) -> str:
    if number in {getattr(signal, name, None) for name in ("SIGPROF", "SIGXCPU")}:
        return f"used more than {limits.cpu_s:g} s of processor time"
    if number == getattr(signal, "SIGALRM", None):
        return describe_lateness(limits)
    known = {known.value: known.name for known in signal.Signals}
    return f"ended by signal {known.get(number, number)}"


def describe_lateness(limits: ProgramLimits) -> str:
    """Return the reason of a program that was ended after its time."""
    return f"ran longer than {limits.wall_s:g} s"


def describe_flood(limits: ProgramLimits) -> str:
    """Return the reason of a program that was ended for what it wrote."""
    return f"wrote more than {limits.output_chars:,} characters"


def _decode(part: bytes, limits: ProgramLimits) -> str:
    """Return text that every database takes: no NUL, no half of a character."""
    return part.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")[: limits.output_chars]
