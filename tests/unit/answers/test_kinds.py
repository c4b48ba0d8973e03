import pytest

from aligngraph.answers import guess_kind
from aligngraph.answers.choices import chosen_letter, find_options, stated_letter


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("How many pencils does Mia have?", "number"),
        ("Ann has $5 and buys a pen for $2. How much is left?", "number"),
        ("What is the average speed of the train?", "number"),
        ("Calculate 17 * 23.", "number"),
        ("What is 6 * 7?", "number"),
        ("What is 17% of 80?", "number"),
        ("What is 12 minus 5?", "number"),
        ("Who was born on 2010-12-05, and who on 3/4/1999?", "text"),
        (r"Find $x$ such that $x^2 = 4$.", "math"),
        (r"Evaluate \(\frac{1}{2} + \frac{1}{3}\).", "math"),
        ("Solve the equation 2x + 3 = 7.", "math"),
        ("Simplify a^2 - b^2.", "math"),
        ("Which city is the capital?\nA. Paris\nB. Rome", "choice"),
        ("Which? A) Paris B) Rome", "choice"),
        (r"Which is it? $\textbf{(A)}\ 5 \qquad \textbf{(B)}\ 6$", "choice"),
        ("Write a Python function that reverses a list.", "code"),
        ("Implement a class for a stack.", "code"),
        ('def add(a, b):\n    """Return the sum."""\n', "code"),
        ("Return the name and age as JSON: Tom is 5.", "json"),
        ("Respond in JSON with the keys a and b.", "json"),
        ("How many letters are in the JSON string?", "number"),
        ("What does JSON stand for?", "text"),
        ("Write a class Stack with a method push.", "code"),
        ("Define class struggle", "text"),
        ("Create a class schedule for Monday.", "text"),
        ("Who wrote Faust?", "text"),
        ("Who won the 2010 World Cup?", "text"),
        ("Is vitamin A good? B cells are.", "text"),
        ("Explain how a bill becomes law. Vitamin A matters.", "text"),
        ("Answer both parts: (a) who is he? (b) why?", "text"),
        ("", "text"),
    ],
)
def test_the_kind_is_guessed_from_the_task(task, kind):
    assert guess_kind(task) == kind


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("Which? A) Paris B) Rome", [("A", "Paris"), ("B", "Rome")]),
        ("Which?\nA. Paris\nB. Rome\n\nAnswer with a letter.", [("A", "Paris"), ("B", "Rome")]),
        ("Which?\n(a) red\n(b) blue\n(c) green", [("A", "red"), ("B", "blue"), ("C", "green")]),
        ("- **A:** yes\n- **B:** no", [("A", "yes"), ("B", "no")]),
        ("Which? A) Paris", []),
        ("Which? B) Paris C) Rome", []),
        ("No options at all", []),
        ("Hint (A) is bad.\nA) x\nB) y", [("A", "x"), ("B", "y")]),
    ],
)
def test_options_are_lettered_from_a_without_a_gap(task, options):
    assert list(find_options(task)) == options


def test_a_letter_that_is_no_option_names_none():
    options = find_options("A) x B) y")
    assert chosen_letter("C", options) is None
    assert chosen_letter("C") == "C"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I compared them.\nThe correct option is (B).", "B"),
        ("So option C is correct.", "C"),
        ("The best answer is **A**", "A"),
        ("Let me think.\n\nB", "B"),
        ("Let me think.\n\n(B) Rome", "B"),
        ("A is wrong since it is in Italy.", None),
        ("I cannot decide between the two.", None),
        ("", None),
        ("So the correct answer I think is B.", "B"),
        ("Best answer (b).", "B"),
        ("The right choice: option C, not D.", "C"),
        ("The correct answer is (A) A dog.", "A"),
        ("The best answer a student could give is unclear.", None),
        ("The best answer is a matter of taste.", None),
        ("The right choice a person makes depends.", None),
        ("Option A is the best known distractor, so it is wrong", None),
        ("Choice A is correct only where it rains.", None),
        ("If option A is correct, nobody knows.", None),
        ("The correct answer is B or C.", None),
        ("The correct answer is not B.", None),
    ],
)
def test_a_letter_is_stated_in_a_last_line_or_sentence(text, letter):
    assert stated_letter(text) == letter
