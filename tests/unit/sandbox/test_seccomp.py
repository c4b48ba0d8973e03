"""The filter, interpreted as the kernel would: also for the architecture that the tests do not run on."""

import platform
import struct

import pytest

from aligngraph.sandbox.seccomp import ARCHITECTURES, build_filter

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000
# Of what is not allowed, the numbers that an attacker would like most.
WANTED = {
    "x86_64": {
        "open": 2,
        "stat": 4,
        "ioctl": 16,
        "pread64": 17,
        "madvise": 28,
        "socket": 41,
        "connect": 42,
        "sendto": 44,
    }
    | {"clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "rename": 82, "unlink": 87, "ptrace": 101}
    | {"prctl": 157, "setrlimit": 160, "tgkill": 234, "openat": 257, "unshare": 272, "prlimit64": 302, "seccomp": 317}
    | {"process_vm_readv": 310, "memfd_create": 319, "bpf": 321, "execveat": 322, "io_uring_setup": 425, "clone3": 435},
    "aarch64": {"ioctl": 29, "unlinkat": 35, "renameat": 38, "openat": 56, "pread64": 67, "unshare": 97, "ptrace": 117}
    | {"kill": 129, "tgkill": 131, "setrlimit": 164, "prctl": 167, "socket": 198, "connect": 203, "sendto": 206}
    | {"clone": 220, "execve": 221, "madvise": 233, "prlimit64": 261, "process_vm_readv": 270, "seccomp": 277}
    | {"memfd_create": 279, "bpf": 280, "execveat": 281, "io_uring_setup": 425, "clone3": 435},
}


def decide(machine, number, arguments=(), audit=None):
    """Return what the filter answers to one call."""
    audit = ARCHITECTURES[machine].audit if audit is None else audit
    arguments = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    shown = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, audit, 0, *(value % 2**64 for value in arguments))
    program = list(struct.iter_unpack("=HBBI", build_filter(machine)))
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        if code == 0x20:
            [accumulator] = struct.unpack_from("<I", shown, operand)
        elif code == 0x54:
            accumulator &= operand
        elif code in {0x15, 0x35}:
            holds = accumulator == operand if code == 0x15 else accumulator >= operand
            at += if_true if holds else if_false
        else:
            assert code == 0x06
            return operand


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request):
    return request.param


def call(machine, name, *arguments):
    return decide(machine, ARCHITECTURES[machine].calls[name], arguments)


def test_calls_without_conditions_are_allowed(machine):
    for name in ("exit", "exit_group", "brk", "munmap", "mremap", "getrandom", "clock_gettime", "rt_sigreturn"):
        assert call(machine, name, 2**63, 2**32 - 1, 7) == ALLOW


def test_standard_input_is_read_and_the_two_outputs_are_written(machine):
    assert [call(machine, "read", fd) for fd in (0, 1, 2, 3, -1)] == [ALLOW, REFUSE, REFUSE, REFUSE, REFUSE]
    assert [call(machine, "write", fd) for fd in (0, 1, 2, 3, -1)] == [REFUSE, ALLOW, ALLOW, REFUSE, REFUSE]


@pytest.mark.parametrize("name", ["mmap", "mprotect"])
def test_memory_is_never_executable(machine, name):
    for protection in range(16):
        high = protection | 0x0100_0000_0000_0000
        expected = REFUSE if protection & 4 else ALLOW
        assert call(machine, name, 0, 4096, protection) == call(machine, name, 0, 4096, high) == expected


def test_of_futex_only_waiting_and_waking_are_allowed(machine):
    allowed = {operation for operation in range(512) if call(machine, "futex", 0, operation) == ALLOW}
    assert allowed == {operation | flags for operation in (0, 1, 9, 10) for flags in (0, 128, 256, 384)}


def test_every_other_number_is_refused(machine):
    calls = set(ARCHITECTURES[machine].calls.values())
    assert {decide(machine, number) for number in range(1024) if number not in calls} == {REFUSE}


def test_what_an_attacker_wants_is_not_on_the_list(machine):
    assert not set(WANTED[machine].values()) & set(ARCHITECTURES[machine].calls.values())
    assert {decide(machine, number) for number in WANTED[machine].values()} == {REFUSE}


@pytest.mark.parametrize("number", [0x40000000, 0x40000001, 0x7FFFFFFF, -1])
def test_x32_and_numbers_that_are_none_end_the_process(machine, number):
    assert decide(machine, number) == KILL


def test_another_architecture_ends_the_process_also_with_an_allowed_number(machine):
    others = {one.audit for one in ARCHITECTURES.values()} - {ARCHITECTURES[machine].audit} | {
        0x40000003,
        0,
        0x40000028,
    }
    assert {decide(machine, ARCHITECTURES[machine].calls["read"], (0,), audit) for audit in others} == {KILL}


def test_the_architectures_allow_the_same_calls_by_names():
    assert {frozenset(one.calls) for one in ARCHITECTURES.values()} == {frozenset(ARCHITECTURES["x86_64"].calls)}
    assert all(len(set(one.calls.values())) == len(one.calls) for one in ARCHITECTURES.values())


def test_the_filter_is_short_enough_for_the_kernel(machine):
    assert len(build_filter(machine)) // 8 < 4096


def test_another_machine_has_no_filter():
    with pytest.raises(LookupError, match=r"no filter for 'riscv64', only for x86_64, aarch64"):
        build_filter("riscv64")


def test_this_machine_has_one():
    assert build_filter(platform.machine())
