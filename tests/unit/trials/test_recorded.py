import json

import pytest

from aligngraph.errors import UsageError
from aligngraph.ranking import Option
from aligngraph.trials.recorded import has_texts, read_questions

SOURCES = [{"name": "a/0"}, {"name": "b/0"}, {"name": "b/1"}]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def panel(tmp_path):
    """Return a function that writes a panel, with texts where they are given, and returns its folder."""

    def write(rows, texts=None):
        (tmp_path / "panel.jsonl").write_text(lines(rows))
        if texts is not None:
            (tmp_path / "texts.jsonl").write_text(lines(texts))
            (tmp_path / "sources.json").write_text(json.dumps(SOURCES))
        return tmp_path

    return write


def test_equal_answers_are_one_option_with_the_first_solution_in_source_order(panel):
    row = {"id": "q", "question": "How many?", "answers": ["7", "1,000", "1000"], "ok": [0, 1, 1]}
    texts = [{"id": "q", "source": source, "text": f"by {source}"} for source in ("b/1", "a/0", "b/0")]
    (question,) = read_questions(panel([row], texts), "number")
    assert [option.solution for option in question.options] == ["by a/0", "by b/0"]
    assert (question.right, question.votes, question.scores) == ((False, True), (1, 2), None)


def test_no_answer_is_no_option_and_one_answer_is_no_question(panel):
    rows = [
        {"id": "one", "question": "?", "answers": ["7", None, "7.0"], "ok": [1, 0, 1]},
        {"id": "two", "question": "?", "answers": [None, "7", "8"], "ok": [0, 1, 0]},
    ]
    (question,) = read_questions(panel(rows, []), "number")
    assert (question.id, len(question.options), question.right) == ("two", 2, (True, False))


def test_without_texts_the_answer_stands_for_the_solution_and_rewards_are_read(panel):
    row = {"id": "q", "question": "?", "answers": ["1", "2", "1"], "ok": [1, 0, 1], "rm_score": [[9.0, 3.5], [-2], [4]]}
    folder = panel([row])
    (question,) = read_questions(folder, "number")
    assert not has_texts(folder)
    assert question.options == (Option("1", "1"), Option("2", "2"))
    assert question.scores == (3.5, -2.0)


def test_a_missing_file_names_the_option(tmp_path):
    with pytest.raises(UsageError, match="--data"):
        read_questions(tmp_path, "number")


def test_a_file_that_is_no_json_is_a_usage_error(tmp_path):
    (tmp_path / "panel.jsonl").write_text("{")
    with pytest.raises(UsageError, match="JSON lines"):
        read_questions(tmp_path, "number")
