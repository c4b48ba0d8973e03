"""The benchmark of resilience: the same tasks on a server that works and on one that fails, and what that cost."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal

from aligngraph.bench.call_log import Call
from aligngraph.bench.faults import FAULTS, FaultSchedule
from aligngraph.bench.faulty_server import FaultyServer
from aligngraph.bench.faulty_team import FaultyTeam, Sum, replies
from aligngraph.bench.requests_made import End, Work, ends_by_fault, tokens_of, works_of
from aligngraph.decision import Decision
from aligngraph.errors import AlignGraphError, DelegationFailedError
from aligngraph.randomness import sampling_seed
from aligngraph.session import Session, open_session
from aligngraph.state import TaskOptions

Ending = Literal["ok", "degraded", "failed", "hung"]
MOST_TASKS_AT_ONCE = 4
LONGEST_WAIT_S = 2.0  # of a call that is made again; a date in whole seconds may ask for more than one
HARMLESS = frozenset({"ignores-n"})  # no request here asks for several choices


@dataclass(frozen=True)
class Setting:
    """What is tried.

    Attributes:
        tasks: how many, at least one.
        fault_rate: the share of requests in [0, 1] that meet a fault.
        seed: of all that is drawn.
        timeout_s: of one call; above what it takes while the processors have other work.
    """

    tasks: int = 200
    fault_rate: float = 0.2
    seed: int = 0
    timeout_s: float = 3.0

    @property
    def schedule(self) -> FaultSchedule | None:
        """Every fault there is, each as often as any other; None for none."""
        kinds = [name for name in FAULTS if name not in HARMLESS]
        shares = {name: self.fault_rate / len(kinds) for name in kinds}
        return FaultSchedule(self.seed, shares) if self.fault_rate else None

    @property
    def task_limit_s(self) -> float:
        """What no task may take: an agent makes a call three times at most, and the principal two of them."""
        return 2 * 9 * (self.timeout_s + LONGEST_WAIT_S)


@dataclass(frozen=True)
class Ended:
    """How one task ended; `error` is the class of what was raised, `decision` the audit where there is one."""

    ending: Ending
    decision: Decision | None = None
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Trial:
    """All tasks on one server.

    Attributes:
        ended: how each task ended, in the order of the tasks.
        tasks: the same tasks.
        requests: that the server saw.
        openings: of circuits, as seen where a task ended.
    """

    tasks: tuple[Sum, ...]
    ended: tuple[Ended, ...]
    requests: tuple[Call, ...]
    openings: int

    @property
    def answers(self) -> list[str | None]:
        """The answer to each task."""
        return [one.decision.answer if one.decision else None for one in self.ended]

    @property
    def works(self) -> list[Work]:
        """All samples and rankings for which requests were made."""
        audits = zip(self.tasks, self.ended, strict=True)
        return works_of(self.requests, {task.number: one.decision for task, one in audits if one.decision})

    @property
    def ends_by_fault(self) -> dict[str, Counter[End]]:
        """How many requests ended how, by the fault that they met."""
        return ends_by_fault(self.works)

    @property
    def errors(self) -> Counter[str]:
        """How often which error was raised."""
        return Counter(one.error for one in self.ended if one.error)

    def figures(self) -> dict[str, float]:
        """Return every figure by its name."""
        works = self.works
        audits = [one.decision.usage.total for one in self.ended if one.decision]
        return {
            **self._endings(),
            "right_answers": sum(task.right == said for task, said in zip(self.tasks, self.answers, strict=True)),
            "requests": len(self.requests),
            "requests_repeated": len(self.requests) - len(works),
            "calls_counted": sum(usage.calls for usage in audits),
            "calls_estimated": sum(usage.estimated_calls for usage in audits),
            "tokens_counted": sum(usage.prompt_tokens + usage.completion_tokens for usage in audits),
            "tokens_served": sum(map(tokens_of, self.requests)),
            "tokens_wasted": sum(work.tokens_wasted for work in works),
            "tokens_unread": sum(work.tokens_unread for work in works),
            "works_miscounted": sum(work.is_miscounted for work in works),
            "circuits_opened": self.openings,
            "seconds_median": round(median(one.seconds for one in self.ended), 3),
            "seconds_p95": round(_percentile([one.seconds for one in self.ended], 95), 3),
        }

    def _endings(self) -> dict[str, float]:
        count = Counter(one.ending for one in self.ended)
        endings: tuple[Ending, ...] = ("ok", "degraded", "failed", "hung")
        return {"tasks": len(self.tasks), **{ending: count[ending] for ending in endings}}


@dataclass(frozen=True)
class Resilience:
    """The tasks without faults, and with them."""

    setting: Setting
    sound: Trial
    faulty: Trial

    @property
    def same_answers(self) -> int:
        """Tasks that were answered as without faults."""
        pairs = zip(self.sound.answers, self.faulty.answers, strict=True)
        return sum(one is not None and one == other for one, other in pairs)

    @property
    def errors(self) -> Counter[str]:
        """How often which error was raised, with and without faults."""
        return self.sound.errors + self.faulty.errors

    def as_json(self) -> dict[str, Any]:
        """Return all figures in plain JSON types."""
        return {
            "setting": asdict(self.setting),
            "sound": self.sound.figures(),
            "faulty": {**self.faulty.figures(), "same_answers": self.same_answers},
            "errors": dict(self.errors),
            "by_fault": {fault: dict(ends) for fault, ends in self.faulty.ends_by_fault.items()},
        }


def measure_resilience(setting: Setting) -> Resilience:
    """Return how the tasks end without faults and with them, each time from an empty store.

    Tasks run side by side and teach each other in the order in which they end, so a close answer may differ by that alone.
    """
    sound = replace(setting, fault_rate=0.0)
    return Resilience(setting, asyncio.run(run_trial(sound)), asyncio.run(run_trial(setting)))


async def run_trial(setting: Setting) -> Trial:
    """Return how all tasks ended on a server of this setting."""
    tasks = tuple(Sum.draw(setting.seed, number) for number in range(setting.tasks))
    spoken = replies(setting.seed)
    server = FaultyServer(replies=spoken, schedule=setting.schedule, slow_s=0.3, drip_s=0.001, retry_after_s=0.2)
    with TemporaryDirectory() as folder, server:
        team = FaultyTeam(server.base_url, setting.timeout_s, LONGEST_WAIT_S).write(Path(folder))
        async with open_session(team, db=folder) as session:
            asking = _Asking(session, setting, asyncio.Semaphore(MOST_TASKS_AT_ONCE), set())
            ended = await asyncio.gather(*map(asking.ask, tasks))
    return Trial(tasks, tuple(ended), tuple(server.log.calls), len(asking.openings))


@dataclass(frozen=True)
class _Asking:
    """A session that is asked several tasks at once; `openings` are the circuits seen open, each with its moment."""

    session: Session
    setting: Setting
    turns: asyncio.Semaphore
    openings: set[tuple[str, float]]

    async def ask(self, task: Sum) -> Ended:
        async with self.turns:
            began_at = time.monotonic()
            ended = await self._decide(task)
            seconds = time.monotonic() - began_at
            circuits = await self.session.store.calls.read_circuits()
        opened = {model: row["opened_at"] for model, row in circuits.items()}
        self.openings.update((model, moment) for model, moment in opened.items() if moment is not None)
        return replace(ended, seconds=seconds)

    async def _decide(self, task: Sum) -> Ended:
        options = TaskOptions(seed=sampling_seed(self.setting.seed, "run", task.number))
        try:
            async with asyncio.timeout(self.setting.task_limit_s) as limit:
                decision = await self.session.ask(task.text, options=options)
        except DelegationFailedError as error:
            return Ended("failed", Decision.model_validate(error.decision), type(error).__name__)
        except AlignGraphError as error:
            return Ended("failed", error=type(error).__name__)
        except TimeoutError:
            if not limit.expired():
                raise
            return Ended("hung")
        return Ended(decision.status, decision)


def _percentile(values: Sequence[float], percent: int) -> float:
    """Return the least value that so many percent do not exceed."""
    return sorted(values)[ceil(len(values) * percent / 100) - 1]
