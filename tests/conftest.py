"""What tests of every kind share: teams of scripted models, each with its files in the test's own folder."""

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets its background jobs ignore Ctrl-C, and their children too; some tests send one to a child.
    signal.signal(signal.SIGINT, signal.default_int_handler)

USAGE = {"prompt": 10, "completion": 5}


@dataclass(frozen=True)
class ScriptedTeam:
    """Writes a script and a team file; `answers` holds each agent's answers by sample, `order` the principal's, best first."""

    folder: Path
    answers: Mapping[str, Sequence[str]]
    order: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    latency_s: float | Mapping[str, float] = 0.0  # of every call, or by agent
    sections: str = ""
    agent_keys: Mapping[str, str] = field(default_factory=dict)

    def write(self) -> Path:
        script = self.folder / "script.jsonl"
        script.write_text("".join(json.dumps(row) + "\n" for row in [*self._rows(), *self.rows]))
        agents = "".join(
            f'[[agents]]\nname = "{name}"\nmodel = "scripted:script.jsonl"\nsamples = {len(answers)}\n{self.agent_keys.get(name, "")}\n'
            for name, answers in self.answers.items()
        )
        principal = '[principal]\nmodel = "scripted:script.jsonl"\n'
        path = self.folder / "team.toml"
        path.write_text(agents + principal + self.sections)
        return path

    def _rows(self):
        for name, answers in self.answers.items():
            for sample, answer in enumerate(answers):
                yield {
                    "agent": name,
                    "sample": sample,
                    "text": f"{name} thinks.\nAnswer: {answer}",
                    **self._common(name),
                }
        if self.order:
            verdict = ">".join(f"{{label:{answer}}}" for answer in self.order)
            yield {"agent": "principal", "text": json.dumps({"order": verdict}), **self._common("principal")}

    def _common(self, name):
        latency_s = self.latency_s.get(name, 0.0) if isinstance(self.latency_s, Mapping) else self.latency_s
        return {"latency_s": latency_s, "usage": USAGE}


@pytest.fixture
def scripted_team(tmp_path) -> Callable[..., Path]:
    """Return a function that writes a scripted team below the test's folder and returns the team file."""

    def write(answers, order=(), **more):
        return ScriptedTeam(tmp_path, answers, order, **more).write()

    return write


@pytest.fixture
def db(tmp_path) -> str:
    return str(tmp_path / "db")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch, tmp_path):
    """Keep the developer's own settings and data out of every test."""
    for name in ("ALIGNGRAPH_TEAM", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALIGNGRAPH_DB", str(tmp_path / "default-db"))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
