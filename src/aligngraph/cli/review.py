"""`aligngraph review`: a person ranks what a run waits to have ranked, without knowing who wrote what."""

import asyncio
import json
import sys
from dataclasses import dataclass

from rich.console import Console
from rich.panel import Panel

from aligngraph.cli.ask import conclude, open_progress, report_event
from aligngraph.cli.rendering import console, shown
from aligngraph.decision import Decision
from aligngraph.errors import ReviewPendingError, UsageError
from aligngraph.session import ANSWERED_MEANWHILE, TAKEN, Review, open_session


@dataclass(frozen=True)
class WaitingRun:
    """A run, the team that it belongs to and the database that it is in."""

    run_id: str
    team: str | None
    db: str | None

    async def read(self) -> Review:
        """Return what it waits to have ranked."""
        async with open_session(self.team, db=self.db) as session:
            return await session.pending_review(self.run_id)

    async def rank(self, order: str, review_id: str | None, progress: Console) -> Decision:
        """Return the decision that follows from `order`; without the id of a review it is for whatever waits."""
        async with open_session(self.team, db=self.db) as session:
            decision = await session.answer_review(
                self.run_id, order, review_id=review_id, on_event=lambda event: report_event(event, progress)
            )
        if not _is_taken(order, decision):
            progress.print("somebody else has ranked first: this decision follows from that ranking", style="yellow")
        return decision


def _is_taken(order: str, decision: Decision) -> bool:
    return any(call["verdict"] == order for call in (decision.ranking.calls if decision.ranking else []))


def hand_in(run: WaitingRun, order: str, review_id: str | None, *, as_json: bool) -> int:
    """Let the run go on with the ranking `order`, print the decision and return the exit status.

    Raises:
        UsageError: the run waits for no ranking of this team.
        ReviewPendingError: the order cannot be used, or another round is to be ranked.
    """
    ranked = run.rank(order, review_id, open_progress(as_json=as_json))
    return conclude(ranked, f"repeat its question with --run {run.run_id}", as_json=as_json)


def hand_in_once(run: WaitingRun, order: str, review_id: str | None, *, as_json: bool) -> int:
    """Do as `hand_in`; an order that cannot be used is a UsageError, since nobody is there to be asked again."""
    try:
        return hand_in(run, order, review_id, as_json=as_json)
    except ReviewPendingError as error:
        problem = error.review["problem"]
        if problem and problem not in {TAKEN, ANSWERED_MEANWHILE}:
            raise UsageError(f"--order {order!r}: {problem}") from error
        raise


def ask_person(run: WaitingRun, *, as_json: bool) -> int:
    """Show the solutions and ask on the terminal until there is a decision; without a terminal only show them.

    Raises:
        UsageError: the run waits for no ranking of this team, or there is no terminal.
    """
    review = asyncio.run(run.read())
    if sys.stdin is None or not sys.stdin.isatty():
        _show_only(review, as_json=as_json)
        raise UsageError("there is no terminal to ask on: give the ranking with --order")
    screen = console(stderr=True)  # standard output is the decision's
    while True:
        _show(review, screen)
        try:
            return hand_in(run, screen.input("ranking: "), review["id"], as_json=as_json)
        except ReviewPendingError as error:
            review = error.review


def _show_only(review: Review, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(review, indent=2))  # in ASCII: a solution may hold what steers a terminal
    else:
        _show(review, console())


def _show(review: Review, screen: Console) -> None:
    screen.print(Panel(shown(review["task"]), title="task", title_align="left"))
    for label, solution in review["solutions"].items():
        screen.print(Panel(shown(solution), title=f"solution {label}", title_align="left"))
    screen.print(shown(review["form"]))
    if review["problem"]:
        screen.print(f"[yellow]![/] {shown(review['problem'])}")
