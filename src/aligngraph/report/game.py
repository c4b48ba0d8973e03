"""The game of one run: policies that move step by step, the regret of playing it, the incentive to deviate that is left."""

import numpy as np

from aligngraph.decision import Decision, GameReport
from aligngraph.learning.evidence import Evidence
from aligngraph.policy import initial_policy, trace, vote_shares
from aligngraph.policy.checks import FloatArray
from aligngraph.report.charts import Line, LineChart, Panel, Row, RowChart
from aligngraph.report.document import Figure, Section, Table
from aligngraph.report.escaping import brief, harmless
from aligngraph.report.wording import counted, listed, number, spread

_MOST_PANELS = 12
_MOST_LINES = 5
_MOST_STEPS = 16  # of the table


def describe_game(decision: Decision, game: GameReport, evidence: Evidence | None) -> Section:
    """Return how the game went; its steps are played again from the evidence."""
    settled = "settled" if game.settled else "had not settled"
    notes: tuple[str, ...] = (
        (
            f"Every arm proposes answers and is paid by how often the principal prefers them to the others' proposals. The "
            f"policies {settled} after {counted(game.steps, 'step')} of size {number(game.step_size, 2)}, anchored at the first "
            f"votes with {number(game.anchor, 2)} per nat."
        ),
        (
            f"NashConv of the final policies: {number(game.nash_conv)} in the game without anchor, "
            f"{number(game.anchored_nash_conv)} in the game that was played, anchor included. It is the sum over the arms of "
            "what a best response would still gain, not exploitability, which is defined for two-player zero-sum games."
        ),
        f"Entropy of the posterior: {number(game.entropy)} nats.",
    )
    moving = [] if evidence is None else [_moving_policies(decision, evidence)]
    if evidence is None:
        notes += ("The steps are not shown: this run is from before its evidence was kept.",)
    return Section("game", "The game", notes, (*moving, _regrets(game)))


def replayed_steps(evidence: Evidence) -> FloatArray:
    """Return the policies of every step of the last round's game, `[T + 1, A, K]`, those of the first votes included.

    A is the number of arms that have a vote at the end, in the order of the evidence.
    """
    votes = vote_shares([evidence.counts[player] for player in evidence.players])
    even = np.full((evidence.answers, evidence.answers), 0.5)
    rules = evidence.rules
    return trace(
        initial_policy(votes, rules.smoothing),
        even if evidence.preference is None else evidence.preference,
        step_size=rules.step_size,
        anchor=rules.anchor,
        max_steps=rules.max_steps,
    )


def _moving_policies(decision: Decision, evidence: Evidence) -> Figure:
    steps = replayed_steps(evidence)
    arms = [evidence.arms[player] for player in evidence.players]
    names = [answer.answer for answer in decision.answers]
    leading = sorted(range(len(names)), key=lambda answer: -steps[-1, :, answer].sum())[:_MOST_LINES]
    axis = tuple(float(step) for step in range(1, len(steps) + 1))
    panels = tuple(
        Panel(
            brief(arm),
            tuple(Line(brief(names[answer], 14), axis, tuple(steps[:, row, answer].tolist())) for answer in leading),
        )
        for row, arm in enumerate(arms[:_MOST_PANELS])
    )
    chart = LineChart("steps", "step", "policy", panels, y_range=(0.0, 1.0), counts_up=True)
    return Figure(
        "Policies, step by step",
        _movement(decision, steps, arms, names),
        chart,
        _step_table(steps, arms, names, leading),
    )


def _movement(decision: Decision, steps: FloatArray, arms: list[str], names: list[str]) -> str:
    moved = [brief(arm) for row, arm in enumerate(arms) if steps[0, row].argmax() != steps[-1, row].argmax()]
    shown = f" The first {_MOST_PANELS} arms are shown." if len(arms) > _MOST_PANELS else ""
    lines = f" Of {len(names)} answers the {_MOST_LINES} strongest are shown." if len(names) > _MOST_LINES else ""
    return (
        f"One panel for each arm, one line for each answer, from the smoothed first votes at step 1 on. Arms whose favourite "
        f"answer changed: {listed(moved)}. The decision was {brief(decision.answer or '-')}.{shown}{lines}"
    )


def _step_table(steps: FloatArray, arms: list[str], names: list[str], leading: list[int]) -> Table:
    kept = spread(len(steps), _MOST_STEPS)
    rows = [
        (harmless(arm), str(step + 1), *(number(float(steps[step, row, answer])) for answer in leading))
        for row, arm in enumerate(arms)
        for step in kept
    ]
    headings = ("arm", "step", *(brief(names[answer]) for answer in leading))
    return Table.of("Probability of proposing each answer", headings, rows)


def _regrets(game: GameReport) -> Figure:
    """Return the external regret of each arm next to its bound."""
    arms = list(game.regret)
    rows = tuple(Row(brief(arm), game.regret[arm], mark=game.regret_bound.get(arm)) for arm in arms)
    over = [brief(arm) for arm in arms if game.regret[arm] > game.regret_bound.get(arm, float("inf")) + 1e-9]
    chart = RowChart("regret", "external regret", rows, mark_label="its bound")
    table = Table.of(
        "External regret over the steps played",
        ("arm", "regret", "bound"),
        [(harmless(arm), number(game.regret[arm]), number(game.regret_bound.get(arm))) for arm in arms],
    )
    description = (
        "What the best fixed answer in hindsight would have earned more than the moving policy, over all steps, next to the "
        f"bound that holds whatever the principal prefers. Arms above their bound: {listed(over)}."
    )
    return Figure("External regret of each arm, next to its bound", description, chart, table)
