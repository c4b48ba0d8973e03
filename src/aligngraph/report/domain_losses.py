"""Log loss and regret of a domain's decisions, next to fixed rules and the bound."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from aligngraph.policy.checks import FloatArray
from aligngraph.report.charts import Line, LineChart, Panel
from aligngraph.report.document import Figure, Section, Table
from aligngraph.report.escaping import brief, harmless
from aligngraph.report.losses import LossRecord, Rule
from aligngraph.report.series import line, series_table
from aligngraph.report.timeline import Point
from aligngraph.report.wording import counted, number

_MOST_AGENTS: Final = 3
_TITLE: Final = "Log loss and regret"


def describe_losses(points: Sequence[Point], record: LossRecord | None) -> Section:
    """Return the cumulative losses and the regret, over the tasks whose right answer is known."""
    if record is None:
        note = (
            f"None of {counted(len(points), 'task')} has feedback that names a right answer, so that no loss is known."
        )
        return Section("losses", _TITLE, (note,))
    told = len(record.numbers)
    notes = (
        (
            f"Over the {counted(told, 'task')} whose right answer is known and was given, of {counted(len(points), 'task')} in "
            "all. Rules that never learn have the weights that suit them best in hindsight, which nobody knows beforehand. "
            "The best fixed weights are judged on the policies that the games ended with, as the decisions are; the plain "
            "vote and agents alone on the votes, as if there were no principal."
        ),
        _regret_note(record),
    )
    return Section("losses", _TITLE, notes, (_totals(record), _loss_figure(record), _regret_figure(record)))


def _regret_note(record: LossRecord) -> str:
    bound = record.bounds[-1].nats
    return (
        f"Regret of the decisions against the best fixed weights: {number(record.decisions.total - record.best.total, 2)} "
        f"nats. Exponentiated gradient, had feedback come right after each task: "
        f"{number(record.learner.total - record.best.total, 2)} nats; mixed with another learner it can, as these "
        f"tasks went, be at most {number(bound, 2)} nats behind. The bound does not count feedback that came late, resets and "
        "forgetting."
    )


def _totals(record: LossRecord) -> Table:
    told = len(record.numbers)
    rules = (record.decisions, record.learner, record.vote, *record.agents, record.best)
    rows = [
        (_name(rule), number(rule.total, 2), number(rule.total / told), number(record.decisions.total - rule.total, 2))
        for rule in rules
    ]
    return Table.of(
        "Cumulative log loss, in nats", ("rule", "in all", "a task", "regret of the decisions against it"), rows
    )


def _name(rule: Rule) -> str:
    return harmless(rule.name)


def _loss_figure(record: LossRecord) -> Figure:
    rules = [record.decisions, record.vote, *_best_agents(record), record.best]
    lines = tuple(line(brief(_name(rule)), record.numbers, _cumulative(rule)) for rule in rules)
    chart = LineChart("losses", "task", "cumulative log loss, nats", (Panel("", lines),))
    description = (
        f"Lower is better. At the end the decisions stand at {number(record.decisions.total, 2)}, the plain vote at "
        f"{number(record.vote.total, 2)}, the best fixed weights at {number(record.best.total, 2)}.{_left_out(record)}"
    )
    columns = [(brief(_name(rule)), _cumulative(rule)) for rule in rules]
    table = series_table("Cumulative log loss", record.numbers, columns, places=2)
    return Figure("Cumulative log loss of the decisions and of fixed rules", description, chart, table)


def _regret_figure(record: LossRecord) -> Figure:
    best = _cumulative(record.best)
    own, learner = _cumulative(record.decisions) - best, _cumulative(record.learner) - best
    at = tuple(bound.number for bound in record.bounds)
    nats = tuple(bound.nats for bound in record.bounds)
    lines = (
        line("decisions", record.numbers, own),
        line("gradient, told at once", record.numbers, learner),
        Line("bound", at, nats),
    )
    chart = LineChart("task-regret", "task", "regret, nats", (Panel("", lines),))
    description = (
        f"Cumulative log loss beyond the best fixed weights of all these tasks, next to the bound: {number(float(own[-1]), 2)} "
        f"of at most {number(nats[-1], 2)} nats at the end."
    )
    bounds = np.interp(record.numbers, at, nats)
    columns = [("decisions", own), ("exponentiated gradient", learner), ("bound", bounds)]
    table = series_table("Regret and its bound", record.numbers, columns, places=2)
    return Figure("Regret against the best fixed weights, next to its bound", description, chart, table)


def _cumulative(rule: Rule) -> FloatArray:
    return np.cumsum(rule.losses)


def _best_agents(record: LossRecord) -> list[Rule]:
    return sorted(record.agents, key=lambda rule: rule.total)[:_MOST_AGENTS]


def _left_out(record: LossRecord) -> str:
    return (
        f" Of {len(record.agents)} agents the best {_MOST_AGENTS} are shown."
        if len(record.agents) > _MOST_AGENTS
        else ""
    )
