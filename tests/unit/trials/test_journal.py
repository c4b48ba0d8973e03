import json

import pytest

from aligngraph.errors import UsageError
from aligngraph.trials import edition
from aligngraph.trials.journal import Journal


def maker(row, made):
    async def make():
        made.append(row)
        return row

    return make


async def test_a_row_is_made_once_and_is_there_after_a_restart(tmp_path):
    made = []
    path = tmp_path / "kept.jsonl"
    first = await Journal.open(path).keep("k", maker({"n": 1}, made))
    again = await Journal.open(path).keep("k", maker({"n": 2}, made))
    assert first == again == {"n": 1}
    assert made == [{"n": 1}]


async def test_what_failed_is_not_kept_so_that_it_is_tried_again(tmp_path):
    made = []
    journal = Journal.open(tmp_path / "kept.jsonl")
    assert await journal.keep("k", maker(None, made)) is None
    assert await journal.keep("k", maker({"n": 1}, made)) == {"n": 1}
    assert len(made) == 2


async def test_a_line_that_was_cut_off_is_dropped_wherever_it_was_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "kept.jsonl"
    await Journal.open(path).keep("a", maker({"n": 1}, []))
    line = path.read_text()
    for length in range(1, len(line)):
        path.write_text(line + line[:length])
        assert Journal.open(path).rows == {"a": {"n": 1}}
        assert path.read_text() == line
    await Journal.open(path).keep("b", maker({"n": 2}, []))
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]


async def test_a_first_line_that_was_cut_off_is_written_anew(tmp_path):
    path = tmp_path / "kept.jsonl"
    await Journal.open(path).keep("a", maker({"n": 1}, []))
    line = path.read_text()
    path.write_text(line[:-5])
    journal = Journal.open(path)
    assert journal.rows == {}
    await journal.keep("a", maker({"n": 1}, []))
    assert path.read_text() == line


async def test_the_end_of_a_journal_that_something_else_wrote_is_left_alone(tmp_path):
    path = tmp_path / "kept.jsonl"
    await Journal.open(path).keep("a", maker({"n": 1}, []))
    text = path.read_text() + "a note"
    path.write_text(text)
    with pytest.raises(UsageError, match="not the record of a trial"):
        Journal.open(path)
    assert path.read_text() == text


async def test_without_a_path_rows_are_kept_in_memory():
    journal = Journal.open(None)
    await journal.keep("k", maker({"n": 1}, []))
    assert journal.rows == {"k": {"n": 1}}


@pytest.mark.parametrize("changed", [{"version": "0.0.0"}, {"prompts": "000000000000"}])
async def test_a_row_of_another_version_or_of_other_prompts_is_made_anew_and_the_old_one_kept(
    tmp_path, monkeypatch, changed
):
    path = tmp_path / "kept.jsonl"
    with monkeypatch.context() as patched:
        patched.setattr(edition, "version", lambda name: changed.get("version", "1"))
        patched.setattr(edition, "_digest_prompts", lambda: changed.get("prompts", "1"))
        await Journal.open(path).keep("k", maker({"n": 1}, []))
    before = path.read_text()
    journal = Journal.open(path)
    assert journal.rows == {}
    assert await journal.keep("k", maker({"n": 2}, [])) == {"n": 2}
    assert Journal.open(path).rows == {"k": {"n": 2}}
    assert path.read_text().startswith(before)


def test_a_row_that_names_no_edition_is_of_none(tmp_path):
    path = tmp_path / "kept.jsonl"
    path.write_text('{"key": "k", "row": {"n": 1}}\n')
    assert Journal.open(path).rows == {}


@pytest.mark.parametrize(
    "text",
    [
        "[1]\n",
        "no json\n",
        '{"key": 1}\n',
        '{"key": [], "row": {}}\n',
        '{"key": "k", "row": 1}\n',
        '{"edition": {"x": 1}, "key": "k", "row": {}}\n',
        "precious line without newline",
        '{"id": 1}\n{"id": 2}',
        '{"id": 1}',
        "{",
        "\n",
        "\x00\n",
        "[" * 100_000 + "\n",
    ],
)
def test_a_file_of_something_else_is_left_alone(tmp_path, text):
    path = tmp_path / "kept.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match="not the record of a trial"):
        Journal.open(path)
    assert path.read_text() == text


def test_a_file_that_is_no_text_is_left_alone(tmp_path):
    path = tmp_path / "kept.jsonl"
    path.write_bytes(b"\xff\xfe\n\xff")
    with pytest.raises(UsageError, match="not the record of a trial"):
        Journal.open(path)
    assert path.read_bytes() == b"\xff\xfe\n\xff"


async def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path):
    journal = Journal.open(tmp_path / "absent" / "kept.jsonl")
    with pytest.raises(UsageError, match="cannot be written"):
        await journal.keep("k", maker({"n": 1}, []))


def test_a_folder_in_its_place_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be taken up"):
        Journal.open(tmp_path)
