"""The report of a domain: what its tasks taught, how good that was, and how far it can be believed."""

from collections.abc import Sequence
from dataclasses import dataclass

from aligngraph.report.alignment import Alignment, align_agents
from aligngraph.report.calibration import calibrate, forecast_of
from aligngraph.report.document import Fact, Report, Section
from aligngraph.report.domain_arms import (
    describe_competence,
    describe_failures,
    describe_samples,
    describe_weights,
    failed_share,
)
from aligngraph.report.domain_judgement import (
    describe_alignment,
    describe_calibration,
    describe_learners,
    describe_trust,
)
from aligngraph.report.domain_losses import describe_losses
from aligngraph.report.escaping import brief, harmless
from aligngraph.report.losses import record_losses
from aligngraph.report.timeline import Point, Timeline, arms_of
from aligngraph.report.wording import counted, listed, number, percent

_OFTEN = 0.1  # a share of failed calls that is worth a warning
_LITTLE = 10  # tasks with feedback below which little follows from them


@dataclass(frozen=True)
class DomainRecord:
    """All that the report of a domain is made of.

    Attributes:
        domain: its name.
        timeline: of its log.
        quarantined: one line for each stored row that made no sense and was set aside.
    """

    domain: str
    timeline: Timeline
    quarantined: tuple[str, ...] = ()


def report_domain(record: DomainRecord) -> Report:
    """Return the report; every section says why where it has nothing to show."""
    points = record.timeline.points
    aligned = align_agents(points)
    return Report(
        title=f"Domain {brief(record.domain, 80)}",
        status=_status(record.timeline),
        problems=tuple(_problems(record, aligned)),
        facts=_facts(record.timeline),
        sections=(*(_sections(record.timeline, aligned) if points else ()), _name_quantities()),
    )


def _sections(timeline: Timeline, aligned: Sequence[Alignment]) -> tuple[Section, ...]:
    points, events = timeline.points, timeline.events
    return (
        describe_competence(points, events),
        describe_weights(points, events),
        describe_samples(points),
        describe_losses(points, record_losses(points)),
        describe_learners(points, events),
        describe_trust(points, events),
        describe_alignment(aligned),
        describe_calibration(calibrate(points)),
        describe_failures(points),
    )


def _status(timeline: Timeline) -> str:
    points = timeline.points
    if not points:
        return "Status: nothing learned yet"
    fed_back = sum(point.verdict is not None for point in points)
    return f"Status: {counted(len(points), 'task')} learned from, {fed_back} with feedback, the last in run {harmless(points[-1].run_id)}"


def _problems(record: DomainRecord, aligned: Sequence[Alignment]) -> list[str]:
    """Return what limits what may be concluded, the worst first."""
    points = record.timeline.points
    found = [f"set aside: {harmless(line)}" for line in record.quarantined]
    found += [
        f"{harmless(arm)}: {percent(share)} of its calls failed" for arm, share in _failing(points) if share >= _OFTEN
    ]
    fed_back = sum(point.verdict is not None for point in points)
    if points and not fed_back:
        found.append("no task has feedback: competence rests on agreement alone, and a shared mistake teaches itself")
    elif points and fed_back < _LITTLE:
        found.append(f"only {counted(fed_back, 'task')} with feedback: losses, regret and calibration say little yet")
    if (right := _count_right(points)).decided is not None and (right.voted or 0.0) > right.decided:
        found.append(
            f"the plain vote was right more often than the decisions: {number(right.voted)} to {number(right.decided)}"
        )
    if unknown := sum(point.evidence is None for point in points):
        found.append(f"{counted(unknown, 'task')} from before evidence was kept: only their sums are shown")
    if opposed := [harmless(one.agent) for one in aligned if _is_opposed(one)]:
        found.append(f"surer of what the principal likes less: {listed(opposed)}")
    return found


def _failing(points: Sequence[Point]) -> list[tuple[str, float]]:
    return [(arm, share) for arm in arms_of(points) if (share := failed_share(points, arm)) is not None]


def _is_opposed(alignment: Alignment) -> bool:
    return alignment.high is not None and alignment.high < 0


@dataclass(frozen=True)
class _Right:
    """Shares of the tasks with feedback in which the decision and the plain vote were right; None of no such task."""

    decided: float | None
    voted: float | None


def _count_right(points: Sequence[Point]) -> _Right:
    forecasts = [forecast for point in points if (forecast := forecast_of(point)) is not None]
    votes = [
        point.verdict.right[point.evidence.majority]
        for point in points
        if point.verdict is not None
        and point.verdict.right is not None
        and point.evidence is not None
        and point.evidence.majority is not None
    ]
    return _Right(
        sum(one.right for one in forecasts) / len(forecasts) if forecasts else None,
        sum(votes) / len(votes) if votes else None,
    )


def _facts(timeline: Timeline) -> tuple[Fact, ...]:
    points, right = timeline.points, _count_right(timeline.points)
    return (
        Fact("tasks", str(len(points))),
        Fact("with feedback", str(sum(point.verdict is not None for point in points))),
        Fact("decisions right, of those", number(right.decided)),
        Fact("plain vote right, of those", number(right.voted)),
        Fact("arms", str(len(arms_of(points)))),
        Fact("corrections", str(timeline.corrected)),
    )


def _name_quantities() -> Section:
    """Return what each quantity is, and what it is not."""
    notes = (
        (
            "Competence of an arm: the mean of what it was paid, counting a prior of 2 successes and 2 failures. What other "
            "domains lend it is left out here. Its interval is Wilson's at 90 %."
        ),
        "Payoff: with feedback the share of an arm's first votes that were right, without it the posterior at its votes.",
        "Weight: the dual coordinate of competence, log odds plus the log of the number of answers, here for two answers.",
        (
            "Log loss: minus the log of the posterior at the right answer, in nats. It judges how sure a decision was; the share "
            "of right decisions does not."
        ),
        (
            "Regret across tasks: log loss beyond that of the best fixed weights in hindsight. It belongs to a sequence of "
            "decisions. NashConv belongs to one profile of one game. Neither is exploitability."
        ),
        (
            "Alignment: Kendall's tau-b between how sure an agent is of each answer and how the principal prefers it. It says "
            "that both order answers alike, not that either is right."
        ),
    )
    return Section("quantities", "What the quantities are", notes)
