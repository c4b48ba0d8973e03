"""How an answer is read: its notation, its numbers and units, its parts."""

from fractions import Fraction

import pytest

from aligngraph.answers.notation import MAX_CHARACTERS, plain
from aligngraph.answers.numbers import Number, Percent, Quantity, read_quantity
from aligngraph.answers.splitting import bracketed, is_wordy, split_list
from aligngraph.answers.structure import MAX_NESTING, read_math, read_text
from aligngraph.answers.texts import words_key
from aligngraph.answers.tree import Assignment, Expression, Opaque, Series
from aligngraph.answers.units import find_unit


@pytest.mark.parametrize(
    ("answer", "notation"),
    [
        (r"11,\! 111", "11,111"),
        (r"\frac12", r"\frac{1}{2}"),
        (r"\dfrac 59", r"\frac{5}{9}"),
        (r"\frac{270}7\text{ degrees}", r"\frac{270}{7} degrees"),
        ("1\N{VULGAR FRACTION ONE HALF}", "1 1/2"),
        ("5\N{SUPERSCRIPT TWO}", "5^{2}"),
        ("x\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ONE}", "x^{-1}"),
        ("**42**", "42"),
        ("2**10", "2^{10}"),
        ("5!", "5!"),
        (r"\$32,\!348", "$32,348"),
        ("$5 and $6", "$5 and $6"),
        ("$x=5$ or $x=3$", "x=5 or x=3"),
        (r"\left(3, \frac{\pi}{2}\right)", r"(3, \frac{\pi}{2})"),
        ("\N{SQUARE ROOT}2/2", r"\sqrt{2}/2"),
        ("2*sqrt(3)", r"2 \cdot \sqrt{3}"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        (r"\\frac{1}{2}", r"\frac{1}{2}"),
        ('"yes".', "yes"),
        (" " * 5 + "x" * MAX_CHARACTERS, "x" * MAX_CHARACTERS),
    ],
)
def test_an_answer_comes_into_one_notation(answer, notation):
    assert plain(answer) == notation


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "5!",
        "1/0",
        "1,2",
        "1.2.3",
        "2m",
        "3 - 1/2",
        "2 3",
        "12 apples",
        "5 M",
        "five six",
        "hundred",
        "thousand one",
        "one hundred two hundred",
        "(5)",
        "5 + 3",
        "$",
        "%",
        "cm",
        "1 3/2",
        "9" * 401,
    ],
)
def test_what_is_no_single_number_is_no_quantity(text):
    assert read_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("1 1/2", Number(Fraction(3, 2))),
        (r"-2\frac{1}{4}", Number(Fraction(-9, 4))),
        (r"3.5 \times 10^{-3}", Number(Fraction(7, 2000))),
        (r"0.1\overline{6}", Number(Fraction(1, 6))),
        (r"-.\overline{3}", Number(Fraction(-1, 3))),
        ("thirty-one", Number(Fraction(31))),
        ("2.5 million", Number(Fraction(2_500_000))),
        ("21st", Number(Fraction(21))),
        ("one hundred and five", Number(Fraction(105))),
        ("two million three thousand one", Number(Fraction(2_003_001))),
        ("minus forty-two", Number(Fraction(-42))),
        ("3 crore", Number(Fraction(30_000_000))),
        ("$3.5 M", Quantity(Number(Fraction(3_500_000)), find_unit("dollars"))),
        (r"28\%", Percent(Number(Fraction(28)))),
        ("5 cm", Quantity(Number(Fraction(5)), find_unit("centimetres"))),
        ("-$5", Quantity(Number(Fraction(-5)), find_unit("dollars"))),
        ("$5 per hour", Quantity(Number(Fraction(5)), find_unit("$/hour"))),
    ],
)
def test_a_single_number_is_read_exactly(text, quantity):
    assert read_quantity(text) == quantity


@pytest.mark.parametrize(
    ("text", "rounded"),
    [("0.3333333333333333", True), ("0.333", False), ("1.0000000000000002", True), ("12345678901234567", False)],
)
def test_only_decimals_as_long_as_a_floating_point_result_are_rounded(text, rounded):
    assert read_quantity(text).rounded is rounded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cm", "centimeters"),
        ("inches^2", "square inches"),
        ("mph", "miles per hour"),
        ("feet", "ft"),
        ("km/h", "kmh"),
        ("^\\circ", "degrees"),
        ("cu. cm", "cm^3"),
    ],
)
def test_a_unit_has_several_names(one, other):
    assert find_unit(one) == find_unit(other) is not None


@pytest.mark.parametrize("text", ["", "apples", "M", "m/s/s/s", "cm^4", "per", "/", "x^2"])
def test_other_words_are_no_unit(text):
    assert find_unit(text) is None


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("(B)", Expression("B")),
        ("June 20", Opaque("june 20")),
        ("Room 5", Opaque("room 5")),
        ("5 dogs and 10 bowls", Opaque("5 dogs and 10 bowls")),
        ("3:30 PM", Opaque("3:30pm")),
        ("x'", Opaque("x'")),
        ("x = 1 or x = 2", Assignment("x", Series("list", (Number(Fraction(1)), Number(Fraction(2)))))),
        ("[0, 1)", Series("[)", (Number(Fraction(0)), Number(Fraction(1))))),
        ("1 < x", Assignment("x", Series("()", (Number(Fraction(1)), Opaque("infinity"))))),
        ("2x = 10", Expression("(2x)-(10)", is_equation=True)),
        (r"\cos 60^\circ", Expression(r"\cos{\frac{60\pi}{180}}")),
        ("(" * (MAX_NESTING + 1), Opaque("(" * (MAX_NESTING + 1))),
        ("2 of 5 x 3", Opaque("2 of 5 x 3")),
    ],
)
def test_an_answer_is_read_into_its_parts(text, node):
    assert read_math(text) == node


def test_a_text_is_read_as_a_number_or_as_words():
    assert read_text("$1,000").number == Number(Fraction(1000))
    assert read_text("It is 5.") == Opaque("it is 5")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("19, 46, and 82", ["19", "46", "82"]),
        ("1,234", ["1,234"]),
        ("1,234, 5", ["1,234", "5"]),
        ("(1,2), (3,4)", ["(1,2)", "(3,4)"]),
        ("x=1; y=2", ["x=1", "y=2"]),
        ("3 or 4", ["3", "4"]),
        ("a), b(", ["a), b("]),
    ],
)
def test_an_enumeration_divides_outside_of_brackets(text, parts):
    assert split_list(text) == parts


def test_brackets_enclose_a_text_only_as_one_pair():
    assert bracketed("(1,2)").inner == "1,2"
    assert bracketed(r"\{1\}").opening == r"\{"
    assert bracketed("(1)(2)") is None
    assert bracketed("(") is None
    assert bracketed("1") is None


@pytest.mark.parametrize(
    ("text", "wordy"), [("2 sin x", False), (r"\alpha + xy", False), ("5 apples", True), ("it is", True), ("12", False)]
)
def test_words_are_told_from_symbols_and_functions(text, wordy):
    assert is_wordy(text) is wordy


def test_words_have_a_normal_form_and_marks_alone_stay():
    assert words_key(" 'Tim  B.' ") == "tim b"
    assert words_key("?!") == "?!"
