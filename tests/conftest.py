"""What tests of every kind share: teams of scripted models, each with its files in the test's own folder."""

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from aligngraph.answers import AnswerForm
from aligngraph.ranking import Judge, Option, RankingTask

settings.register_profile("steady", deadline=None)  # a busy machine is no counterexample
settings.load_profile("steady")

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
    principal_keys: str = ""
    sections: str = ""
    agent_keys: Mapping[str, str] = field(default_factory=dict)

    def write(self) -> Path:
        script = self.folder / "script.jsonl"
        script.write_text("".join(json.dumps(row) + "\n" for row in [*self._rows(), *self.rows]))
        agents = "".join(
            f'[[agents]]\nname = "{name}"\nmodel = "scripted:script.jsonl"\nsamples = {len(answers)}\n{self.agent_keys.get(name, "")}\n'
            for name, answers in self.answers.items()
        )
        principal = f'[principal]\nmodel = "scripted:script.jsonl"\n{self.principal_keys}'
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


@dataclass
class Call:
    """What one call showed, under which configuration and settings."""

    texts: list[str]
    metadata: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self):
        """Anonymous labels with the answers behind them, in the order shown."""
        return self.metadata["labels"]


class PlayedModel(BaseChatModel):
    """Replies what `reply` returns for a call: a text, a message, or an error to raise."""

    reply: Callable[[Call], str | AIMessage | Exception]
    calls: list[Call] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self):
        return "played"

    @property
    def prompts(self):
        """The last message of every call."""
        return [call.texts[-1] for call in self.calls]

    def _generate(self, messages, stop=None, run_manager=None, **settings):
        raise NotImplementedError("rankers are asynchronous")

    async def _agenerate(self, messages, stop=None, run_manager=None, **settings):
        call = Call([str(message.text) for message in messages], dict(run_manager.metadata or {}), settings)
        self.calls.append(call)
        given = self.reply(call)
        if isinstance(given, Exception):
            raise given
        usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        message = AIMessage(given, usage_metadata=usage) if isinstance(given, str) else given
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture
def judge():
    """Return a judge that replies as the given function says; its calls are in `judge.model.calls`."""
    return lambda reply, timeout_s=5.0: Judge(PlayedModel(reply=reply), timeout_s)


@pytest.fixture
def work():
    """Return a task with the given answers (a text, or an Option), in this order."""

    def make(*answers, seed=0, limit=4000, task="How many apples are left?"):
        options = tuple(
            answer if isinstance(answer, Option) else Option(answer, f"One sees that it is so.\nAnswer: {answer}")
            for answer in answers
        )
        config = {"metadata": {"agent": "principal", "task": "t"}}
        return RankingTask(task, options, seed, limit, config, AnswerForm.of(task, "number"))

    return make


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
