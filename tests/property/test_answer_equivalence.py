"""Being one answer is an equivalence relation on every set of answers, and knows no order."""

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aligngraph.answers import AnswerForm
from aligngraph.answers.notation import plain
from aligngraph.answers.structure import read_math

# Answers that are one or nearly so, with all that depends on the other answers: percentages, units, names, roundings.
POOL = (  # noqa: SIM905 - as a text it can be taken in at a glance
    "0.5 1/2 50% 50 5000% $50 50cm 0.5m x=50 y=50 x=0.5 50.0 1e2 100 100% 1 2x=100 500mm \\frac12 .5 (1,2) (2,1) [1,2] {1,2} 1,2 2,1 "
    "\\{1,2\\} x=1,2 \\pm1 1,-1 0.3333333333333333 1/3 0.333 \\frac{\\sqrt{4}}{4} \\sqrt{2500} \\pi 3.141592653589793 3.14 \\infty B b (B) "
    "\\text{B} even Even. 4_9 4 4_8 x>1 (1,\\infty) \\{\\} \\frac{ 1/0 ((( x^2 x\\cdotx |x| \\sqrt{x^2} 2! 2 \\binom{2}{1}"
).split()
NUMBERS = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.integers(0, 10**9).map("{:,}".format),
    st.decimals(-100, 100, places=2).map(str),
    st.integers(0, 200).map("{}%".format),
    st.fractions(0, 3, max_denominator=9).map(str),
    st.integers(0, 99).map("${}.00".format),
)
PLAIN = "5 50 500 0.5 0.05 1/2 1 100 1,2 2,1 5000 1/20".split()  # noqa: SIM905
CARRYING = (
    "$5", "$50", "$0.5", "500 cents", "50 cents", "5 cents", "5 cm", "5 m", "0.05 m", "50 cm", "x = 5", "y = 5", "x = 50%", "50%", "5000%",
    "x = 5 cm", "x = 1, y = 2", "x = 2, y = 1", "1 cm, 2 cm", "x = 1 cm, y = 2 cm", "5k", "100%", "1 hour", "60 minutes", "5 km",
)  # fmt: skip
FORMS = {kind: AnswerForm.of("", kind) for kind in ("number", "math", "text", "choice", "code", "json")}
slow = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def partition(form, answers):
    """Return the classes as a set of sets of positions."""
    return {frozenset(group.members) for group in form.group(answers)}


@slow
@given(st.lists(st.sampled_from(POOL) | NUMBERS, max_size=8), st.randoms(use_true_random=False))
def test_the_partition_of_mathematical_answers_knows_no_order(answers, random):
    order = random.sample(range(len(answers)), len(answers))
    shuffled = partition(FORMS["math"], [answers[position] for position in order])
    assert {frozenset(order[member] for member in group) for group in shuffled} == partition(FORMS["math"], answers)


@slow
@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(st.sampled_from(POOL) | NUMBERS | st.text(max_size=10) | st.none(), max_size=8),
)
def test_every_answer_is_in_one_class_and_equal_strings_are_in_one(kind, answers):
    groups = FORMS[kind].group(answers)
    members = sorted(itertools.chain.from_iterable(group.members for group in groups))
    assert members == [position for position, answer in enumerate(answers) if answer is not None]
    assert [group.members[0] for group in groups] == sorted(group.members[0] for group in groups)
    assert all(group.answer == answers[group.members[0]] for group in groups)
    where = {position: number for number, group in enumerate(groups) for position in group.members}
    assert all(
        where[one] == where[other]
        for one, other in itertools.combinations(members, 2)
        if answers[one] == answers[other]
    )


@slow
@given(st.sampled_from(POOL), st.sampled_from(POOL))
def test_two_answers_are_one_in_either_order(one, other):
    assert FORMS["math"].same(one, one)
    assert FORMS["math"].same(one, other) == FORMS["math"].same(other, one)


@slow
@given(st.lists(NUMBERS, min_size=2, max_size=6), st.integers(0, 5))
def test_repeating_an_answer_changes_no_class(answers, position):
    repeated = [*answers, answers[position % len(answers)]]
    groups = partition(FORMS["number"], repeated)
    assert {group - {len(answers)} for group in groups} == partition(FORMS["number"], answers)


@slow
@given(st.lists(st.sampled_from(PLAIN) | st.sampled_from(CARRYING), max_size=9))
def test_no_third_answer_makes_two_one_that_both_carry_a_unit_or_a_name_or_that_both_are_plain(answers):
    form = FORMS["number"]
    for group in form.group(answers):
        members = {answers[position] for position in group.members}
        for kind in (PLAIN, CARRYING):
            assert all(form.same(*pair) for pair in itertools.combinations(sorted(members.intersection(kind)), 2))


@slow
@given(st.lists(st.sampled_from(PLAIN) | st.sampled_from(CARRYING), max_size=9))
def test_two_answers_are_one_only_if_themselves_or_by_way_of_one_that_is_the_same_as_both(answers):
    form = FORMS["number"]
    for group in form.group(answers):
        members = sorted({answers[position] for position in group.members})
        for one, other in itertools.combinations(members, 2):
            assert form.same(one, other) or any(form.same(one, third) and form.same(third, other) for third in members)


@given(st.integers(-(10**12), 10**12))
def test_every_way_of_writing_an_integer_is_one_answer(number):
    ways = [
        str(number),
        f"{number:,}",
        f"{number}.0",
        f"{number}.",
        f"${number}$",
        f"**{number}**",
        rf"\boxed{{{number}}}",
        f"The answer is {number}.",
    ]
    assert len(FORMS["number"].group(ways)) == 1


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_integers_that_differ_are_never_one(number, difference):
    assert not FORMS["number"].same(str(number), f"{number + difference:,}")


@given(st.integers(10**15, 10**17), st.integers(1, 1000), st.integers(1, 6))
def test_decimals_of_many_digits_are_one_only_if_every_digit_is(digits, difference, places):
    one, other = (f"{number // 10**places}.{number % 10**places:0{places}}" for number in (digits, digits + difference))
    assert not FORMS["number"].same(one, other)
    assert FORMS["number"].same(one, f"{one}0")


WORDS = st.text(alphabet="abcxyz", min_size=2, max_size=6)


@given(
    WORDS,
    WORDS,
    st.sampled_from(
        ["{}", "({})", '"{}."', "**{}**", "{}!", "\N{LEFT DOUBLE QUOTATION MARK}{}\N{RIGHT DOUBLE QUOTATION MARK}"]
    ),
)
def test_words_are_one_answer_however_they_are_typeset(one, other, typeset):
    answer = typeset.format(f"{one}\N{NON-BREAKING HYPHEN}\u200b{other}")
    assert FORMS["text"].same(answer, f"{one}-{other}")
    assert not FORMS["text"].same(answer, f"{one} {other}")


@given(
    st.text(alphabet='ab [("', max_size=20),
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ).map(lambda value: [value]),
)
def test_a_json_value_is_found_behind_any_prose_without_strings_in_brackets(prose, value):
    text = prose.replace('"', "") + json.dumps(value)
    assert json.loads(FORMS["json"].extract(text)) == value


@given(st.fractions(0, 50, max_denominator=40).filter(lambda value: value.denominator > 1 and value > 1))
def test_a_mixed_number_is_its_fraction(value):
    whole, rest = divmod(value.numerator, value.denominator)
    ways = [
        str(value),
        f"{whole} {rest}/{value.denominator}",
        rf"{whole}\frac{{{rest}}}{{{value.denominator}}}",
        rf"\dfrac{{{value.numerator}}}{{{value.denominator}}}",
    ]
    assert len(FORMS["number"].group(ways)) == 1


@settings(max_examples=300)
@given(st.text(alphabet="01259.,-+*/^=()[]{}\\ %$xabifrcsqt<>_'|&!:;~\"\n", max_size=60) | st.text(max_size=60))
def test_any_text_is_read_and_the_notation_is_stable(text):
    read = read_math.__wrapped__  # without what it remembers
    assert read(text) == read(text)
    assert plain(plain(text)) == plain(plain(plain(text)))


@pytest.mark.parametrize("answers", list(itertools.permutations(["0.5", "50%", "50", "$50", "x = 50"])))
def test_percentages_never_bring_a_half_and_fifty_together(answers):
    (with_half,) = (group for group in FORMS["number"].group(answers) if answers.index("0.5") in group.members)
    assert with_half.members == (answers.index("0.5"),)
