import json
from dataclasses import replace

import numpy as np
import pytest

from aligngraph.errors import UsageError
from aligngraph.policy import LEARNERS
from aligngraph.trials.panel import Panel, RecordedSample, RecordedTask
from aligngraph.trials.replay import measure_replay, replayed_decisions, rules_of
from aligngraph.trials.replay_tasks import ReplaySetting

SETTING = ReplaySetting(agents=None, draws=2)
JUDGED = ["best single", "majority", "judge alone", "weights alone", "anchor 0.3", "anchor of trust", "anchor of duels"]
TOLD = ["best single", "majority", "weights alone", *LEARNERS, "mixture"]


def panel_of(skills, *, tasks=120, answers=4, domains=("general",)):
    """Return a panel whose agents are right as often as `skills` says, each on its own; wrong answers scatter."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(tasks):
        said = tuple(
            (RecordedSample(0 if rng.random() < skill else int(rng.integers(1, answers))),) for skill in skills
        )
        made.append(RecordedTask(str(number), domains[number % len(domains)], said, (True, *[False] * (answers - 1))))
    return Panel("made", tuple(f"agent{number}" for number in range(len(skills))), tuple(made))


def accuracy(row):
    return {column.name: column.accuracy for column in row.columns}


def test_the_columns_are_those_of_the_setting():
    panel = panel_of([0.7] * 3, tasks=20)
    judged = measure_replay(panel, replace(SETTING, judge=0.7))
    assert [column.name for column in judged.columns] == [*JUDGED, "oracle"]
    told = measure_replay(panel, replace(SETTING, feedback=True))
    assert [column.name for column in told.columns] == [*TOLD, "oracle"]


def test_a_row_counts_what_it_decided_and_is_plain_json():
    row = measure_replay(panel_of([0.7] * 3, tasks=20), SETTING)
    assert (row.panel, row.agents, row.tasks) == ("made", 3, 40)
    assert json.loads(json.dumps(row.as_json()))["columns"][1]["name"] == "majority"
    majority = row.columns[1]
    assert majority.beyond_vote.value == majority.beyond_vote.high == 0
    assert majority.accuracy == pytest.approx(np.mean(majority.by_draw), rel=1e-12)


def test_the_first_task_is_decided_by_the_plain_vote_where_no_judge_is_heard():
    panel = panel_of([0.5] * 5)
    for draw in range(20):
        first = next(replayed_decisions(panel, replace(SETTING, feedback=True), draw))
        assert len({first.right[name] for name in TOLD if name not in {"best single", "hedge"}}) == 1


def test_the_best_single_agent_is_that_of_hindsight_and_nothing_beats_the_oracle():
    row = accuracy(measure_replay(panel_of([0.4, 0.9, 0.5]), replace(SETTING, feedback=True)))
    assert row["best single"] == pytest.approx(0.9, abs=0.06)
    assert all(share <= row["oracle"] for share in row.values())


def test_told_the_right_answers_learners_find_the_one_that_knows():
    row = accuracy(measure_replay(panel_of([0.3] * 6 + [0.98], tasks=300), replace(SETTING, feedback=True)))
    assert row["mixture"] > row["majority"] + 0.2
    assert row["gradient"] > row["majority"] + 0.2
    assert row["hedge"] > row["majority"] + 0.2


def test_a_judge_that_guesses_harms_a_fixed_anchor_and_not_the_earned_one():
    row = accuracy(measure_replay(panel_of([0.85] * 6, tasks=300), replace(SETTING, judge=0.5, tasks=None)))
    assert row["anchor 0.3"] < row["majority"] - 0.05
    assert row["anchor of duels"] > row["majority"] - 0.005


def test_a_judge_that_knows_is_heard_by_agents_that_do_not():
    row = accuracy(measure_replay(panel_of([0.35] * 6, tasks=300), replace(SETTING, judge=0.95, tasks=None)))
    assert row["anchor of duels"] > row["majority"] + 0.1


def test_domains_are_learned_apart():
    """An agent that knows one kind of task and none of another is followed there alone."""
    one, other = panel_of([0.95, 0.3, 0.3]), panel_of([0.3, 0.3, 0.95])
    tasks = [
        replace(task, id=f"{domain}{task.id}", domain=domain)
        for domain, panel in (("one", one), ("other", other))
        for task in panel.tasks
    ]
    row = accuracy(measure_replay(Panel("both", one.agents, tuple(tasks)), replace(SETTING, feedback=True)))
    assert row["competence"] > row["best single"] + 0.15


def test_a_panel_that_no_team_was_asked_is_refused():
    panel = Panel("gaps", ("a", "b"), (RecordedTask("0", "general", ((RecordedSample(0),), ()), (True,)),))
    with pytest.raises(UsageError, match="panel gaps: no task was put to all agents of a team"):
        measure_replay(panel, SETTING)


def test_rules_of_two_draws_share_nothing():
    setting = replace(SETTING, judge=0.6)
    assert all(one is not other for one, other in zip(rules_of(setting, 2), rules_of(setting, 2), strict=True))
