"""What a judge may see of a solution, and what it never sees: the answer."""

import pytest

from aligngraph.answers import AnswerForm
from aligngraph.ranking import Option
from aligngraph.ranking.beginning import begin

NUMBER = AnswerForm.of("How many apples are left?", "number")
TEN_STEPS = "\n".join(f"Step {letter}." for letter in "abcdefghij")


def shown(solution, answer, share=0.99, form=NUMBER):
    return begin(Option(answer, solution), share, form)


@pytest.mark.parametrize(("share", "lines"), [(0.0, 0), (0.1, 1), (0.3, 3), (0.6, 6), (0.94, 9), (0.99, 10)])
def test_a_share_of_the_lines_is_shown(share, lines):
    assert shown(f"{TEN_STEPS}\nAnswer: 42", "42", share).splitlines() == TEN_STEPS.splitlines()[:lines]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.3, "First add."), (0.6, "First add.\nThen halve."), (0.9, "First add.\nThen halve.\nSo.")],
)
def test_a_single_line_is_counted_in_sentences(share, expected):
    assert shown("First add. Then halve. So. The answer is 7.", "7", share) == expected


def test_blank_lines_are_no_steps():
    assert shown("First.\n\n   \nSecond.\n\nAnswer: 3", "3", 0.5) == "First."


def test_no_share_of_a_bare_answer_shows_anything():
    assert shown("Answer: 3", "3") == ""
    assert shown("3", "3") == ""
    assert shown("", "3") == ""


@pytest.mark.parametrize(
    "end",
    [
        "Answer: 42",
        "**Answer: 42**",
        "The final answer is 42.",
        "So we get \\boxed{42}.",
        "20 + 22 = 42",
        "So there are 42 apples.\nAnswer: 42",
        "Therefore 42.\nThat is, 42.0 apples.\nThe answer is 42.",
        "It costs $42.00.\nAnswer: 42",
    ],
)
def test_the_end_that_states_the_answer_is_never_shown(end):
    assert shown(f"Count them.\nAdd them.\n{end}", "42") == "Count them.\nAdd them."


def test_an_answer_declared_before_the_reasoning_is_not_shown():
    assert shown("Answer: 42\nFor one counts.\nAnd adds.", "42") == "For one counts.\nAnd adds."


def test_reasoning_on_the_line_of_the_declaration_is_kept():
    solution = "Count them. Add them. The answer is 42.\nAnswer: 42"
    assert shown(solution, "42") == "Count them.\nAdd them."


def test_a_beginning_never_ends_on_the_answer_though_talk_follows_it():
    solution = "Count them.\nThat makes 42.\nI am quite sure.\nHope that helps."
    assert shown(solution, "42", 0.6) == "Count them."


def test_a_number_of_the_reasoning_that_equals_the_answer_stays():
    assert shown("There were 42 at first.\nAdd 0.\nSo 42.\nAnswer: 42", "42") == "There were 42 at first.\nAdd 0."


@pytest.mark.parametrize("kept", ["It is 420.", "It is 3.42.", "It is 42.5.", "It is 1,042.", "It is x42."])
def test_a_longer_number_that_holds_the_digits_is_not_the_answer(kept):
    assert shown(f"Count.\n{kept}\nAnswer: 42", "42") == f"Count.\n{kept}"


@pytest.mark.parametrize("written", ["1000", "1,000", "$1,000", "1000.00"])
def test_f33_a_number_is_known_however_it_is_written(written):
    assert shown(f"Count.\nThat makes {written} in all.\nAnswer: {written}", "1,000.00") == "Count."


def test_the_solution_may_write_the_answer_otherwise_than_its_class():
    assert shown("Count.\nThat is 1/2.\nAnswer: 1/2", "0.5") == "Count."


def test_the_case_of_a_text_does_not_hide_it():
    text = AnswerForm.of("Which city?", "text")
    assert shown("It lies on the Seine.\nSo PARIS it is.\nAnswer: Paris", "Paris", form=text) == "It lies on the Seine."


def test_a_letter_is_the_answer_in_its_own_case_alone():
    choice = AnswerForm.of("Which one?", "choice")
    assert shown("Take a look.\nIt is a bird.\nHence A.\nAnswer: A", "A", form=choice) == "Take a look.\nIt is a bird."


def test_of_a_program_only_what_stands_before_it_is_shown():
    code = AnswerForm.of("Write a function.", "code")
    program = "def f(x):\n    return x"
    solution = f"Think of the identity.\nNothing else will do.\n```python\n{program}\n```\nThat is all."
    assert shown(solution, program, form=code) == "Think of the identity.\nNothing else will do."


def test_characters_that_mean_something_in_patterns_are_plain_in_an_answer():
    math = AnswerForm.of("Which interval?", "math")
    assert shown("Draw it.\nIt is [0, 1).\nAnswer: [0, 1)", "[0, 1)", form=math) == "Draw it."
