"""What `aligngraph policy learn --panel` reads: folders of recorded panels, and files with one task a line."""

import json

import pytest

from aligngraph.cli.policy_record import RecordedPanel
from aligngraph.errors import UsageError
from aligngraph.learning.warming import RecordedVotes

ONE = {"id": "1", "answers": {"a/direct": ["42", "42", None], "b/direct": ["41"]}, "gold": "42"}
SOURCES = [
    {"name": "m1/0", "model": "m1", "strategy": "direct"},
    {"name": "m1/1", "model": "m1", "strategy": "direct"},
    {"name": "m2/0", "model": "m2"},
]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes rows, or lines as they are, to a file and returns it."""

    def call(*rows):
        file = tmp_path / "log.jsonl"
        file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return file

    return call


@pytest.fixture
def panel(tmp_path):
    """Return a folder with a recorded panel of two tasks, one of which has a type."""
    folder = tmp_path / "my_panel"
    folder.mkdir()
    rows = [
        {"id": "x", "question": "6 * 7?", "answers": ["42", "41", "42.0"], "ok": [1, 0, 1]},
        {"id": "y", "question": "2 + 2?", "answers": ["5", "4", None], "ok": [0, 1, None], "task": "sums"},
    ]
    (folder / "panel.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "sources.json").write_text(json.dumps(SOURCES))
    return folder


def the_task(recordings):
    ((task,),) = [recording.tasks for recording in recordings]
    return task


def test_a_line_is_the_votes_of_each_arm_for_each_answer(write):
    (recording,) = RecordedPanel(write(ONE)).read()
    assert (recording.source, recording.domain) == ("log.jsonl", "general")
    votes, asked = {"a/direct": (2, 0), "b/direct": (0, 1)}, {"a/direct": 3, "b/direct": 1}
    assert recording.tasks == (RecordedVotes("1", votes, asked, (True, False)),)


def test_answers_are_equal_as_they_are_among_agents(write):
    task = the_task(RecordedPanel(write({**ONE, "answers": {"a/x": ["1,000", "1000.0"]}, "gold": 1000})).read())
    assert (task.votes, task.right) == ({"a/x": (2,)}, (True,))


def test_several_answers_may_be_right(write):
    row = {"id": 1, "answers": {"a/x": ["1", "2", "2", "3"]}, "right": ["3", "1", "9"], "kind": "number"}
    task = the_task(RecordedPanel(write(row)).read())
    assert sorted(zip(task.right, task.votes["a/x"], strict=True)) == [(False, 2), (True, 1), (True, 1)]


def test_a_right_answer_that_nobody_gave_makes_all_wrong(write):
    assert the_task(RecordedPanel(write({**ONE, "gold": "7"})).read()).right == (False, False)


def test_a_line_may_name_its_domain_and_empty_lines_are_nothing(write):
    file = write(ONE, "", {**ONE, "domain": "law"}, {**ONE, "id": "2"})
    found = {recording.domain: len(recording.tasks) for recording in RecordedPanel(file, "maths").read()}
    assert found == {"maths": 2, "law": 1}


def test_a_source_that_is_no_arm_yet_becomes_one(write):
    task = the_task(RecordedPanel(write({**ONE, "answers": {"gpt": ["42"]}})).read())
    assert task.asked == {"gpt/recorded": 1}


def test_where_sources_are_mapped_others_are_left_out(write):
    task = the_task(RecordedPanel(write(ONE), mapping=["a/direct=new/x"]).read())
    assert (task.votes, task.asked) == ({"new/x": (2, 0)}, {"new/x": 3})


def test_several_sources_of_one_arm_are_its_samples(write):
    task = the_task(RecordedPanel(write(ONE), mapping=["a/direct=new/x", "b/direct=new/x"]).read())
    assert (task.votes, task.asked) == ({"new/x": (2, 1)}, {"new/x": 4})


def test_a_folder_is_a_recorded_panel(panel):
    first, second = RecordedPanel(panel, "maths").read()
    assert {first.source, second.source} == {"my_panel"}
    assert (first.domain, second.domain) == ("maths", "sums")
    (task,) = first.tasks
    assert (task.task_id, task.right) == ("x", (True, False))
    assert task.votes == {"m1/direct": (1, 1), "m2/": (1, 0)}


def test_a_source_that_was_not_asked_is_left_out(panel):
    _, second = RecordedPanel(panel).read()
    assert second.tasks[0].asked == {"m1/direct": 2}


@pytest.mark.parametrize("mapping", ["a", "a=", "=a/x", "a=b", ""])
def test_a_mapping_names_a_source_and_an_arm(write, mapping):
    with pytest.raises(UsageError, match="SOURCE=AGENT/STRATEGY is allowed"):
        RecordedPanel(write(ONE), mapping=[mapping]).read()


def test_a_mapping_of_nothing_that_is_there_is_an_error(write):
    with pytest.raises(UsageError, match=r"has no source of \['gpt'\]: --map names sources as they are recorded"):
        RecordedPanel(write(ONE), mapping=["gpt=new/x"]).read()


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "3",
        {**ONE, "gold": None},
        {**ONE, "gold": " "},
        {**ONE, "right": []},
        {**ONE, "right": "42"},
        {**ONE, "answers": {"a/x": "42"}},
        {**ONE, "answers": ["42"]},
        {**ONE, "kind": "poem"},
        {"id": "1", "answers": {"a/x": ["1"]}},
        {"answers": {"a/x": ["1"]}, "gold": "1"},
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_task_is_told_with_its_number_and_the_form(write, line):
    with pytest.raises(UsageError, match=r'log\.jsonl, line 2: .*; a line is \{"id"'):
        RecordedPanel(write({**ONE, "id": "0"}, line)).read()


def test_a_task_that_is_there_twice_is_an_error(write):
    with pytest.raises(UsageError, match="task '1' is there twice: each needs an id of its own"):
        RecordedPanel(write(ONE, ONE)).read()


def test_a_place_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read '.*missing\.jsonl'"):
        RecordedPanel(tmp_path / "missing.jsonl").read()
    with pytest.raises(UsageError, match="cannot be read"):
        RecordedPanel(tmp_path).read()
