import json

import pytest

from aligngraph.answers import AnswerForm

OPTIONS = "Which is the capital of France? A) Paris B) Rome C) Oslo"


def extract(kind, text, task=""):
    return AnswerForm.of(task, kind).extract(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("5 * 3 = 15\n#### 15", "15"),
        ("She pays twice. Answer: 12", "12"),
        ("### Answer\n\n42 apples", "42 apples"),
        ("4. **Answer:**\n   - The number of pints is \\( 2 \\).", "- The number of pints is \\( 2 \\)"),
        ("The final answer is:\n\\[\n\\boxed{7}\n\\]", "7"),
        ('```json\n{"reasoning": "3 + 4 = 7",\n "answer": "7"\n}\n```', "7"),
        ('{"answer": 7, "reasoning": "3 + 4"}', "7"),
        ('{"final_answer": "$1,200"}', "$1,200"),
        ("Answer: 3 boxes, hence 30 pens", "30"),
        ("Answer: 5 * 6 = 30", "5 * 6 = 30"),
        ("The answer is 2 hours and 30 minutes", "2 hours and 30 minutes"),
        ("The answer is $x = 7$.", "x = 7"),
        ("He has 3 cats.\nTherefore, he needs 12 bowls.", "12"),
        ("He has 3 cats.\nSo the total is $1,250.50.", "$1,250.50"),
        ("She buys 4. Thus she spends 4 * 5 = 20 dollars.", "20"),
        ("3 bags of 4.\nTotal = 3 * 4 = 12\n", "12"),
        ("The total cost is 8 + 9 = 17.", "17"),
        ("So the total for 3 days is 45 dollars.", "45"),
        ("Answer: 3 5", "5"),
        ("Answer: 5 fewer apples than before", "5"),
        ("Answer: 2 dozen", "2 dozen"),
        ("Answer: 42 (not 41)", "42"),
        ("Answer: $42 (not $41).", "$42"),
        ("Answer: 7 (3 red and 4 green)", "7"),
        ("Answer: 12 cm (about 5 inches)", "12 cm"),
        ("Answer: 2 (dozen)", "2 (dozen)"),
        ("Answer: 5 (below zero)", "5 (below zero)"),
        ("Answer: 5 (mod 7)", "5 (mod 7)"),
        ("Answer: 5 degrees below zero", "5 degrees below zero"),
    ],
)
def test_a_number_is_what_is_declared_or_concluded(text, answer):
    assert extract("number", text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "There are 12 eggs and 3 boxes.",
        "12 / 3 = 4",
        "First, 12 / 3 = 4 boxes. Then she fills",
        "Therefore, the total is 1",
        "So she needs 12 eggs. Let me check that again with another method",
        "Total = 3 * 4",
        "The final answer is \\(\\boxed{",
        "Answer: I do not know",
        'For example, "the total is 4" would be a good form.',
        "Answer: cannot be determined from step 2",
        "Answer: not 5",
        "Answer: I cannot say, 5 would be a guess",
        "Answer: 12 (not sure)",
        "Answer: 12 (wrong)",
        "Answer: unknown (2 missing)",
        "Answer: 5:30",
        "Answer: Error 404",
        "Answer: 3 dogs and 4 cats",
        "So it is not 12.",
        "Therefore, 5 is wrong.",
        "The final price is $12.50, not $13.",
        "Thus 12 of 15 remain.",
        "Therefore, she needs 2 dozen.",
        "The answer isn't 4.",
    ],
)
def test_a_number_of_the_reasoning_is_no_answer(text):
    assert extract("number", text) is None


def test_f37_the_number_of_a_quoted_example_is_never_taken():
    example = 'Format: "What is 2 + 2? Answer 4". '
    assert extract("number", f"{example}Now 5 + 6 gives eleven.\nAnswer: 11") == "11"
    assert extract("number", f"{example}Therefore, she has 11 pens.") == "11"
    assert extract("number", f"{example}I am not sure how to go on") is None


def test_of_several_declarations_the_last_one_counts_whatever_its_form():
    assert extract("number", 'Answer: 3\n{"answer": "4"}') == "4"
    assert extract("number", '{"answer": "4"}\nAnswer: 3') == "3"
    assert extract("number", "Answer: 3\nWait.\n#### 5") == "5"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"Answer: $\frac{1}{2}$", r"\frac{1}{2}"),
        (r"Thus \boxed{x^{2} + \frac{1}{2}}.", r"x^{2} + \frac{1}{2}"),
        (r"We see $a = 3$. Hence the area is $12\pi$.", r"12\pi"),
        (r"Therefore, \(x = 5\).", "x = 5"),
        ("Therefore, it is 12.", "12"),
        (r"We see $a = 3$ and go on", None),
        (r"Therefore, it is not $x = 5$.", None),
        (r"Since $x^2 = 4$, we look at both signs.", None),
    ],
)
def test_mathematics_is_what_is_declared_or_concluded(text, answer):
    assert extract("math", text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: B", "B"),
        ("Answer: (b)", "B"),
        ("Answer: Rome", "B"),
        ("**Answer:** B) Rome", "B"),
        (r"\boxed{\text{C}}", "C"),
        ("The answer is C, since it is in Norway.", "C"),
        ("The correct answer is (A) Paris.", "A"),
        ("I compared all.\nB", "B"),
        ("A and B are both large, hard to say", None),
        ("Answer: Madrid", "Madrid"),
    ],
)
def test_a_choice_is_the_letter_of_the_option(text, answer):
    assert extract("choice", text, OPTIONS) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Try:\n```python\nx = 1\n```\nor better:\n```python\nx = 2\n```\n", "x = 2"),
        ("Answer:\n```python\nx = 1\n```\nUsage:\n```\nprint(x)\n```", "x = 1"),
        ("Answer: return a + b", "return a + b"),
        ("Answer:\ndef f():\n    return 1\n", "def f():\n    return 1"),
        ("```\na\n```\n```python\nbroken off", "a"),
        ("```python\nbroken off", None),
        ("I cannot write this.", None),
        ("```\n\n```", None),
        ("   ```py\n   x = 1\n   ```", "   x = 1"),
    ],
)
def test_code_is_the_last_complete_block(text, answer):
    assert extract("code", text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('First {"a": 1}, then {"b": 2, "a": [1, {"c": "}"}]}.', '{"a": [1, {"c": "}"}], "b": 2}'),
        ('```json\n{"b": 1, "a": 2}\n```', '{"a": 2, "b": 1}'),
        ('Answer: {"a": 1}\nThe form was {"a": 0}? {', '{"a": 1}'),
        ("Answer: 42", "42"),
        ('Answer: "yes"\n', '"yes"'),
        ('{"answer": 4, "why": "so"}', '{"answer": 4, "why": "so"}'),
        ('{"a": 1', None),
        ("[x] done", None),
        ("no value", None),
        ('{"a": NaN}', None),
        ("[" * 100_000, None),
        ("{" * 50_000 + "}" * 50_000, None),
    ],
)
def test_json_is_the_last_complete_value_in_canonical_form(text, answer):
    assert extract("json", text) == answer


@pytest.mark.parametrize("kind", ["number", "math", "choice", "text", "code", "json"])
def test_no_answer_is_none_in_every_kind(kind):
    assert extract(kind, "") is None
    assert extract(kind, "I would rather not say") is None


def test_a_guessed_kind_takes_a_plain_declaration_of_another_kind():
    task = "How many people won in 1998, and who?"
    assert AnswerForm.of(task).extract("Answer: nobody") == "nobody"
    assert AnswerForm.of(task, "number").extract("Answer: nobody") is None


@pytest.mark.parametrize("kind", ["number", "math", "choice", "code", "json"])
@pytest.mark.timeout(20)
def test_extraction_of_every_kind_costs_linear_time(kind):
    pieces = [
        "Answer:\n",
        "Answer: 5 ",
        '"answer": "',
        "```\n",
        "{",
        '{"a":',
        "So 5 ",
        "= ",
        "$",
        "\\(",
        "\\boxed{",
        "#### ",
        ". ",
        "(A) ",
        "the answer is ",
        "*",
        '"',
        "\\",
    ]
    for piece in pieces:
        extract(kind, piece * (100_000 // len(piece)), OPTIONS)


def test_a_field_keeps_what_json_escapes():
    text = json.dumps({"reasoning": "r", "answer": 'say "no"\\'})
    assert extract("text", text) == 'say "no"\\'
