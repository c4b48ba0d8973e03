import io
import json

import pytest
from rich.console import Console

from aligngraph.calling.circuit import Circuit
from aligngraph.calling.settings import CircuitSettings
from aligngraph.cli.circuits import CAUSE_CHARS, describe_circuits, print_circuits

SETTINGS = CircuitSettings(failures=3, rest_s=60, longest_rest_s=600)
T = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def failed(times, cause="HTTP 503"):
    circuit = Circuit()
    for _ in range(times):
        circuit = circuit.after_failure(T, cause, SETTINGS)
    return circuit.as_json()


def printed(entries):
    screen = Console(file=io.StringIO(), width=200, emoji=False, highlight=False)
    print_circuits(entries, screen)
    return screen.file.getvalue()


def test_a_model_at_rest_is_shown_with_its_failures_until_when_and_why():
    [entry] = describe_circuits({"openai:m": failed(3)}, T + 1)
    assert entry == {
        "model": "openai:m",
        "state": "open",
        "failures": 3,
        "rests_until": "2027-01-15T08:01:00+00:00",
        "cause": "HTTP 503",
    }
    for shown in ("openai:m", "open", "3", "2027-01-15T08:01:00+00:00", "HTTP 503"):
        assert shown in printed([entry])


def test_one_that_failed_a_little_is_closed_and_one_that_has_rested_is_half_open():
    few, rested = describe_circuits({"a": failed(1), "b": failed(3)}, T + 60)
    assert (few["state"], few["failures"], few["rests_until"]) == ("closed", 1, None)
    assert (rested["state"], rested["failures"], rested["rests_until"]) == ("half-open", 3, None)


def test_those_that_have_answered_since_are_left_out_and_nothing_is_printed_then():
    assert describe_circuits({"a": Circuit().as_json(), "b": failed(0)}, T) == []
    assert printed([]) == ""


def test_models_come_in_alphabetical_order():
    rows = {model: failed(1) for model in ("openai:z", "anthropic:m", "openai:a")}
    assert [entry["model"] for entry in describe_circuits(rows, T)] == ["anthropic:m", "openai:a", "openai:z"]


@pytest.mark.parametrize("row", [{}, {"failures": -1}, {**Circuit().as_json(), "rest_s": "long"}, "open"], ids=str)
def test_a_stored_circuit_that_makes_no_sense_counts_as_closed_and_says_so(row):
    [entry] = describe_circuits({"m": row}, T)
    assert (entry["state"], entry["failures"]) == ("closed", 0)
    assert entry["cause"].startswith("counts as closed: ")


def test_a_cause_is_shortened_and_cannot_steer_the_terminal():
    [entry] = describe_circuits({"m": failed(1, "\x1b[2J\u202e[red]" + "x" * 500)}, T)
    assert len(entry["cause"]) == CAUSE_CHARS
    assert entry["cause"].startswith("\\x1b[2J\\x202e[red]xx")
    assert entry["cause"].endswith("...")
    shown = printed([entry, {**entry, "model": "\x1b[31mred"}])
    assert "\x1b" not in shown
    assert "[red]" in shown
    assert json.loads(json.dumps([entry])) == [entry]


def test_a_rest_beyond_every_calendar_is_shown_without_its_end():
    distant = Circuit(failures=1, opened_at=9e14, rest_s=9e14, cause="x").as_json()
    [entry] = describe_circuits({"m": distant}, 9.1e14)
    assert (entry["state"], entry["rests_until"]) == ("open", None)
