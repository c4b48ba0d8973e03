"""`aligngraph ask`: one task, live progress on standard error, the decision on standard output."""

import asyncio
import secrets
import shlex
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from aligngraph.cli.rendering import console, print_decision, visible
from aligngraph.decision import Decision
from aligngraph.errors import DelegationFailedError, ReviewPendingError, RunCancelledError, TaskError
from aligngraph.session import Event, open_session
from aligngraph.state import TaskOptions

INTERRUPTED = 130


@dataclass(frozen=True)
class Question:
    """What the command line asks: the task, its domain, a seed or None, an interrupted run's id or None."""

    task: str
    domain: str
    seed: int | None
    run_id: str | None


def answer(question: Question, *, team: str | None, db: str | None, as_json: bool) -> int:
    """Ask the team, print the decision and return the exit status.

    It is 0, 1 when no agent answered or a person has to rank first, 130 on Ctrl-C or when the run was cancelled.

    Raises:
        UsageError: something to correct before any model is asked.
    """
    if not question.task.strip():
        raise TaskError("the task is empty: give a question or an instruction in words")
    run_id = question.run_id or secrets.token_hex(6)
    asked = _ask(question, run_id, team, db, open_progress(as_json=as_json))
    try:
        return conclude(asked, f"repeat the command with --run {run_id}", as_json=as_json)
    except ReviewPendingError as error:
        options = [word for name, value in (("--team", team), ("--db", db)) if value for word in (name, value)]
        print(visible(f"aligngraph: {error} {shlex.join(options)}".rstrip()), file=sys.stderr)
        return error.exit_status


def open_progress(*, as_json: bool) -> Console:
    """Return the console for what happens on the way: standard error, where a person may be watching it."""
    return console(stderr=True, quiet=as_json and not sys.stderr.isatty())


def conclude(asked: Coroutine[Any, Any, Decision], way_on: str, *, as_json: bool) -> int:
    """Print the decision and return the exit status: 0, 1 when no agent answered, 130 when the run was stopped.

    Args:
        asked: what ends in the decision.
        way_on: what to do to go on where Ctrl-C, or `aligngraph cancel`, stopped the run.
        as_json: whether to print one JSON object.
    """
    try:
        decision = asyncio.run(asked)
    except DelegationFailedError as error:
        print(f"aligngraph: {visible(str(error))}", file=sys.stderr)
        _print(Decision.model_validate(error.decision), as_json=as_json)
        return error.exit_status
    except (KeyboardInterrupt, RunCancelledError) as error:
        stopped = "cancelled" if isinstance(error, RunCancelledError) else "interrupted"
        print(f"aligngraph: {stopped}; to go on where it stopped, {way_on}", file=sys.stderr)
        return INTERRUPTED
    _print(decision, as_json=as_json)
    return 0


async def _ask(question: Question, run_id: str, team: str | None, db: str | None, progress: Console) -> Decision:
    options = TaskOptions() if question.seed is None else TaskOptions(seed=question.seed)
    with progress.status("asking the agents ..."):
        async with open_session(team, db=db) as session:
            return await session.ask(
                question.task,
                domain=question.domain,
                options=options,
                run_id=run_id,
                on_event=lambda event: report_event(event, progress),
            )


def report_event(event: Event, progress: Console) -> None:
    """Print one line for one event of the run."""
    line = visible(_REPORTS[event["event"]](event))
    with suppress(OSError):  # a terminal that went away, or a full disk, stops no run
        progress.print(line, style="dim", markup=False)


def _report_run(event: Event) -> str:
    return f"run {event['run_id']}"


def _report_candidate(event: Event) -> str:
    outcome = event["answer"] if event["error"] is None else f"({event['error']})"
    return f"{event['id']} [{event['strategy']}] -> {outcome}"


def _report_ranking(event: Event) -> str:
    return f"principal -> {' > '.join(map(' = '.join, event['tiers'])) or 'no ranking'}"


def _report_round(event: Event) -> str:
    likeliest_first = sorted(event["posterior"].items(), key=lambda item: -item[1])
    return f"round {event['round']} -> {', '.join(f'{answer}: {share:.2f}' for answer, share in likeliest_first)}"


_REPORTS: dict[str, Callable[[Event], str]] = {
    "run": _report_run,
    "candidate": _report_candidate,
    "ranking": _report_ranking,
    "round": _report_round,
}


def _print(decision: Decision, *, as_json: bool) -> None:
    if as_json:
        print(decision.model_dump_json(indent=2))
    else:
        print_decision(decision)
