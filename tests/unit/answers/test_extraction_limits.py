"""What extraction looks at, and what that costs, in texts that are made to cost much."""

import json
import time

import pytest

from aligngraph.answers import AnswerForm
from aligngraph.answers.extraction import MAX_TEXT_CHARACTERS, declared_answer
from aligngraph.answers.texts import first_json, last_json

LENGTH = 100_000


def extract(kind, text):
    return AnswerForm.of("", kind).extract(text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", "[" * LENGTH + '"]"' * (LENGTH // 2)),
        ("json", '["' + '\\"' * LENGTH),
        ("json", '["\\"' * LENGTH),
        ("json", '[\\"]' * LENGTH),
        ("json", '{"' * LENGTH),
        ("json", "[" * LENGTH + "]" * LENGTH),
        ("json", "\\" * LENGTH + '["'),
        ("code", "```x\n" * (LENGTH // 5)),
        ("code", "```x\n" * LENGTH + "```"),
        ("code", "   ```" * LENGTH),
    ],
    ids=lambda value: value[:8],
)
def test_hostile_brackets_quotes_and_fences_cost_linear_time(kind, text):
    start = time.process_time()
    extract(kind, text)
    assert time.process_time() - start < 3


def test_only_the_end_of_an_endless_text_is_looked_at():
    text = "Answer: 5\n" + "x\n" * (MAX_TEXT_CHARACTERS // 2)
    assert extract("text", text) is None
    assert declared_answer(text) is None
    assert extract("text", text + "Answer: 6") == "6"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('In [0, 1) it is {"a": "]"}', {"a": "]"}),
        ('He said 5" {"a": {"b": 1}} to me', {"a": {"b": 1}}),
        ("[" * 50 + '{"a": 1}', {"a": 1}),
        ("[ [1] [2, [3]] {", [2, [3]]),
        (r'["a\"]", "\\"] "', ['a"]', "\\"]),
        ('] } [1] "', [1]),
    ],
)
def test_the_last_json_value_is_found_among_brackets_that_never_close(text, value):
    assert json.loads(last_json(text)) == value


def test_the_first_json_value_is_the_first_that_is_complete():
    assert first_json("[0, 1) [1, [2]] [3]") == "[1, [2]]"
    assert first_json("{a} [") is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\na\n```", "a"),
        ("```\na\n```\n```\nb\n```\n", "b"),
        ("```python\n```js\na\n```", "```js\na"),
        ("  ```python\n  a\n  ```  \n", "  a"),
        ("```python\r\na\r\n```\r\n", "a\r"),
        ("```python\na", None),
        ("a ```b``` c", None),
        ("```\n```", None),
    ],
)
def test_a_block_of_code_ends_at_the_first_fence_that_names_no_language(text, code):
    assert extract("code", text) == code
