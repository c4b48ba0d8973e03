from dataclasses import replace

import numpy as np
import pytest

from aligngraph.trials.panel import Panel, RecordedSample, RecordedTask
from aligngraph.trials.replay_tasks import ReplaySetting, made_up_preference, replayed_tasks, weaker_half

SETTING = ReplaySetting(agents=None, tasks=None)


def task_of(number, *answers, right=(True, False, False), domain="general"):
    """Return a task whose agents gave these answers, a tuple of them or one; None is no answer."""
    said = tuple(tuple(RecordedSample(one) for one in (its if isinstance(its, tuple) else (its,))) for its in answers)
    return RecordedTask(str(number), domain, said, right)


def panel_of(*tasks):
    return Panel("made", tuple(f"agent{number}" for number in range(len(tasks[0].samples))), tasks)


def only(panel, setting=SETTING):
    [task] = replayed_tasks(panel, setting, 0)
    return task


def test_answers_are_counted_by_arm_in_the_order_in_which_they_were_seen():
    panel = panel_of(task_of(0, (2, 2, 2), (2, 0), None, domain="sums"))
    found = {tuple(map(tuple, task.counts.tolist())) for task in map(only, [panel])}
    for draw in range(20):
        [task] = replayed_tasks(panel, SETTING, draw)
        assert (task.id, task.domain, task.samples, len(task.right)) == ("0", "sums", 6, 2)
        assert sorted(task.counts.sum(axis=1).tolist()) == [0, 2, 3]
        assert task.counts[:, task.right].sum() == 1
        assert task.counts[task.counts.sum(axis=1) > 0][0, 0] > 0, "the first column was seen first"
        found.add(tuple(map(tuple, task.counts.tolist())))
    assert len(found) > 3, "teams stand in random order"


def test_tasks_that_not_all_were_asked_or_none_answered_are_left_out():
    panel = panel_of(task_of(0, 0, 1), task_of(1, 0, ()), task_of(2, None, None))
    assert only(panel).id == "0"


def test_a_team_has_no_more_agents_tasks_and_samples_than_set():
    panel = panel_of(*(task_of(number, (0, 1, 0), (1, 1, 1), (0, 0, 0), (2, 2, 2)) for number in range(9)))
    drawn = list(replayed_tasks(panel, replace(SETTING, agents=2, tasks=5, samples=2), 0))
    assert len(drawn) == len({task.id for task in drawn}) == 5
    assert all((len(task.counts), task.samples, task.counts.sum()) == (2, 4, 4) for task in drawn)


def test_the_same_seed_draws_the_same_and_another_something_else():
    panel = panel_of(*(task_of(number, 0, 1, 2) for number in range(9)))

    def drawn(setting):
        return [(task.id, task.counts.tolist(), task.preference.tolist()) for task in replayed_tasks(panel, setting, 0)]

    setting = replace(SETTING, judge=0.7)
    assert drawn(setting) == drawn(setting) != drawn(replace(setting, seed=1))


def test_with_a_judge_or_without_the_tasks_are_the_same():
    panel = panel_of(*(task_of(number, (0, 1), (1, 2), (2, 0)) for number in range(9)))
    heard = list(replayed_tasks(panel, replace(SETTING, judge=0.9), 0))
    silent = list(replayed_tasks(panel, SETTING, 0))
    assert [(task.id, task.counts.tolist()) for task in heard] == [(task.id, task.counts.tolist()) for task in silent]
    assert all((task.preference == 0.5).all() for task in silent)
    assert any((task.preference != 0.5).any() for task in heard)


def test_the_weaker_half_is_right_less_often():
    panel = panel_of(task_of(0, 0, 1, 0, None), task_of(1, 0, 1, 1, 0), task_of(2, 0, 1, 0, None))
    assert weaker_half(panel) == [1, 3]
    assert weaker_half(panel_of(task_of(0, 0))) == [0]
    task = next(replayed_tasks(panel, replace(SETTING, weaker_half=True), 0))
    assert len(task.counts) == 2


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.64, 1.0])
def test_a_made_up_judge_is_right_about_a_pair_as_often_as_it_should(chance):
    rng, right = np.random.default_rng(3), np.array([True, False, False, True])
    drawn = np.array([made_up_preference(right, chance, rng) for _ in range(4000)])
    mean = drawn.mean(axis=0)
    np.testing.assert_allclose(mean[np.ix_([0, 3], [1, 2])], chance, atol=0.04)
    np.testing.assert_allclose([mean[0, 3], mean[1, 2]], 0.5, atol=0.04)
    np.testing.assert_array_equal(drawn + drawn.transpose(0, 2, 1), 1)
    assert set(np.unique(drawn)) == {0, 0.5, 1}
