import time

import pytest

from aligngraph.sandbox import extract_program

PROGRAM = "x = 2\nprint(x)"


@pytest.mark.parametrize(
    "reply",
    [
        f"Here it is:\n```python\n{PROGRAM}\n```\nThe answer follows.",
        f"```py\n{PROGRAM}\n```",
        f"```Python3\n{PROGRAM}\n```",
        f"```\n{PROGRAM}\n```",
        f"``` python title=solve.py\n{PROGRAM}\n```",
        f"````python\n{PROGRAM}\n````",
        f"```python\r\n{PROGRAM}\r\n```\r\n",
        f"```python\nfirst = 1\n```\nBetter:\n```python\n{PROGRAM}\n```",
        f"```python\n{PROGRAM}\n```\nIt prints:\n```\n2\n```",
        f"```python\n{PROGRAM}\n```\n```json\n{{}}\n```",
        f"```\n{PROGRAM}\n```\nIt prints:\n```\n2\n```",
        f"```python\n{PROGRAM}\n```\n```python\n\n```",
        "   ```python\n   x = 2\n   print(x)\n   ```",
        f"The end is missing:\n```python\n{PROGRAM}",
        PROGRAM,
    ],
)
def test_the_program_is_found(reply):
    assert extract_program(reply) == PROGRAM


def test_a_shorter_fence_does_not_close_a_longer_one():
    assert extract_program("````python\ns = '''\n```\n'''\n````") == "s = '''\n```\n'''"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "42",
        "The answer is 42.",
        "print",
        "f(x)",
        "'text'",
        "```json\n{}\n```",
        "```python\n\n```",
        "x = (",
        "x = 1\0",
    ],
)
def test_what_is_no_program_gives_none(reply):
    assert extract_program(reply) is None


def test_a_block_without_language_is_taken_also_if_it_does_not_parse():
    assert extract_program("```\ndef f(:\n```") == "def f(:"


@pytest.mark.parametrize(
    "text",
    [
        "-" * 20_000 + "1",
        "x = " + "not " * 4_000 + "1",
        "(" * 10_000,
        "x = " + "lambda:" * 2_500 + "1",
        "x = a" + "()" * 9_000,
        "x = " + "1 if 1 else " * 1_500 + "1",
        "if 1: pass\n" + "elif 1: pass\n" * 1_500,
        "x = 1" + "<1" * 9_000,
        "f'{" * 200 + "1" + "}'" * 200,
        "x = 1;" * 200_000,
        "`" * 100_000,
        "```\n" * 30_000,
        "``` " * 30_000,
    ],
)
def test_hostile_replies_are_read_in_no_time_and_do_no_harm(text):
    start = time.process_time()
    extract_program(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "line", ["```" + "a" * 1_000_000 + "`", "```" + "a " * 500_000 + "`", " " * 1_000_000 + "```a`"]
)
def test_a_fence_that_a_backtick_spoils_after_a_megabyte_is_none(line):
    """Told only by coming to an end: in time that grows with the square of its length, it would take hours."""
    assert extract_program(f"{line}\n```python\n{PROGRAM}\n```") == PROGRAM
