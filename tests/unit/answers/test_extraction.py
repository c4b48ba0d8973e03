import pytest

from aligngraph.answers import extract_answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3 * 4 = 12, 12 - 2 = 10.\nAnswer: 10", "10"),
        ("Answer: 7\nNo, I forgot one.\nAnswer: 8", "8"),
        ("**Answer:** $29.00", "$29.00"),
        ("**Final Answer: 12**", "12"),
        ("- answer = x + 1", "x + 1"),
        ("The answer is: 42", "42"),
        ("So the answer is 42.", "42"),
        ("The answer is 3. I checked it twice.", "3"),
        ("The answer is 3.5 apples.", "3.5 apples"),
        ("The answer is 4.\nThe answer is 5.", "5"),
        (r"Hence \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"Answer: \boxed{7}", "7"),
        (r"Answer: $x^2$", "x^2"),
        ("Answer: 'yes'.", "yes"),
        ("> Answer: 5", "5"),
        ("Answer: 6*7", "6*7"),
        ("Answer: 2**10", "2**10"),
        ("Answer: my_var", "my_var"),
        ("Answer: a*", "a*"),
        ("Answer: *a* + *b*", "*a* + *b*"),
        ("The answer is 2**10.", "2**10"),
        ("*Answer*: 3", "3"),
        ("***Answer: 5***", "5"),
        ("* Answer: *5*", "5"),
        ("**Answer:**42", "42"),
        ("Answer:**42**", "42"),
        ("**Answer:** **42.**", "42"),
        ("Answer: 12**", "12"),
        ("Answer: `my_var`.", "my_var"),
        ("Answer: `**kwargs`", "**kwargs"),
        ("**The answer is 42.**", "42"),
        ("_The answer is 5_", "5"),
        ("The **answer** is **42**. I checked.", "42"),
        ("Answer: 4\n**Answer:**", "4"),
    ],
)
def test_the_declared_answer_is_taken(text, answer):
    assert extract_answer(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12 - 2 = 10",
        "I cannot say.",
        "Answer:",
        "Answer:   \n",
        r"\boxed{",
        r"\boxed{1",
        "An answer is hard to give: 5?",
        "The answer isn't 4.",
        "Answer: **",
        f"Answer: {'x' * 501}",
        rf"\boxed{{{'x' * 501}}}",
        f"The answer is {'x' * 501}",
    ],
)
def test_a_text_that_declares_nothing_has_no_answer(text):
    assert extract_answer(text) is None


def test_five_hundred_characters_are_an_answer():
    assert extract_answer(f"Answer: {'x' * 500}") == "x" * 500


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("start", "repeated", "end"),
    [
        ("Answer: x", " ", "y"),
        ("the answer is", "\n", ""),
        ("the answer is", ":\n", ""),
        ("answer", " ", "x"),
        ("answer", "*", "x"),
        ("", "*", "answer"),
        ("", "the ", ""),
        ("the", " ", ""),
        ("", "the final ", ""),
        ("the answer is ", ". ", "x"),
        ("the answer is .", " ", "x"),
        ("the answer is ", ".*", ""),
        ("", "Answer:\n", ""),
        ("", "Answer: **\n", ""),
        ("", "\\boxed{", ""),
    ],
)
def test_degenerate_texts_cost_linear_time(start, repeated, end):
    assert extract_answer(start + repeated * (200_000 // len(repeated)) + end) is None


def test_a_declared_line_beats_what_was_said_before_and_after():
    text = "The answer is 3.\nAnswer: 4\nIn short, the answer is that of line two."
    assert extract_answer(text) == "4"


def test_f37_a_number_of_a_quoted_example_is_no_answer():
    text = 'For example "What is 2 + 2? It is 4." shows the form.\nHere 5 + 6 gives eleven.\nAnswer: 11'
    assert extract_answer(text) == "11"
    assert extract_answer("For example 2 + 2 = 4.") is None
