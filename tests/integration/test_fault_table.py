"""What every fault of one server costs a team of three: its outcome, the seconds, the calls made (run with -s to see it)."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from aligngraph import Team, open_session
from aligngraph.bench.faults import FAULTS
from aligngraph.bench.faulty_server import FaultyServer

TASK = "What is 6 * 7?"
TIMEOUT_S = 2.0
ATTEMPTS = 3
SPARE_S = 4.0  # for a busy machine


@dataclass(frozen=True)
class Row:
    """How a run ended in which one agent of three met a fault.

    Attributes:
        failure: of that agent's sample; None where it has an answer.
        cause: what the decision says of it.
        calls: that its server got.
    """

    fault: str
    status: str
    answer: str
    failure: str | None
    cause: str
    seconds: float
    calls: int

    def __str__(self):
        outcome = f"{self.failure}: {self.cause[:90]}" if self.failure else "answered"
        return f"| {self.fault} | {self.status} | {outcome.replace('|', '/')} | {self.seconds:.2f} | {self.calls} |"


HEADER = "| fault | run | agent | seconds | calls |\n|---|---|---|---:|---:|"


def make_team(server, fault):
    def model(name):
        return {"provider": "openai", "name": name, "base_url": server.base_url, "max_tokens": 50}

    agents = [{"name": name, "model": model("sound"), "samples": 1} for name in ("x", "y")]
    bad = {"name": "bad", "model": model(f"fault-{fault}"), "samples": 1, "timeout_s": TIMEOUT_S}
    retry = {"attempts": ATTEMPTS, "first_wait_s": 0.01, "longest_wait_s": 3}
    return Team.model_validate({"agents": [*agents, bad], "principal": {"model": model("sound")}, "retry": retry})


async def ask_with(fault, db, **settings):
    """Return the row of one fault."""
    with FaultyServer(**{"slow_s": 0.2, "retry_after_s": 0.05, **settings}) as server:
        async with open_session(make_team(server, fault), db=db) as session:
            begun = time.monotonic()
            decision = await session.ask(TASK, options={"seed": 1})
            seconds = time.monotonic() - begun
        calls = len(server.log.calls_of(f"fault-{fault}"))
    bad = decision.candidates[-1]
    assert decision.usage.agents["bad"].calls == calls
    return Row(fault, decision.status, decision.answer, bad.failure, bad.error or "", seconds, calls)


async def build_table(folder):
    """Return a row for each fault that there is, one run after the other; an ordinary run loads everything first."""
    await ask_with("ignores-n", str(folder))
    return [await ask_with(fault, str(folder)) for fault in FAULTS]


@dataclass(frozen=True)
class Expected:
    """What a row must say: the cause by a part of it, the seconds as a range."""

    failure: str | None
    cause: str = ""
    calls: int = 1
    at_least_s: float = 0.0

    def fits(self, row):
        return (row.failure, row.calls) == (self.failure, self.calls) and self.cause in row.cause


def refused(status):
    """Return what is expected of an error that lasts: one call."""
    return Expected("call_failed", f"{status}")


def busy(cause):
    """Return what is expected of an error that passes, and does not: all attempts."""
    return Expected("call_failed", cause, ATTEMPTS)


LATE = Expected("call_failed", "no reply within 2 s", at_least_s=TIMEOUT_S)
ANSWERED = Expected(None)
TABLE = {
    **{status: refused(status) for status in ("400", "401", "402", "403", "404", "413", "422", "501")},
    "429-quota": Expected("call_failed", "429 - You exceeded your current quota"),
    **{status: busy(status) for status in ("408", "409", "429", "500", "503")},
    **{f"429-{form}": busy("429 - Rate limit") for form in ("seconds", "milliseconds", "date", "nonsense")},
    "502-html": busy("502"),
    "503-seconds": busy("503"),
    "slow": Expected(None, at_least_s=0.2),
    "hang": LATE,
    "stall": LATE,
    "drip": LATE,
    "cut-before": busy("OpenAIConnectionError: Connection error."),
    "cut-inside": busy("OpenAIConnectionError: Connection error."),
    "cut-early": busy("JSONDecodeError"),
    "garbage-json": busy("JSONDecodeError"),
    "html-200": busy("ValueError: Unexpected response type"),
    "empty-body": busy("JSONDecodeError"),
    "error-200": busy("Provider returned an error"),
    "error-200-quota": Expected("call_failed", "You exceeded your current quota"),
    "no-choices": busy("null value for 'choices'"),
    "null-choices": busy("null value for 'choices'"),
    "empty-choices": Expected("call_failed", "IndexError"),
    "empty-content": Expected("no_answer", "no final answer in the text"),
    "null-content": Expected("no_answer", "no final answer in the text"),
    "surrogate": ANSWERED,
    "usage-negative": ANSWERED,
    "usage-absurd": ANSWERED,
    "usage-absent": ANSWERED,
    "ignores-n": ANSWERED,
    "strict": Expected("call_failed", "Unrecognized request argument supplied: "),
}


def test_no_fault_is_forgotten():
    assert set(TABLE) == set(FAULTS)


def test_the_table_of_the_documentation_says_what_is_expected_here():
    page = (Path(__file__).parents[2] / "docs" / "resilience.md").read_text()
    cells = re.findall(r"^\| (\S+) \| (ok|degraded) \| (?:(\w+): )?(.+) \| ([0-9.]+) \| (\d) \|$", page, re.MULTILINE)
    rows = [Row(*said, "42", failure or None, cause, float(s), int(calls)) for *said, failure, cause, s, calls in cells]
    assert [row.fault for row in rows] == list(FAULTS)
    assert [str(row) for row in rows if not TABLE[row.fault].fits(row)] == []
    assert all(row.status == ("degraded" if row.failure else "ok") for row in rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


async def test_f1_f4_f31_f51_every_fault_is_one_agent_s_failure_and_its_cause_is_told(folder):
    """Whatever one server does, the other two agents decide, in about the time that the fault itself takes."""
    rows = await build_table(folder)
    print(f"\n{HEADER}", *rows, sep="\n")  # noqa: T201 - the table
    wrong = [str(row) for row in rows if not TABLE[row.fault].fits(row)]
    assert wrong == []
    for row in rows:
        expected = TABLE[row.fault]
        assert row.answer == "42", row
        assert row.status == ("degraded" if expected.failure else "ok"), row
        assert expected.at_least_s <= row.seconds < TIMEOUT_S + SPARE_S + (2.0 if row.fault == "429-date" else 0), row


async def test_f1_a_first_byte_later_than_the_time_limit_costs_the_time_limit(folder):
    row = await ask_with("slow", str(folder), slow_s=30.0)
    assert LATE.fits(row), row
    assert TIMEOUT_S <= row.seconds < TIMEOUT_S + SPARE_S


@pytest.mark.parametrize("fault", ["429-seconds", "429-date", "503-seconds"])
async def test_a_server_that_asks_for_an_hour_is_asked_once_and_not_waited_for(folder, fault):
    row = await ask_with(fault, str(folder), retry_after_s=3600.0)
    assert (row.failure, row.calls, row.status) == ("call_failed", 1, "degraded")
    assert row.seconds < SPARE_S


async def test_what_the_server_asks_for_is_waited(folder):
    row = await ask_with("429-seconds", str(folder), retry_after_s=0.4)
    assert row.calls == ATTEMPTS
    assert row.seconds >= 2 * 0.4
