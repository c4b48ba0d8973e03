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
AGAIN = 0.3  # how often a run that goes on is killed once more

FIRST = {"a": ["42", "42", "41"], "b": ["41", "41", "42"], "c": ["40", "41", "40"]}
SECOND = {"b": ["41", "42", "42"], "c": ["40", "42", "41"]}
LATENCY_S = {"a": 0.002, "b": 0.005, "c": 0.008, "principal": 0.004}

AGREED = {
    "a": ["42", "42", "42"],
    "b": ["42", "42", "41"],
    "c": ["41", "42", "42"],
}  # after six samples the rest is left
TURNS = {"a": 3, "b": 3, "c": 1}


@dataclass(frozen=True)
class Plan:
    """In which phases runs are to die: in each of them `each` times are tried, then more until `least` died there.

    A talk is the time within which some of a sample's replies are safe and others are not there yet; `stored` selects the
    names of the calls whose replies are safe.
    """

    phases: tuple[str, ...]
    each: int
    least: int
    most_tries: int
    stored: str

    @property
    def deaths(self):
        return len(self.phases) * self.each

    def phases_to_die_in(self, deaths):
        """Yield the phase to be tried next, given how many died in which by then."""
        yield from self.phases * self.each
        for _ in range(self.most_tries - self.deaths):
            short = [phase for phase in self.phases if deaths[phase] < self.least]
            if not short and deaths.total() >= self.deaths:
                return
            yield short[0] if short else "agents"


ROUNDS = Plan(
    phases=("intake", "agents", "principal", "policy_update", "answer"),
    each=10,
    least=5,
    most_tries=120,
    stored="SELECT candidate_id FROM candidates",
)
WAVES = Plan(
    phases=("intake", "agents", "talk", "settle", "principal", "policy_update", "answer"),
    each=2,
    least=1,
    most_tries=40,
    stored="SELECT agent || '.' || sample FROM responses",
)


@dataclass(frozen=True)
class Moment:
    """So long after that entry of a phase, or after that call of a sample has begun."""

    place: str
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
        entries, lasted_s, latest_s = Counter(), {}, 0.0
        for (phase, began), (_, ended) in zip(self.phases, [*self.phases[1:], (None, 0.0)], strict=True):
            entries[phase] += 1
            latest_s = ended - began if ended else latest_s
            lasted_s[phase, entries[phase]] = latest_s
        return lasted_s


class Worker:
    """The warm process; each job is done by a fork of it."""

    def __init__(self, process):
        self.process = process

    def ask(self, team, db, moment=None):
        kill = None if moment is None else vars(moment)
        job = {"team": str(team), "db": str(db), "task": TASK, "seed": 7, "kill": kill}
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


@pytest.fixture(scope="module")
def worker():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads would not outlive a fork
    with subprocess.Popen(
        [sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Worker(process)
        process.stdin.close()


@pytest.fixture
def team_of_two_rounds(scripted_team):
    rows = [
        {"agent": agent, "sample": 3 + number, "text": f"Again.\nAnswer: {answer}", "latency_s": LATENCY_S[agent]}
        for agent, answers in SECOND.items()
        for number, answer in enumerate(answers)
    ]
    game = "[game]\nanchor = 0.3\nmax_rounds = 2\n"
    return scripted_team(FIRST, order=["42", "41", "40"], rows=rows, latency_s=LATENCY_S, sections=game)


@pytest.fixture
def team_of_two_waves(scripted_team):
    talks = {agent: 'strategies = ["self_check"]\n' for agent, turns in TURNS.items() if turns == TURNS["a"]}
    sections = '[budget]\nstop = "settled"\n[cache]\nresponses = true\n'
    return scripted_team(AGREED, order=["42", "41"], latency_s=LATENCY_S, agent_keys=talks, sections=sections)


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


def read_stored(db, query):
    """Return the calls whose outcome is safe, each as often as it was made."""
    replies, rankings = read_copy(db, "policy.sqlite", query, "SELECT 'principal.' || round FROM rankings")
    return Counter(name for (name,) in [*replies, *rankings])


def read_learned(db):
    """Return what the run left behind, without times."""
    return read_copy(
        db,
        "policy.sqlite",
        "SELECT domain, arm, made_of, kind, total, count, failures, gradient, loss FROM arms ORDER BY domain, arm, made_of",
        "SELECT run_id, round, domain, increments, result, kind, sequence FROM updates",
        "SELECT run_id, status, seed FROM runs",
        "SELECT evidence FROM runs",
    )


def without_seconds(decision):
    kept = json.loads(decision)
    assert kept.pop("seconds") > 0
    return json.dumps(kept)


@dataclass
class Ordeal:
    """One run, killed and taken up until it has its decision; undisturbed it makes the calls that it `needs`."""

    worker: Worker
    team: Path
    plan: Plan
    db: Path
    needs: Counter[str]
    deaths: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)

    def live(self, moments):
        """Return the decision of a run that is killed at each of the moments, if it has not ended by then."""
        for moment in [*moments, None]:
            stored = read_stored(self.db, self.plan.stored)
            attempt = self.worker.ask(self.team, self.db, moment)
            assert attempt.calls <= self.needs - stored, "what was stored is asked for again"
            self.calls += attempt.calls
            if attempt.decision is None:
                safe = read_stored(self.db, self.plan.stored)
                talks = any(0 < safe[call] < turns for call, turns in self.needs.items())
                self.deaths.append("talk" if talks else attempt.phases[-1][0])
                self.lost += attempt.calls - (safe - stored)
        return attempt.decision


def draw_moment(rng, phase, lasted_s):
    if phase == "talk":
        agent = rng.choice([agent for agent, turns in TURNS.items() if turns > 1])
        return Moment(f"{agent}.0", rng.randint(2, TURNS[agent]), rng.uniform(0, LATENCY_S[agent]))
    entry = rng.randint(1, max(entry for entered, entry in lasted_s if entered == phase))
    return Moment(phase, entry, rng.uniform(0, lasted_s[phase, entry]))


def draw_fate(rng, phase, lasted_s):
    """Return one moment in that phase, and in some cases another one anywhere in what is left of the run."""
    first = draw_moment(rng, phase, lasted_s)
    again = Moment("opening", 1, rng.uniform(0, sum(lasted_s.values())))
    return [first, again] if rng.random() < AGAIN else [first]


def live_through(worker, team, plan, tmp_path):
    """Kill runs as planned, assert that each leaves what an undisturbed one does, and return the latter."""
    whole = worker.ask(team, tmp_path / "whole")
    reference, learned = without_seconds(whole.decision), read_learned(tmp_path / "whole")
    assert (len(learned[1]), learned[2]) == (1, [("r1", "ok", 7)])
    lasted_s = worker.ask(team, tmp_path / "timed").lasted_s

    rng, deaths = random.Random(SEED), Counter()  # noqa: S311 - moments, no secrets
    for number, phase in enumerate(plan.phases_to_die_in(deaths)):
        run = Ordeal(worker, team, plan, tmp_path / f"db{number}", whole.calls)
        fate = draw_fate(rng, phase, lasted_s)
        decision = run.live(fate)
        assert without_seconds(decision) == reference, fate
        assert run.calls == whole.calls + run.lost, fate
        assert read_learned(run.db) == learned, fate
        assert read_copy(run.db, "checkpoints.sqlite", "SELECT count(*) FROM checkpoints") == [[(1,)]], fate
        deaths.update(run.deaths)
    print(f"killed {deaths.total()} times: {dict(deaths)}")  # noqa: T201 - what a reader wants to know
    assert deaths.total() >= plan.deaths
    assert all(deaths[phase] >= plan.least for phase in plan.phases), deaths
    return whole


def test_a_run_killed_at_any_moment_ends_as_if_it_never_was(worker, team_of_two_rounds, tmp_path):
    """F6: nothing stored is asked for again, nothing is learned twice, and the decision is the same byte for byte."""
    whole = live_through(worker, team_of_two_rounds, ROUNDS, tmp_path)
    assert (whole.calls["principal.1"], whole.calls["principal.2"], whole.calls.total()) == (1, 1, 17)


def test_so_does_one_of_several_waves_and_turns_with_a_cache(worker, team_of_two_waves, tmp_path):
    """F6: what a finished turn has used is counted, though its sample was not finished when the process died."""
    whole = live_through(worker, team_of_two_waves, WAVES, tmp_path)
    samples = {f"{agent}.{sample}": turns for agent, turns in TURNS.items() for sample in range(2)}
    assert whole.calls == Counter({**samples, "principal.1": 1})
    assert [phase for phase, _ in whole.phases].count("settle") == 2
    assert json.loads(whole.decision)["stopped"]["skipped_samples"] == 3
