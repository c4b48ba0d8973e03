"""What the policy store keeps of runs and calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

RunStatus = Literal["running", "cancelling", "ok", "degraded", "failed", "interrupted"]
FinalStatus = Literal["ok", "degraded", "failed"]


def utc_now() -> str:
    """Return the time in UTC, ISO 8601 to the millisecond."""
    return days_ago(0)


def days_ago(days: float) -> str:
    """Return the time `days` ago in UTC, ISO 8601 to the millisecond: such times are in order as texts, too."""
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Run:
    """One task given to one team.

    Attributes:
        run_id: unique over all domains.
        domain: the kind of task, under which competence is kept.
        task: the task's text.
        seed: root of the run's seed tree.
        team: the team as it was configured, plain JSON, no secrets.
        team_digest: of the team and of every message that its models see; equal for runs that ask the same.
        task_id: the caller's own name of the task.
        status: "running" until it is finished or interrupted; "cancelling" when somebody wants it stopped before that.
        started_at: UTC, ISO 8601.
        finished_at: UTC, ISO 8601; None while it runs.
        decision: the audit of a finished run, plain JSON.
        evidence: what can be learned of a finished run without its texts, plain JSON.
        pruned_at: when texts, team and decision were dropped, UTC, ISO 8601; None while they are there.
    """

    run_id: str
    domain: str
    task: str
    seed: int
    team: Mapping[str, Any] = field(default_factory=dict)
    team_digest: str = ""
    task_id: str | None = None
    status: RunStatus = "running"
    started_at: str = field(default_factory=utc_now)
    finished_at: str | None = None
    decision: Mapping[str, Any] | None = None
    evidence: Mapping[str, Any] | None = None
    pruned_at: str | None = None

    @property
    def ended(self) -> bool:
        """Whether it came to an end, with an answer or without; an interrupted one may go on."""
        return self.status in get_args(FinalStatus)

    @property
    def pruned(self) -> bool:
        """Whether all that is left of the run is what was learned of it."""
        return self.pruned_at is not None


@dataclass(frozen=True)
class Candidate:
    """One sample of one arm.

    Attributes:
        candidate_id: unique within the run.
        agent: who drew it.
        strategy: how.
        sample: 0, 1, ... within the agent, over all its strategies and rounds.
        position: place in seed order over the whole run.
        answer: the extracted answer; None if there is none.
        text: the whole path, NUL and lone surrogates replaced when stored.
        error: why the call, or the program that it wrote, failed; None where it gave a path, with an answer in it or not.
        usage: calls and tokens, plain JSON.
        failure: the kind of its failure, None where it has an answer.
        model: the label of the model that was asked last.
        detour: why that is not the agent's own, None where it is.
    """

    candidate_id: str
    agent: str
    strategy: str
    sample: int
    position: int
    answer: str | None
    text: str
    error: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    failure: str | None = None
    model: str | None = None
    detour: str | None = None


@dataclass(frozen=True)
class Response:
    """A model's reply, kept so that the same question need not be paid for twice.

    Attributes:
        key: digest of all that the reply depends on: agent, model, prompt, parameters and number of the sample.
        run_id: which run paid for it.
        agent: who asked.
        model: its label.
        sample: its number within the agent.
        reply: plain JSON.
        usage: calls and tokens of the sample's talk with the model, up to and with this reply, plain JSON.
        at: UTC, ISO 8601.
    """

    key: str
    run_id: str
    agent: str
    model: str
    sample: int
    reply: Mapping[str, Any]
    usage: Mapping[str, Any]
    at: str = field(default_factory=utc_now)
