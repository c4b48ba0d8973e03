import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from aligngraph.cli.app import app
from aligngraph.cli.savings import LEAST_WIDTH, compare_savings, print_savings
from aligngraph.errors import UsageError
from aligngraph.policy import DEFAULT_THRESHOLD
from aligngraph.trials.panel import Panel, RecordedSample, RecordedTask
from aligngraph.trials.savings import Savings, measure_savings
from aligngraph.trials.waves import Decided, ReplaySetting, replay

TASKS = 60
SETTING = ReplaySetting(tasks=TASKS, draws=2)


def panel_of(skills, *, samples=1, tasks=TASKS, answers=4, tokens=0, domain="general"):
    """Return a panel whose agents are right as often as `skills` says, each on its own; wrong answers scatter."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(tasks):
        said = tuple(
            tuple(
                RecordedSample(0 if rng.random() < skill else int(rng.integers(1, answers)), tokens)
                for _ in range(samples)
            )
            for skill in skills
        )
        made.append(RecordedTask(str(number), domain, said, (True, *[False] * (answers - 1))))
    return Panel("made", tuple(f"agent{number}" for number in range(len(skills))), tuple(made))


def rows_of(panel, setting=SETTING, draw=0):
    return list(replay(panel, setting, draw))


def test_agents_that_agree_are_stopped_after_a_quarter_once_they_are_known():
    last = rows_of(panel_of([1.0] * 8))[-1]
    assert (last.samples, last.samples_full, last.waves, last.reason) == (2, 8, 1, "confident")
    assert last.full
    assert last.early


def test_a_team_that_knows_nothing_asks_until_nothing_can_change():
    first = rows_of(panel_of([1.0] * 8))[0]
    assert (first.samples, first.waves, first.reason) == (6, 3, "unchangeable")


def test_good_agents_cost_less_than_half_and_decide_the_same():
    line = measure_savings(panel_of([0.95] * 8, tasks=200), replace(SETTING, tasks=200))
    assert line.samples < 0.5
    assert line.same > 0.97
    assert line.full > 0.97


def test_agents_that_guess_are_asked_in_full():
    line = measure_savings(panel_of([0.3] * 8), SETTING)
    assert line.samples > 0.8
    assert line.stopped["confident"] == 0


def test_the_first_decision_is_the_same_where_nothing_could_change():
    """Before anything is learned both decide with the same weights: an unchangeable vote then has one outcome."""
    firsts = [
        rows_of(panel_of([0.8] * 8), replace(SETTING, seed=seed, threshold=1.0, tasks=1))[0] for seed in range(40)
    ]
    assert any(row.reason == "unchangeable" for row in firsts)
    assert all(row.same for row in firsts)


def test_a_higher_threshold_never_draws_fewer_samples_here():
    panel = panel_of([0.9] * 8, tasks=150)
    shares = [measure_savings(panel, replace(SETTING, tasks=150, threshold=t)).samples for t in (0.8, 0.9, 0.99, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_agents_that_echo_each_other_do_not_take_over():
    """Three copies of a poor agent agree more than anybody, and are first learned to be right; five good ones outweigh."""
    good, poor = panel_of([0.95] * 5, tasks=200), panel_of([0.4], tasks=200)
    tasks = tuple(
        replace(one, samples=(*one.samples, *other.samples * 3))
        for one, other in zip(good.tasks, poor.tasks, strict=True)
    )
    panel = Panel("echo", (*good.agents, "x", "y", "z"), tasks)
    line = measure_savings(panel, replace(SETTING, tasks=200, draws=5))
    assert line.difference.value > -0.02
    assert line.samples < 0.5


def test_all_samples_of_an_agent_are_used_up_to_the_limit():
    rows = rows_of(panel_of([0.9, 0.9], samples=6), replace(SETTING, samples=4))
    assert {row.samples_full for row in rows} == {8}


def test_tokens_are_those_of_the_samples_drawn():
    rows = rows_of(panel_of([0.9] * 6, tokens=100))
    assert all((row.tokens, row.tokens_full) == (100 * row.samples, 600) for row in rows)
    assert measure_savings(panel_of([0.9] * 6), SETTING).tokens is None


def test_a_task_that_an_agent_of_the_team_was_not_asked_is_left_out():
    panel = panel_of([0.9] * 3, tasks=10)
    partial = replace(panel.tasks[0], samples=((), *panel.tasks[0].samples[1:]))
    rows = rows_of(replace(panel, tasks=(partial, *panel.tasks[1:])))
    assert {row.task for row in rows} == {str(number) for number in range(1, 10)}


def test_no_task_for_a_whole_team_is_a_usage_error():
    panel = panel_of([0.9, 0.9], tasks=1)
    empty = replace(panel.tasks[0], samples=((), panel.tasks[0].samples[1]))
    with pytest.raises(UsageError, match="no task was put to all agents"):
        measure_savings(replace(panel, tasks=(empty,)), SETTING)


def test_a_task_without_any_answer_is_decided_by_nobody():
    silent = RecordedTask("silent", "general", ((RecordedSample(None),),) * 4, ())
    (row,) = rows_of(Panel("silent", ("a", "b", "c", "d"), (silent,)))
    assert (row.full, row.early, row.vote, row.reachable, row.same) == (False, False, False, False, True)
    assert (row.samples, row.reason) == (4, None)


def test_the_vote_and_the_oracle_are_of_all_samples():
    said = tuple((RecordedSample(answer),) for answer in (1, 1, 0, 2))
    task = RecordedTask("t", "general", said, (True, False, False))
    (row,) = rows_of(Panel("split", ("a", "b", "c", "d"), (task,)))
    assert (row.vote, row.reachable) == (False, True)


def test_teams_and_orders_follow_the_seed():
    panel = panel_of([0.5, 0.7, 0.9, 0.8], tasks=30)
    setting = replace(SETTING, agents=2)
    assert rows_of(panel, setting) == rows_of(panel, setting)
    assert rows_of(panel, setting) != rows_of(panel, setting, draw=1)
    assert rows_of(panel, setting) != rows_of(panel, replace(setting, seed=1))


def test_a_new_domain_borrows_what_others_taught():
    panel = panel_of([1.0] * 8, tasks=40)
    other = replace(panel.tasks[0], id="other", domain="other")
    setting = replace(SETTING, tasks=41)
    rows = rows_of(replace(panel, tasks=(*panel.tasks, other)), setting)
    place = next(number for number, row in enumerate(rows) if row.task == "other")
    assert place > 10, "the seed puts it late enough"
    assert rows[place].samples < 6


def decided(**changes):
    right = dict.fromkeys(("full", "early", "vote", "reachable", "same"), True)
    spent = {"samples": 2, "samples_full": 8, "tokens": 20, "tokens_full": 80, "waves": 1}
    return Decided(**{"task": "t", **right, **spent, "reason": "confident", **changes})


def test_a_line_sums_samples_and_averages_the_rest():
    rows = [
        decided(),
        decided(task="u", early=False, same=False, samples=6, tokens=60, waves=3, reason="unchangeable"),
        decided(task="v", full=False, early=False, vote=False, samples=8, tokens=80, waves=4, reason=None),
    ]
    line = Savings.of("p", 8, rows, seed=0)
    assert (line.tasks, line.samples, line.tokens) == (3, 16 / 24, 160 / 240)
    assert (line.full, line.early, line.vote, line.oracle) == pytest.approx((2 / 3, 1 / 3, 2 / 3, 1))
    assert (line.difference.value, line.waves, line.same) == pytest.approx((-1 / 3, 8 / 3, 2 / 3))
    assert line.stopped == pytest.approx({"unchangeable": 1 / 3, "confident": 1 / 3})


@pytest.fixture
def folder(tmp_path):
    """Return a folder with one recorded panel of three sources."""
    panel = tmp_path / "gen_gsm8k_subq"
    panel.mkdir()
    rows = [
        {"id": str(number), "question": "How many?", "answers": ["7", "7", str(number)], "ok": [1, 1, int(number == 7)]}
        for number in range(12)
    ]
    (panel / "panel.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sources = [{"name": name, "model": name} for name in "abc"]
    (panel / "sources.json").write_text(json.dumps(sources))
    return tmp_path


def test_the_command_prints_a_table_and_writes_the_lines(folder):
    output = folder / "savings.json"
    done = CliRunner().invoke(app, ["bench", "savings", "--data", str(folder), "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert "gen_gsm8k_subq" in done.output
    written = json.loads(output.read_text())
    assert written["setting"]["threshold"] == DEFAULT_THRESHOLD
    line = written["panels"]["gen_gsm8k_subq"]
    assert (line["tasks"], line["agents"], line["oracle"], line["tokens"]) == (60, 3, 1.0, None)
    assert set(line["difference"]) == {"value", "low", "high"}


def test_a_folder_without_panels_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="holds none of the recorded panels"):
        compare_savings(tmp_path, SETTING, tmp_path / "savings.json")


def test_the_table_is_wide_enough_for_its_numbers():
    screen = Console(width=80, record=True, emoji=False)
    line = Savings.of("gen_metaprompt_gpt4", 8, [decided(), decided(task="u", early=False)], seed=0)
    print_savings([line], SETTING, screen)
    shown = screen.export_text()
    assert "…" not in shown
    assert "-50.00" in shown
    assert max(map(len, shown.splitlines())) <= LEAST_WIDTH
