"""How far the judgements of a domain can be trusted: its learners, its principal, its agents and its posteriors."""

from collections.abc import Sequence

import numpy as np

from aligngraph.policy import LEARNERS
from aligngraph.report.alignment import Alignment
from aligngraph.report.calibration import Calibration
from aligngraph.report.charts import Line, LineChart, Panel, Row, RowChart
from aligngraph.report.document import Figure, Section, Table
from aligngraph.report.domain_arms import Events
from aligngraph.report.escaping import brief, harmless
from aligngraph.report.series import line, series_table
from aligngraph.report.timeline import Point, follow_principal, learner_shares
from aligngraph.report.wording import counted, interval, number

_NAMES = {"competence": "competence", "gradient": "exponentiated gradient"}


def describe_learners(points: Sequence[Point], events: Events) -> Section:
    """Return how much each learner has in the decisions, over the tasks."""
    title = "Which learner decides"
    if all(point.verdict is None for point in points):
        return Section("learners", title, ("Without any feedback competence decides alone.",))
    x, shares = np.array([float(point.number) for point in points]), learner_shares(points)
    named = [(_NAMES.get(name, name), shares[:, column]) for column, name in enumerate(LEARNERS)]
    panel = Panel("", tuple(line(name, x, values) for name, values in named))
    chart = LineChart("learners", "task", "share in the decision", (panel,), y_range=(0.0, 1.0), events=events)
    description = "; ".join(f"{name} has {number(float(values[-1]))} now" for name, values in named) + "."
    note = "Bayes over the tasks with feedback: a share is what a learner's forecasts were worth."
    table = series_table("Shares of the learners", x, named)
    return Section(
        "learners", title, (note,), (Figure("Share of each learner in the decision", description, chart, table),)
    )


def describe_trust(points: Sequence[Point], events: Events) -> Section:
    """Return the trust in the principal over the tasks, and the anchors that it led to."""
    title = "Trust in the principal, and the anchor"
    x, known = np.array([float(point.number) for point in points]), follow_principal(points)
    if not known.tasks.any():
        return Section("trust", title, ("The principal has not judged yet, or nothing was learned of it.",))
    agreement = LineChart(
        "agreement", "task", "duels won by the right answer", (Panel("", (line("mean", x, known.mean),)),), y_range=(0.0, 1.0), events=events
    )  # fmt: skip
    said = (
        f"Over {counted(round(float(known.tasks[-1])), 'task')} the right answer won {number(float(known.mean[-1]))} of its "
        f"duels in the principal's ranking, as far as is known; 0.5 is chance. Its word weighs "
        f"{number(float(known.trust[-1]))} nats in one duel, a cautious estimate."
    )
    anchors = LineChart(
        "anchors", "task", "anchor of the game", (Panel("", (line("anchor", x, known.anchor),)),), events=events
    )
    columns = [("duels won", known.mean), ("trust, nats a duel", known.trust)]
    first = Figure(
        "Duels that the right answer won in the principal's ranking",
        said,
        agreement,
        series_table("Trust over the tasks", x, columns),
    )
    second = Figure(
        "Anchor with which each game was played",
        f"The less the principal is trusted, the firmer the arms stay with their first votes. The last anchor was "
        f"{number(float(known.anchor[-1]))}.",
        anchors,
        series_table("Anchors over the tasks", x, [("anchor", known.anchor)]),
    )
    return Section("trust", title, (), (first, second))


def describe_alignment(found: Sequence[Alignment]) -> Section:
    """Return Kendall's tau of every agent, with its interval."""
    title = "Positive alignment"
    note = (
        "Kendall's tau-b between an agent's shares of its own first votes and the principal's preference, over the answers of "
        "a task; the mean over tasks with its 90 % interval. 1: the agent is surest of what the principal likes best."
    )
    known = [one for one in found if one.tau is not None]
    if not known:
        return Section("alignment", title, (note, "No task has both a judgement of the principal and unequal votes."))
    rows = [(harmless(one.agent), str(one.tasks), number(one.tau), interval(one.low, one.high)) for one in found]
    table = Table.of("Alignment of each agent", ("agent", "tasks", "tau", "90 % interval"), rows)
    chart = RowChart(
        "alignment",
        "Kendall's tau-b, mean over tasks",
        tuple(Row(brief(one.agent), one.tau or 0.0, one.low, one.high) for one in known),
        x_range=(-1.05, 1.05),
        dots=True,
        reference=0.0,
    )
    positive = sum(one.low is not None and one.low > 0 for one in known)
    description = f"Of {counted(len(known), 'agent')} {positive} are aligned beyond doubt: their interval is above 0."
    return Section(
        "alignment", title, (note,), (Figure("Alignment of each agent with the principal", description, chart, table),)
    )


def describe_calibration(found: Calibration) -> Section:
    """Return the reliability of the posterior, with how many tasks each point stands for."""
    title = "Calibration of the posterior"
    if found.error is None or found.brier is None:
        return Section(
            "calibration", title, ("No task has feedback, so that nobody can say how often decisions were right.",)
        )
    bins = found.bins
    reliability = Line(
        "",
        tuple(one.posterior for one in bins),
        tuple(one.right for one in bins),
        tuple(one.low for one in bins),
        tuple(one.high for one in bins),
        notes=tuple(counted(one.tasks, "task") for one in bins),
    )
    chart = LineChart(
        "calibration", "posterior of the decision", "share that was right", (Panel("", (reliability,)),), y_range=(0.0, 1.0),
        diagonal=True, dots=True,
    )  # fmt: skip
    headings = ("posterior from", "to", "tasks", "mean posterior", "right", "90 % interval")
    rows = [
        (
            number(one.lowest, 1),
            number(one.highest, 1),
            str(one.tasks),
            number(one.posterior),
            number(one.right),
            interval(one.low, one.high),
        )
        for one in bins
    ]
    description = (
        f"Each dot stands for the tasks whose decision had about that posterior; on the line the posterior can be taken at its "
        f"word, below it decisions are too sure. Over {counted(found.tasks, 'task')} the expected calibration error is "
        f"{number(found.error)} and the Brier score {number(found.brier)}."
    )
    table = Table.of("Reliability", headings, rows, left=0)
    return Section(
        "calibration",
        title,
        (),
        (Figure("How often decisions of a given posterior were right", description, chart, table),),
    )
