"""kill -9 at random moments, then the same run again: what was paid for is kept, asked for once and learned once."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("kill_worker.py")
TASK = "What is 6 * 7?"
SEED = 20261130
PHASES = ("intake", "agents", "principal", "policy_update", "answer")
ENTRIES = {"agents": 2, "principal": 2, "policy_update": 2}  # in two rounds
EACH, LEAST, MOST_TRIES = 10, 5, 120
AGAIN = 0.3  # how often a run that goes on is killed once more

FIRST = {"a": ["42", "42", "41"], "b": ["41", "41", "42"], "c": ["40", "41", "40"]}
SECOND = {"b": ["41", "42", "42"], "c": ["40", "42", "41"]}
LATENCY_S = {"a": 0.002, "b": 0.005, "c": 0.008, "principal": 0.004}


@dataclass(frozen=True)
class Moment:
    """So long after that entry of a phase."""

    phase: str
    entry: int
    delay_s: float


@dataclass(frozen=True)
class Attempt:
    """What one process did: its phases in turn with when they began, its calls, and the decision if it got so far."""

    phases: list[tuple[str, float]]
    calls: Counter[str]
    decision: str | None

    @property
    def lasted_s(self):
        """The length of each entry of each phase; the last one's is unknown and taken for the one before it."""
        entries, lasted_s = Counter(), {}
        for (phase, began), (_, ended) in zip(self.phases, [*self.phases[1:], (None, 0.0)], strict=True):
            entries[phase] += 1
            lasted_s[phase, entries[phase]] = ended - began if ended else lasted_s["policy_update", 2]
        return lasted_s


class Worker:
    """The warm process; each job is done by a fork of it."""

    def __init__(self, process, team):
        self.process, self.team = process, team

    def ask(self, db, moment=None):
        kill = None if moment is None else vars(moment)
        job = {"team": str(self.team), "db": str(db), "task": TASK, "seed": 7, "kill": kill}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        report = json.loads(self.process.stdout.readline())
        phases, calls = [], Counter()
        for at, kind, name in report["events"]:
            if kind == "call":
                calls[name] += 1
            elif not phases or phases[-1][0] != name:
                phases.append((name, at))
        assert report["status"] == (0 if moment is None else -9) or report["decision"], report
        return Attempt(phases, calls, report["decision"] if report["status"] == 0 else None)


@pytest.fixture
def worker(scripted_team):
    rows = [
        {"agent": agent, "sample": 3 + number, "text": f"Again.\nAnswer: {answer}", "latency_s": LATENCY_S[agent]}
        for agent, answers in SECOND.items()
        for number, answer in enumerate(answers)
    ]
    game = "[game]\nmax_rounds = 2\n"
    team = scripted_team(FIRST, order=["42", "41", "40"], rows=rows, latency_s=LATENCY_S, sections=game)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads would not outlive a fork
    with subprocess.Popen(
        [sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Worker(process, team)
        process.stdin.close()


def read_copy(db, file, *queries):
    """Return the rows of each query on a copy: to open the file itself would mend what the next process must mend."""
    copy = db.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for part in db.glob(f"{file}*"):
        shutil.copy(part, copy)
    with closing(sqlite3.connect(copy / file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return [connection.execute(query).fetchall() if tables else [] for query in queries]


def read_stored(db):
    """Return the calls whose outcome is safe."""
    candidates, rankings = read_copy(
        db, "policy.sqlite", "SELECT candidate_id FROM candidates", "SELECT round FROM rankings"
    )
    return {name for (name,) in candidates} | {f"principal.{number}" for (number,) in rankings}


def read_learned(db):
    """Return what the run left behind, without times."""
    return read_copy(
        db,
        "policy.sqlite",
        "SELECT * FROM competence ORDER BY domain, arm",
        "SELECT run_id, round, domain, increments, result FROM updates",
        "SELECT run_id, status, seed FROM runs",
    )


def without_seconds(decision):
    kept = json.loads(decision)
    assert kept.pop("seconds") > 0
    return json.dumps(kept)


@dataclass
class Ordeal:
    """One run, killed and taken up until it has its decision."""

    worker: Worker
    db: Path
    deaths: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)

    def live(self, moments):
        """Return the decision of a run that is killed at each of the moments, if it has not ended by then."""
        for moment in [*moments, None]:
            stored = read_stored(self.db)
            attempt = self.worker.ask(self.db, moment)
            assert not stored & set(attempt.calls), "what was stored is asked for again"
            self.calls += attempt.calls
            if attempt.decision is None:
                self.deaths.append(attempt.phases[-1][0])
                self.lost += Counter(set(attempt.calls) - read_stored(self.db))
        return attempt.decision


def draw_moment(rng, phase, lasted_s):
    entry = rng.randint(1, ENTRIES.get(phase, 1))
    return Moment(phase, entry, rng.uniform(0, lasted_s[phase, entry]))


def draw_fate(rng, phase, lasted_s):
    """Return one moment in that phase, and in some cases another one anywhere in what is left of the run."""
    first = draw_moment(rng, phase, lasted_s)
    again = Moment("opening", 1, rng.uniform(0, sum(lasted_s.values())))
    return [first, again] if rng.random() < AGAIN else [first]


def phases_to_die_in(deaths):
    """Yield the phase to be tried next: each ten times, then those in which too few died."""
    yield from PHASES * EACH
    for _ in range(MOST_TRIES - len(PHASES) * EACH):
        short = [phase for phase in PHASES if deaths[phase] < LEAST]
        if not short and deaths.total() >= len(PHASES) * EACH:
            return
        yield short[0] if short else "agents"


def test_a_run_killed_at_any_moment_ends_as_if_it_never_was(worker, tmp_path):
    """F6: nothing stored is asked for again, nothing is learned twice, and the decision is the same byte for byte."""
    whole = Ordeal(worker, tmp_path / "whole")
    reference = without_seconds(whole.live([]))
    learned = read_learned(whole.db)
    assert (len(learned[1]), learned[2]) == (1, [("r1", "ok", 7)])
    assert (whole.calls["principal.1"], whole.calls["principal.2"], whole.calls.total()) == (1, 1, 17)
    lasted_s = worker.ask(tmp_path / "timed").lasted_s

    rng, deaths = random.Random(SEED), Counter()  # noqa: S311 - moments, no secrets
    for number, phase in enumerate(phases_to_die_in(deaths)):
        run = Ordeal(worker, tmp_path / f"db{number}")
        fate = draw_fate(rng, phase, lasted_s)
        decision = run.live(fate)
        assert without_seconds(decision) == reference, fate
        assert run.calls == whole.calls + run.lost, fate
        assert read_learned(run.db) == learned, fate
        assert read_copy(run.db, "checkpoints.sqlite", "SELECT count(*) FROM checkpoints") == [[(1,)]], fate
        deaths.update(run.deaths)
    print(f"killed {deaths.total()} times: {dict(deaths)}")  # noqa: T201 - what a reader wants to know
    assert deaths.total() >= len(PHASES) * EACH
    assert all(deaths[phase] >= LEAST for phase in PHASES), deaths
