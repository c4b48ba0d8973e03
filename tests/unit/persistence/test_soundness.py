"""F18: what a neighbouring router believed of its own disk for weeks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.persistence.soundness import find_fault, fits, read_arm_sums

SOUND = {
    "arm": "a/x",
    "made_of": "",
    "kind": "agent",
    "total": 1.5,
    "count": 2.0,
    "failures": 1,
    "gradient": -3.0,
    "loss": 0.5,
}
NUMBERS = ("total", "count", "failures", "gradient", "loss")


def test_sums_as_they_should_be_have_no_fault():
    assert find_fault(SOUND) is None
    assert find_fault({**SOUND, "total": 0, "count": 0, "loss": 0, "gradient": 0}) is None


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "many", b"1", None, True, 10**400, 1e15])
def test_what_is_no_finite_number_is_named(name, value):
    assert find_fault({**SOUND, name: value}).startswith(f"its {name} is {value!r}, no finite number")


@pytest.mark.parametrize("name", ["total", "count", "failures", "loss"])
def test_only_a_gradient_may_be_negative(name):
    assert find_fault({**SOUND, name: -1}).startswith(f"its {name} is negative: -1")
    assert find_fault({**SOUND, "gradient": -1}) is None


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"total": 2.1}, "its total of 2.1 is more than its 2.0 tasks can pay"),
        ({"failures": 0.5}, "its failures are no whole number: 0.5"),
        ({"kind": "king"}, "its kind is 'king', none of agent, principal, learner"),
        ({"kind": None}, "its kind is None"),
        ({"kind": "learner"}, "no learner can have that name"),
    ],
)
def test_other_nonsense_is_named(changes, fault):
    assert find_fault({**SOUND, **changes}).startswith(fault)


@pytest.mark.parametrize(
    ("arm", "kind"),
    [
        ("careful/step_by_step", "agent"),
        ("principal", "principal"),
        ("principal/listwise@gpt", "principal"),
        ("competence", "learner"),
        ("principals/x", "agent"),
    ],
)
def test_every_name_is_of_one_kind(arm, kind):
    assert [one for one in ("agent", "principal", "learner") if fits(one, arm)] == [kind]


def test_what_rounding_left_over_is_cut_off():
    sums = read_arm_sums({**SOUND, "total": 2.0 + 1e-9, "loss": -1e-9})
    assert (sums.total, sums.count, sums.loss, sums.changed_at) == (2.0, 2.0, 0.0, None)


VALUES = st.none() | st.text(max_size=3) | st.integers() | st.floats() | st.binary(max_size=2) | st.booleans()


@given(st.fixed_dictionaries({"kind": VALUES, **dict.fromkeys(NUMBERS, VALUES)}))
def test_anything_may_stand_there_and_what_is_believed_is_within_its_range(row):
    row = {**SOUND, **row}
    if find_fault(row) is None:
        sums = read_arm_sums(row)
        assert 0 <= sums.total <= sums.count
        assert min(sums.failures, sums.loss) >= 0
        assert math.isfinite(sums.gradient)
