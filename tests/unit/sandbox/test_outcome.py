"""The reading of what a process wrote: untrusted bytes."""

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aligngraph.sandbox.outcome import ProgramLimits, ProgramOutcome, read_outcome, refuse

LIMITS = ProgramLimits(output_chars=10)


def test_an_answer_and_what_was_printed_are_read():
    assert read_outcome("value 2 3\n½ä\n".encode(), 0, LIMITS) == ProgramOutcome("½", "ä\n", None)


def test_a_reason_is_read_with_what_was_printed_before():
    assert read_outcome(b"reason 3 1\nwhyx", 0, LIMITS) == ProgramOutcome(None, "x", "why")


@pytest.mark.parametrize(
    "result",
    [b"", b"value", b"value 1 0", b"value 1 0\n", b"value 1 0\n12", b"value -1 2\n1", b"value 1 0 \n1", b" value 1 0\n1",
     b"value 1 0\r\n1", b"VALUE 1 0\n1", b"answer 1 0\n1", b"value 1 99999999999\n1", "value \u0661 0\n1".encode()],
)  # fmt: skip
def test_anything_else_is_no_result(result):
    assert read_outcome(result, 0, LIMITS) == refuse("ended without a result (exit status 0)")


def test_a_result_counts_only_if_the_process_ended_well():
    assert read_outcome(b"value 1 0\n1", 1, LIMITS) == refuse("ended without a result (exit status 1)")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGPROF, "used more than 2 s of processor time"),
        (signal.SIGXCPU, "used more than 2 s of processor time"),
        (signal.SIGALRM, "ran longer than 5 s"),
        (signal.SIGSYS, "ended by signal SIGSYS"),
        (signal.SIGSEGV, "ended by signal SIGSEGV"),
        (signal.SIGRTMIN + 1, f"ended by signal {signal.SIGRTMIN + 1}"),
    ],
)
def test_a_signal_is_told_in_words(number, reason):
    assert read_outcome(b"value 1 0\n1", -number, ProgramLimits()).reason == reason


def test_an_empty_answer_is_none():
    assert read_outcome(b"value 1 0\n ", 0, LIMITS).reason == "printed and returned nothing"
    assert read_outcome(b"reason 0 0\n", 0, LIMITS).reason == "printed and returned nothing"


def test_texts_are_bounded_and_hold_no_nul_and_no_broken_character():
    outcome = read_outcome(b"value 20 20\n" + b"\0\xff" * 10 + b"x" * 20, 0, LIMITS)
    assert outcome == ProgramOutcome("\ufffd" * 10, "x" * 10, None)


def test_a_reason_is_one_short_line():
    assert refuse("a\nb\u2028c\x1fd " + "x" * 1000).reason == "a b c d " + "x" * 392


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda rest: b"value 3 2\n" + rest), st.integers(-64, 255))
def test_any_bytes_give_an_answer_or_a_reason_and_never_an_error(result, status):
    outcome = read_outcome(result, status, LIMITS)
    assert (outcome.value is None) != (outcome.reason is None)
    assert outcome.value is None or outcome.value.strip()
    assert outcome.reason is None or (outcome.reason and "\n" not in outcome.reason)


def test_limits_are_checked_and_fixed():
    for wrong in (
        {"cpu_s": 0},
        {"wall_s": -1},
        {"memory_mb": 10},
        {"output_chars": 0},
        {"wall": 1},
        {"cpu_s": float("nan")},
    ):
        with pytest.raises(ValidationError):
            ProgramLimits(**wrong)
    with pytest.raises(ValidationError):
        LIMITS.cpu_s = 3
