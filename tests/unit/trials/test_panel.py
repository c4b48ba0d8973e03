import json

import pytest

from aligngraph.errors import UsageError
from aligngraph.trials.panel import RecordedSample, read_panel

SOURCES = [
    {"name": "a-cot/0", "model": "a", "strategy": "cot"},
    {"name": "b-cot/0", "model": "b", "strategy": "cot"},
    {"name": "a-cot/1", "model": "a", "strategy": "cot"},
]
ROW = {"id": "q", "question": "How many?", "answers": ["7", None, "7.0"], "ok": [1, 0, 1]}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path):
    """Return a function that writes the files of a panel and returns their folder."""

    def write(rows, file="panel.jsonl", sources=SOURCES, texts=None):
        (tmp_path / file).write_text(lines(rows))
        if sources is not None:
            (tmp_path / "sources.json").write_text(json.dumps(sources))
        if texts is not None:
            (tmp_path / "texts.jsonl").write_text(lines(texts))
        return tmp_path

    return write


def answers(task):
    return [[sample.answer for sample in samples] for samples in task.samples]


def test_sources_of_one_model_and_strategy_are_samples_of_one_agent(folder):
    panel = read_panel(folder([ROW]), "number")
    assert panel.agents == ("a/cot", "b/cot")
    (task,) = panel.tasks
    assert (answers(task), task.right, task.domain) == ([[0, 0], [None]], (True,), "general")


def test_one_answer_and_none_are_tasks_too(folder):
    silent = {**ROW, "id": "silent", "answers": [None] * 3, "ok": [0, 0, 0]}
    tasks = read_panel(folder([ROW, silent]), "number").tasks
    assert [task.right for task in tasks] == [(True,), ()]


def test_a_source_that_was_not_run_has_no_sample(folder):
    (task,) = read_panel(folder([{**ROW, "ok": [1, None, 1]}]), "number").tasks
    assert answers(task) == [[0, 0], []]


def test_the_kind_of_task_is_the_domain(folder):
    (task,) = read_panel(folder([{**ROW, "task": "geometry"}]), "auto").tasks
    assert task.domain == "geometry"


def test_without_named_sources_all_samples_are_of_one_agent(folder):
    panel = read_panel(folder([{**ROW, "answers": ["7", "8", "7"], "ok": [1, 0, 1]}], sources=None), "math")
    assert panel.agents == ("agent",)
    assert answers(panel.tasks[0]) == [[0, 1, 0]]


def test_tokens_of_prompt_and_completion_are_read_where_texts_were_kept(folder):
    texts = [
        {"id": "q", "source": source, "prompt_tokens": 10, "tokens": tokens}
        for source, tokens in (("a-cot/1", 3), ("a-cot/0", 1), ("b-cot/0", 2))
    ]
    (task,) = read_panel(folder([ROW], texts=texts), "number").tasks
    assert task.samples == ((RecordedSample(0, 11), RecordedSample(0, 13)), (RecordedSample(None, 12),))


def test_a_file_of_samples_has_an_agent_for_each_kind_of_prompt(folder):
    rows = [
        {"id": "g1", "numbers": "1 2 3 4", "kind": "cot", "answers": ["x", "y"], "ok": [0, 1]},
        {"id": "g1", "numbers": "1 2 3 4", "kind": "standard", "answers": ["y", None], "ok": [1, 0]},
        {"id": "g2", "numbers": "5 6 7 8", "kind": "cot", "answers": ["z"], "ok": [0]},
    ]
    panel = read_panel(folder(rows, file="samples.jsonl", sources=None), "text")
    assert panel.agents == ("cot", "standard")
    assert [(task.id, answers(task), task.right) for task in panel.tasks] == [
        ("g1", [[0, 1], [1, None]], (False, True)),
        ("g2", [[0], []], (False,)),
    ]


def test_a_folder_without_a_panel_names_the_option(tmp_path):
    with pytest.raises(UsageError, match="--data"):
        read_panel(tmp_path, "number")


@pytest.mark.parametrize("rows", [[{"id": "q"}], [{**ROW, "ok": [1]}], [{**ROW, "answers": 7}]])
def test_what_is_no_panel_is_a_usage_error(folder, rows):
    with pytest.raises(UsageError, match="is no recorded panel"):
        read_panel(folder(rows), "number")
