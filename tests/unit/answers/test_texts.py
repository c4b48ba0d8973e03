"""Which words are one answer, whatever typesetting and punctuation they have, and which signs carry meaning."""

import time

import pytest

from aligngraph.answers import AnswerForm, parse_number
from aligngraph.answers.texts import words_key

TEXT = AnswerForm.of("", "text")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<5", ">5"),
        ("<5", "5"),
        ("> 18 years", "< 18 years"),
        ("(0, 1)", "[0, 1]"),
        ("(a, b)", "[a, b]"),
        ("!x", "x"),
        ("n!", "n"),
        ("f(x)!", "f(x)"),
        ("__init__", "init"),
        ("*args", "args"),
        (".NET", "net"),
        ("vector<int>", "vector<int"),
        ("f(x)", "f(x"),
        ("(a) or (b)", "a) or (b"),
        ("3:2", "32"),
        ("42 (not 41)", "41"),
    ],
)
def test_signs_that_carry_meaning_tell_answers_apart(one, other):
    assert not TEXT.same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1914\N{EN DASH}1918", "1914-1918"),
        ("well\N{NON-BREAKING HYPHEN}known", "well-known"),
        ("it\N{RIGHT SINGLE QUOTATION MARK}s", "it's"),
        ("say \N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK} twice", 'say "a" twice'),
        ("\u200bParis", "Paris"),
        ("Pa\N{SOFT HYPHEN}ris", "Paris"),
        ("3 : 2", "3:2"),
        ("5\u200b", "5"),
        ("42 (not 41)", "42"),
    ],
)
def test_typographic_twins_are_one(one, other):
    assert TEXT.same(one, other)


@pytest.mark.parametrize(
    "answer",
    [
        "Paris.",
        "paris!",
        "Paris?!",
        "Paris!!!!!!!!!!!!",
        "(Paris)",
        "[Paris]",
        "**Paris**",
        "*(Paris).*",
        '"Paris".',
        ": Paris",
        "`Paris`,",
    ],
)
def test_punctuation_around_words_is_none_of_them(answer):
    assert words_key(answer) == "paris"


@pytest.mark.parametrize("answer", ["?!", "**", "()", "...", "", '"'])
def test_marks_alone_have_a_key_of_their_own(answer):
    assert words_key(answer) == answer


@pytest.mark.parametrize("kind", ["number", "math", "choice"])
def test_what_cannot_be_seen_makes_no_other_number(kind):
    assert AnswerForm.of("", kind).same("5\u200b", "5")
    assert parse_number("\ufeff\N{MINUS SIGN}5\u200b ") == -5


def test_many_layers_of_brackets_cost_linear_time():
    start = time.process_time()
    assert words_key("(" * 50_000 + "x" + ")" * 50_000)
    assert words_key(". " * 50_000 + "x")
    assert time.process_time() - start < 2
