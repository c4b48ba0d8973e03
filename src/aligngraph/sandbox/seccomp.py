"""The filter by which Linux refuses a program everything but to compute.

A list of what is allowed, by the numbers of each architecture: what is not on it fails with EPERM, whatever it is. No call on
it opens, creates, names or changes anything outside the process, and none makes memory executable, so that calls of
another table of the kernel (32-bit, x32) cannot be reached either; those end the process all the same.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

_EPERM = 1
_KILL_PROCESS, _REFUSE, _ALLOW = 0x8000_0000, 0x0005_0000 | _EPERM, 0x7FFF_0000
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16  # in what the kernel shows a filter
_X32 = 0x4000_0000  # the first number of the x32 table
_PROT_EXEC = 0x4
_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


@dataclass(frozen=True)
class Architecture:
    """How the kernel numbers what a computing interpreter needs.

    Attributes:
        audit: the architecture's own number.
        calls: numbers of system calls by name.
    """

    audit: int
    calls: Mapping[str, int]


ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000_003E,
        {"read": 0, "write": 1, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigreturn": 15, "mremap": 25}
        | {"exit": 60, "futex": 202, "restart_syscall": 219, "clock_gettime": 228, "exit_group": 231, "getrandom": 318},
    ),
    "aarch64": Architecture(
        0xC000_00B7,
        {"read": 63, "write": 64, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214, "rt_sigreturn": 139}
        | {"mremap": 216, "exit": 93, "futex": 98, "restart_syscall": 128, "clock_gettime": 113, "exit_group": 94}
        | {"getrandom": 278},
    ),
}
# Of these calls one argument is looked at: its place, a mask, and what may remain.
_ARGUMENTS = {
    "read": (0, 0xFFFF_FFFF, (0,)),
    "write": (0, 0xFFFF_FFFF, (1, 2)),
    "mmap": (2, _PROT_EXEC, (0,)),
    "mprotect": (2, _PROT_EXEC, (0,)),
    "futex": (1, 0x7F, (0, 1, 9, 10)),  # waiting and waking, none of the rarer operations
}


def build_filter(machine: str) -> bytes:
    """Return the classic BPF program for a machine as `uname` names it, 8 bytes an instruction.

    Raises:
        LookupError: the numbers of this machine are not known here.
    """
    if machine not in ARCHITECTURES:
        raise LookupError(f"no filter for {machine!r}, only for {', '.join(ARCHITECTURES)}")
    architecture = ARCHITECTURES[machine]
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL_PROCESS),
    ]
    for name, number in architecture.calls.items():
        body = _decide(name)
        code += [(_EQUAL, 0, len(body), number), *body]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in [*code, (_RETURN, 0, 0, _REFUSE)])


def _decide(name: str) -> list[_Instruction]:
    """Return the instructions for one call. The lower half of an argument is all that the kernel reads of these."""
    if name not in _ARGUMENTS:
        return [(_RETURN, 0, 0, _ALLOW)]
    place, mask, allowed = _ARGUMENTS[name]
    body: list[_Instruction] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place), (_AND, 0, 0, mask)]
    for value in allowed:
        body += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    return [*body, (_RETURN, 0, 0, _REFUSE)]
