import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from aligngraph.calling.circuit import Circuit
from aligngraph.calling.settings import CircuitSettings

SETTINGS = CircuitSettings(failures=3, rest_s=60, longest_rest_s=200)
T = 1_800_000_000.0


def failed(times, circuit=Circuit(), at=T):  # noqa: B008 - frozen
    for _ in range(times):
        circuit = circuit.after_failure(at, "HTTP 503", SETTINGS)
    return circuit


def trial(circuit, at):
    admission = circuit.admit(at)
    assert admission.admitted
    return admission.circuit


OPEN = failed(3)


def test_a_new_circuit_is_closed_and_lets_every_call_go():
    assert Circuit().state(T) == "closed"
    admission = Circuit().admit(T)
    assert admission.admitted
    assert admission.circuit == Circuit()
    assert Circuit().trial_due_at is None


def test_so_many_failures_in_a_row_open_it():
    assert failed(2).state(T) == "closed"
    assert failed(2).admit(T).admitted
    assert OPEN.state(T) == "open"
    assert not OPEN.admit(T).admitted
    assert (OPEN.failures, OPEN.cause, OPEN.trial_due_at) == (3, "HTTP 503", T + 60)


def test_failures_with_a_success_between_are_not_in_a_row():
    assert failed(2, failed(2).after_success()).state(T) == "closed"


def test_after_its_rest_one_call_goes_and_no_other_until_it_is_reported_on():
    assert OPEN.state(T + 59.9) == "open"
    assert OPEN.state(T + 60) == "half-open"
    tried = trial(OPEN, T + 60)
    assert tried.state(T + 61) == "half-open"
    refused = tried.admit(T + 61)
    assert not refused.admitted
    assert refused.circuit == tried


def test_a_trial_that_succeeds_closes_it():
    assert trial(OPEN, T + 60).after_success() == Circuit()


def test_each_trial_that_fails_doubles_the_rest_up_to_the_longest():
    circuit, now, rests = OPEN, T, []
    for _ in range(4):
        now = circuit.trial_due_at
        circuit = trial(circuit, now).after_failure(now + 5, "HTTP 500", SETTINGS)
        assert circuit.opened_at == now + 5
        assert circuit.state(now + 5) == "open"
        rests.append(circuit.rest_s)
    assert rests == [120, 200, 200, 200]
    assert (circuit.failures, circuit.cause) == (7, "HTTP 500")


def test_after_a_success_the_rest_is_short_again():
    circuit = trial(OPEN, T + 60).after_failure(T + 61, "HTTP 500", SETTINGS)
    assert failed(3, trial(circuit, T + 200).after_success(), T + 300).rest_s == 60


def test_a_trial_that_is_never_reported_on_is_forgotten():
    tried = trial(OPEN, T + 60)
    assert not tried.admit(T + 119).admitted
    assert trial(tried, T + 120).trial_at == T + 120


def test_a_call_sent_before_it_opened_does_not_prolong_the_rest():
    late = OPEN.after_failure(T + 30, "no reply", SETTINGS)
    assert (late.opened_at, late.rest_s, late.failures, late.cause) == (T, 60, 4, "no reply")
    later = OPEN.after_failure(T + 90, "no reply", SETTINGS)
    assert later.admit(T + 90).admitted


def test_a_call_sent_before_it_opened_closes_it_when_it_succeeds():
    assert OPEN.after_success() == Circuit()


def test_a_clock_that_went_backwards_does_not_keep_it_open():
    assert OPEN.state(T - 1) == "half-open"
    tried = trial(OPEN, T - 86_400)
    again = tried.after_failure(T - 86_399, "HTTP 503", SETTINGS)
    assert again.trial_due_at == T - 86_399 + 120
    assert trial(tried, T - 90_000).trial_at == T - 90_000  # of a trial in what is now the future nobody knows


def test_stricter_settings_count_from_the_next_failure_on():
    stricter = CircuitSettings(failures=1, rest_s=10, longest_rest_s=20)
    assert failed(2).admit(T).admitted
    assert failed(2).after_failure(T, "HTTP 503", stricter).rest_s == 10
    assert trial(OPEN, T + 60).after_failure(T + 61, "HTTP 503", stricter).rest_s == 20


@pytest.mark.parametrize("circuit", [Circuit(), failed(2), OPEN, trial(OPEN, T + 60)])
def test_it_lasts_as_plain_json(circuit):
    assert Circuit.from_json(json.loads(json.dumps(circuit.as_json()))) == circuit


SOUND = trial(OPEN, T + 60).as_json()


@pytest.mark.parametrize(
    "change",
    [
        {"failures": -1},
        {"failures": 2.5},
        {"failures": True},
        {"failures": "3"},
        {"failures": None},
        {"failures": 10**400},
        {"failures": 0},
        {"opened_at": "yesterday"},
        {"opened_at": float("nan")},
        {"opened_at": float("inf")},
        {"opened_at": -(10**400)},
        {"opened_at": None},
        {"rest_s": 0},
        {"rest_s": -60},
        {"rest_s": None},
        {"trial_at": False},
        {"trial_at": []},
        {"cause": 503},
        {"more": 1},
    ],
)
def test_what_no_circuit_wrote_is_refused(change):
    with pytest.raises(ValueError, match=r"no circuit|cannot be|at once"):
        Circuit.from_json(SOUND | change)


@pytest.mark.parametrize("value", [None, [], "closed", 3, {}, {"failures": 0}])
def test_what_is_no_object_of_a_circuit_is_refused(value):
    with pytest.raises(ValueError, match="is no circuit: that is an object with failures, opened_at, rest_s"):
        Circuit.from_json(value)


@pytest.mark.parametrize(
    "change", [{"failures": -1}, {"opened_at": None}, {"rest_s": -1.0}, {"opened_at": float("nan")}, {"failures": 0}]
)
def test_a_circuit_that_cannot_be_is_not_made(change):
    with pytest.raises(ValueError, match=r"cannot be|at once"):
        replace(OPEN, **change)


@pytest.mark.parametrize(
    "table",
    [{"failures": 0}, {"rest_s": 0}, {"rest_s": 60, "longest_rest_s": 30}, {"rest_s": float("nan")}, {"tries": 1}],
)
def test_settings_that_cannot_be_are_refused(table):
    with pytest.raises(ValidationError):
        CircuitSettings(**table)


# What any history of calls, with any clock, leaves as it must be.

moments = st.floats(-1e9, 4e9, allow_nan=False)
steps = st.one_of(st.floats(0, 500), st.floats(-1e6, 1e6))
events = st.lists(st.tuples(st.sampled_from(["ask", "success", "failure"]), steps), max_size=40)
rules = st.builds(
    lambda failures, rest_s, factor: CircuitSettings(failures=failures, rest_s=rest_s, longest_rest_s=rest_s * factor),
    st.integers(1, 6),
    st.floats(0.5, 500),
    st.floats(1, 20),
)


def history(start, events, settings):
    """Yield the moment, the event, the circuit before and after it, and whether a call was let go."""
    circuit, now = Circuit(), start
    for event, step in events:
        now += step
        admission = circuit.admit(now)
        after = {
            "ask": admission.circuit,
            "success": circuit.after_success(),
            "failure": circuit.after_failure(now, "HTTP 503", settings),
        }[event]
        yield now, event, circuit, after, admission.admitted
        circuit = after


@given(moments, events, rules)
@settings(max_examples=300, deadline=None)
def test_every_circuit_can_be_stored_and_its_rest_is_within_the_settings(start, events, rules):
    for _, _, _, circuit, _ in history(start, events, rules):
        assert Circuit.from_json(json.loads(json.dumps(circuit.as_json()))) == circuit
        if circuit.opened_at is not None:
            assert rules.rest_s <= circuit.rest_s <= rules.longest_rest_s
            assert circuit.failures >= rules.failures


@given(moments, events, rules)
@settings(max_examples=300, deadline=None)
def test_failures_are_counted_since_the_last_success(start, events, rules):
    count = 0
    for now, event, _, circuit, _ in history(start, events, rules):
        count = {"ask": count, "success": 0, "failure": count + 1}[event]
        assert circuit.failures == count
        assert (circuit.state(now) == "closed") == (count < rules.failures)


@given(moments, events, rules)
@settings(max_examples=300, deadline=None)
def test_calls_go_while_it_is_closed_and_one_by_one_after_a_rest(start, events, rules):
    for now, _, before, _, admitted in history(start, events, rules):
        state = before.state(now)
        if state != "half-open":
            assert admitted == (state == "closed")
        elif admitted:
            assert not before.admit(now).circuit.admit(now).admitted


@given(moments, events, rules, moments)
@settings(max_examples=300, deadline=None)
def test_it_never_stays_open_for_ever(start, events, rules, later):
    """At whatever time the clock stands next, a call goes at once or after the longest rest and a forgotten trial."""
    for _, _, _, circuit, _ in history(start, events, rules):
        assert any(
            circuit.admit(later + wait_s).admitted for wait_s in (0, rules.longest_rest_s, 2 * rules.longest_rest_s)
        )
