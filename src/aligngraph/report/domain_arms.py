"""What is known of the arms of a domain: competence, weight, share of the samples, failures."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from aligngraph.learning.evidence import Evidence
from aligngraph.policy import delegation_regret_bound
from aligngraph.policy.checks import FloatArray
from aligngraph.report.charts import LineChart, Panel, Row, RowChart
from aligngraph.report.document import Figure, Section, Table
from aligngraph.report.escaping import brief, harmless
from aligngraph.report.series import band, line, series_table
from aligngraph.report.timeline import WINDOW, ArmSeries, Point, arms_of, follow_arm, sample_share
from aligngraph.report.wording import counted, interval, number, percent

Events = tuple[tuple[float, str], ...]
_MOST_PANELS: Final = 12
_MOST_LINES: Final = 6


def describe_competence(points: Sequence[Point], events: Events) -> Section:
    """Return the competence of every arm over the tasks, with its interval."""
    arms = arms_of(points)
    known = {arm: follow_arm(points, arm) for arm in arms}
    x = _numbers(points)
    chosen = arms[:_MOST_PANELS]
    panels = tuple(
        Panel(brief(arm), (band("", x, known[arm].mean, known[arm].low, known[arm].high),)) for arm in chosen
    )
    chart = LineChart("competence", "task", "competence", panels, y_range=(0.0, 1.0), events=events)
    best = max(arms, key=lambda arm: float(known[arm].mean[-1]))
    description = (
        f"One panel for each arm: competence after each task, in its 90 % interval. The highest now is {brief(best)} with "
        f"{number(float(known[best].mean[-1]))}.{_left_out(arms, _MOST_PANELS)}"
    )
    headings = ("arm", "tasks", "competence", "90 % interval", "weight, two answers")
    rows = [(harmless(arm), *_now(known[arm])) for arm in arms]
    table = Table.of("Now", headings, rows)
    values = series_table("Competence over the tasks", x, [(brief(arm), known[arm].mean) for arm in chosen])
    figure = Figure("Competence of each arm over the tasks", description, chart, values)
    return Section("competence", "Competence", (), (table, figure))


def _now(series: ArmSeries) -> tuple[str, ...]:
    last = [float(values[-1]) for values in (series.tasks, series.mean, series.low, series.high, series.weight)]
    tasks, mean, low, high, weight = last
    return (number(tasks, 0 if tasks == round(tasks) else 1), number(mean), interval(low, high), number(weight))


def describe_weights(points: Sequence[Point], events: Events) -> Section:
    """Return the weight of every arm over the tasks."""
    arms, x = arms_of(points), _numbers(points)
    known = {arm: follow_arm(points, arm).weight for arm in arms}
    strongest = sorted(arms, key=lambda arm: -float(known[arm][-1]))[:_MOST_LINES]
    chart = LineChart(
        "weights", "task", "weight in nats, two answers", (Panel("", tuple(line(brief(arm), x, known[arm]) for arm in strongest)),),
        events=events,
    )  # fmt: skip
    description = (
        f"What a sample of each arm weighs in the vote. The heaviest now is {brief(strongest[0])} with "
        f"{number(float(known[strongest[0]][-1]))} nats, the lightest shown {brief(strongest[-1])} with "
        f"{number(float(known[strongest[-1]][-1]))}.{_left_out(arms, _MOST_LINES)}"
    )
    table = series_table("Weights over the tasks", x, [(brief(arm), known[arm]) for arm in arms[:_MOST_PANELS]])
    return Section("weights", "Weights", (), (Figure("Weight of each arm over the tasks", description, chart, table),))


def describe_samples(points: Sequence[Point]) -> Section:
    """Return who drew the samples, and the regret of dealing them by learned shares."""
    arms, x = arms_of(points), _numbers(points)
    shares = {arm: sample_share(points, arm) for arm in arms}
    largest = sorted(arms, key=lambda arm: -float(np.nan_to_num(shares[arm][-1])))[:_MOST_LINES]
    chart = LineChart(
        "shares",
        "task",
        "share of the samples",
        (Panel("", tuple(line(brief(arm), x, shares[arm]) for arm in largest)),),
        y_range=(0.0, 1.0),
    )
    description = f"Share of the samples drawn in the last {WINDOW} tasks.{_left_out(arms, _MOST_LINES)}"
    table = series_table("Shares of the samples", x, [(brief(arm), shares[arm]) for arm in arms[:_MOST_PANELS]])
    note = _delegation_note(points)
    return Section(
        "samples", "Who gets the samples", (note,), (Figure("Share of the samples", description, chart, table),)
    )


def _delegation_note(points: Sequence[Point]) -> str:
    """Return the regret of dealing samples by the learned shares, next to its bound."""
    sums = points[-1].sums
    dealt = sums.find("delegation")
    losses = [known.loss for key, known in sums.here.items() if known.kind == "agent"]
    if dealt.count <= 0 or not losses:
        return "Nothing is known yet of what dealing the samples by learned shares would cost."
    regret = dealt.loss - min(losses)
    bound = delegation_regret_bound(len(losses), round(dealt.count))
    return (
        f"Regret of dealing the samples by learned shares, against the best arm: {number(regret, 2)} of a loss in [0, 1] a "
        f"task, over {counted(round(dealt.count), 'task')}; the bound without forgetting is {number(bound, 2)}."
    )


def describe_failures(points: Sequence[Point]) -> Section:
    """Return how many calls of each arm failed."""
    arms = arms_of(points)
    failed = {arm: sum(known.failures for key, known in points[-1].sums.here.items() if key.arm == arm) for arm in arms}
    asked = {arm: _asked(points, arm) for arm in arms}
    rows = [(harmless(arm), str(failed[arm]), str(asked[arm]), percent(failed_share(points, arm))) for arm in arms]
    table = Table.of("Failed calls", ("arm", "failed calls", "samples drawn", "failed calls a sample"), rows)
    note = "A failed call is counted apart: it never pays 0, and competence says nothing of it."
    if not any(failed.values()):
        return Section("failures", "Failures", (note, "No call has failed."), (table,))
    chart = RowChart("failures", "failed calls", tuple(Row(brief(arm), float(failed[arm])) for arm in arms), places=0)
    description = f"Failed calls of {counted(len(arms), 'arm')}, {sum(failed.values())} in all."
    return Section("failures", "Failures", (note,), (Figure("Failed calls of each arm", description, chart, table),))


def _asked(points: Sequence[Point], arm: str) -> int:
    return sum(one.asked[one.arms.index(arm)] for one in _evidence_of(points, arm))


def failed_share(points: Sequence[Point], arm: str) -> float | None:
    """Return the arm's failed calls for each sample that it drew, as far as evidence goes; None where it drew none."""
    asked = _asked(points, arm)
    failed = sum(one.failed[one.arms.index(arm)] for one in _evidence_of(points, arm))
    return failed / asked if asked else None


def _evidence_of(points: Sequence[Point], arm: str) -> list[Evidence]:
    return [point.evidence for point in points if point.evidence is not None and arm in point.evidence.arms]


def _numbers(points: Sequence[Point]) -> FloatArray:
    return np.array([float(point.number) for point in points])


def _left_out(arms: Sequence[str], most: int) -> str:
    return f" Of {len(arms)} arms {most} are shown." if len(arms) > most else ""
