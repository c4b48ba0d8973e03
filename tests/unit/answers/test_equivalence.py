import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.answers import equivalence_key, group_answers, parse_number


@pytest.mark.parametrize(
    "same",
    [
        ("1,000", "$1000", "1000.00", "1e3", "1000.", " 1000 "),
        ("1/2", "0.5", ".5", "2/4", "0.50"),
        ("-3", "\N{MINUS SIGN}3", "-3.0", "-$3"),
        ("29", "$29.00", "29.", "+29"),
        ("0", "-0", "0.0", "0/5"),
        ("north-east", "north-east "),
    ],
)
def test_f33_one_number_written_in_several_ways_is_one_answer(same):
    assert len(group_answers(same)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234", "1.234"),
        ("12", "-12"),
        ("1/3", "0.333"),
        ("5", "five"),
        ("10", "100"),
        ("1,00", "100"),
        ("x", "X"),
        ("1/0", "0"),
    ],
)
def test_different_answers_stay_apart(one, other):
    assert len(group_answers([one, other])) == 2


def test_f55_texts_that_are_nearly_alike_but_end_in_other_numbers_stay_apart():
    assert len(group_answers(["the total cost comes to 57 dollars", "the total cost comes to 58 dollars"])) == 2


def test_f34_identical_strings_are_equal_before_any_parser_is_asked():
    assert len(group_answers(["(2,4)", "(2,4)"])) == 1


def test_classes_keep_their_members_and_none_belongs_to_no_class():
    first, second = group_answers(["7", None, "8", "7.0", None])
    assert (first.answer, first.members) == ("7", (0, 3))
    assert (second.answer, second.members) == ("8", (2,))


def test_no_answers_make_no_class():
    assert group_answers([]) == group_answers([None]) == ()


@pytest.mark.parametrize("text", ["", "-", "$", ".", "1.2.3", "1e", "1e9999", "12 apples", "1,2", "NaN", "inf", "٣x"])
def test_what_is_no_plain_number_has_no_value(text):
    assert parse_number(text) is None


def test_a_hostile_number_is_refused_in_no_time():
    start = time.perf_counter()
    assert parse_number("9" * 100_000) is None
    assert parse_number("1e999") == Fraction(10) ** 999
    assert time.perf_counter() - start < 1


@given(
    st.lists(
        st.one_of(
            st.integers().map(str),
            st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
            st.text(max_size=8),
        )
    )
)
def test_grouping_is_an_equivalence_relation_and_knows_no_order(answers):
    groups = group_answers(answers)
    assert sorted(member for group in groups for member in group.members) == list(range(len(answers)))
    backwards = group_answers(answers[::-1])
    mirrored = {frozenset(len(answers) - 1 - member for member in group.members) for group in backwards}
    assert mirrored == {frozenset(group.members) for group in groups}


@given(st.integers(-(10**12), 10**12))
def test_thousands_separators_change_nothing(number):
    assert equivalence_key(f"{number:,}") == equivalence_key(str(number)) == equivalence_key(f"{number}.00")
