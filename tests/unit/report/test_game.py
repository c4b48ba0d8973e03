import numpy as np
import pytest

from aligngraph.policy import initial_policy, play
from aligngraph.report.charts import LineChart, RowChart
from aligngraph.report.document import Figure
from aligngraph.report.game import describe_game, replayed_steps


def figures(section):
    return [part for part in section.parts if isinstance(part, Figure)]


def test_the_steps_played_again_end_where_the_game_ended(make_evidence):
    evidence = make_evidence()
    start = initial_policy([[1, 0], [0, 1]], 0.5)
    outcome = play(start, evidence.preference, anchor=0.3)
    steps = replayed_steps(evidence)
    assert len(steps) == outcome.steps + 1
    assert steps[0] == pytest.approx(start)
    assert steps[-1] == pytest.approx(outcome.policy, abs=1e-12)


def test_an_arm_without_a_vote_does_not_play(make_evidence):
    evidence = make_evidence(counts=((2.0, 0.0), (0.0, 0.0)), first=((2.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert replayed_steps(evidence).shape[1:] == (1, 2)


def test_without_a_ranking_the_policies_stay_where_they_are(make_evidence):
    steps = replayed_steps(make_evidence(preference=None))
    assert np.abs(steps[-1] - steps[0]).max() < 1e-12


def test_the_policies_move_in_one_panel_for_each_arm(make_decision, make_evidence):
    decision = make_decision()
    moving, _ = figures(describe_game(decision, decision.game, make_evidence()))
    assert isinstance(moving.chart, LineChart)
    assert [panel.title for panel in moving.chart.panels] == ["careful/direct", "quick/direct"]
    careful = moving.chart.panels[0].lines
    assert [line.label for line in careful] == ["42", "41"]
    assert careful[0].y[0] == pytest.approx((1 + 0.25) / 1.5)
    assert careful[0].y[-1] > careful[0].y[0]
    assert moving.table.rows[0] == ("careful/direct", "1", "0.833", "0.167")


def test_regret_stands_next_to_its_bound(make_decision, make_evidence):
    decision = make_decision()
    regret = figures(describe_game(decision, decision.game, make_evidence()))[-1]
    assert isinstance(regret.chart, RowChart)
    assert [(row.label, row.value, row.mark) for row in regret.chart.rows] == [
        ("careful/direct", 0.5, 2.0),
        ("quick/direct", 1.5, 2.5),
    ]
    assert "above their bound: nobody" in regret.description
    assert regret.table.rows[1] == ("quick/direct", "1.500", "2.500")


def test_an_arm_above_its_bound_is_named(make_decision):
    game = make_decision().game.model_copy(update={"regret": {"careful/direct": 9.0, "quick/direct": 1.5}})
    regret = figures(describe_game(make_decision(), game, None))[-1]
    assert "above their bound: careful/direct" in regret.description


def test_a_game_without_a_bound_shows_regret_alone(make_decision):
    game = make_decision().game.model_copy(update={"regret_bound": {}})
    regret = figures(describe_game(make_decision(), game, None))[-1]
    assert [row.mark for row in regret.chart.rows] == [None, None]
    assert regret.table.rows[0] == ("careful/direct", "0.500", "-")


def test_quantities_have_their_exact_names(make_decision):
    """F52: NashConv is not exploitability."""
    decision = make_decision()
    notes = " ".join(describe_game(decision, decision.game, None).notes)
    assert (
        "NashConv of the final policies: 0.125 in the game without anchor, 0.062 in the game that was played" in notes
    )
    assert "not exploitability" in notes
    assert "The steps are not shown" in notes


def test_of_many_arms_and_answers_the_strongest_are_shown(make_decision, make_evidence):
    arms, answers = 14, 7
    rows = np.eye(answers)[np.arange(arms) % answers].tolist()
    evidence = make_evidence(
        arms=tuple(f"a{number}/x" for number in range(arms)),
        made_of=("m",) * arms, asked=(1,) * arms, failed=(0,) * arms, planned=arms,
        counts=tuple(map(tuple, rows)), first=tuple((*row, 0.0) for row in rows),
        posterior=(1 / answers,) * answers, preference=tuple((0.5,) * answers for _ in range(answers)),
    )  # fmt: skip
    answer = make_decision().answers[0]
    decision = make_decision(
        answers=[answer.model_copy(update={"answer": str(number)}).model_dump() for number in range(answers)]
    )
    moving = figures(describe_game(decision, decision.game, evidence))[0]
    assert len(moving.chart.panels) == 12
    assert len(moving.chart.panels[0].lines) == 5
    assert "The first 12 arms are shown. Of 7 answers the 5 strongest are shown." in moving.description
