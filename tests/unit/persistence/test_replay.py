from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.persistence import ArmKey, ArmSums, Increment, Update, replayed
from aligngraph.persistence.replay import Aftermath, differing, turn_of

A, B = ArmKey("a/x"), ArmKey("b/x")


def an_update(sequence, *arms, payoff=0.5, **changes):
    increments = tuple(Increment(arm.arm, "agent", payoff) for arm in arms)
    return Update(f"r{sequence}", 1, "maths", increments, sequence=sequence, **changes)


def back_to(sequence, place, log):
    """Make the rollback that a store would write after this log."""
    now, then = replayed(log), replayed(log[:place])
    increments = tuple(then[key].as_increment(key) for key in sorted(then))
    return Update("back", sequence, "maths", increments, {"to": place}, kind="rollback", cleared=tuple(now), sequence=sequence)  # fmt: skip


def left_of(log, place):
    counted = Aftermath(map(turn_of, log)).count(log[place - 1])
    return counted.age, [(one.key, one.payoff) for one in counted.left]


def test_nothing_makes_no_sums():
    assert replayed([]) == {}


def test_an_update_clears_then_shrinks_then_adds():
    log = [an_update(1, A, B), an_update(2, B, decay=0.5, cleared=(B,))]
    assert replayed(log) == {A: ArmSums("agent", 0.25, 0.5), B: ArmSums("agent", 0.5, 1.0)}


def test_failures_do_not_fade():
    log = [Update("r", 1, "maths", (Increment("a/x", "agent", 0.5, failures=3),)), an_update(2, decay=0.5)]
    assert replayed(log)[A].failures == 3


def test_all_of_an_update_is_left_if_nothing_came_since():
    assert left_of([an_update(1, A, B)], 1) == (1.0, [(A, 0.5), (B, 0.5)])


def test_what_came_before_an_update_is_no_matter_to_it():
    log = [an_update(1, B, decay=0.1), an_update(2, A, decay=0.1, cleared=(A,))]
    assert left_of(log, 2) == (1.0, [(A, 0.5)])


def test_it_fades_with_every_decay_since():
    log = [an_update(1, A), an_update(2, decay=0.5), an_update(3), an_update(4, decay=0.25)]
    assert left_of(log, 1) == (0.125, [(A, 0.0625)])
    assert left_of(log, 2)[0] == 0.25


def test_a_cleared_arm_has_nothing_left_and_others_have():
    assert left_of([an_update(1, A, B), an_update(2, cleared=(A,), kind="quarantine")], 1) == (1.0, [(B, 0.5)])


def test_what_was_undone_is_gone():
    log = [an_update(1, A), an_update(2, A), an_update(3, A)]
    log.append(back_to(4, 1, log))
    assert left_of(log, 1) == (1.0, [(A, 0.5)])
    assert [left_of(log, place)[1] for place in (2, 3)] == [[], []]


def test_what_was_cleared_and_then_undone_is_back():
    log = [an_update(1, A), an_update(2, cleared=(A,), kind="reset"), an_update(3, decay=0.5)]
    log.append(back_to(4, 1, log))
    log.append(an_update(5, decay=0.5))
    assert left_of(log, 1) == (0.5, [(A, 0.25)])


def test_a_rollback_is_undone_by_a_later_one():
    log = [an_update(1, A), an_update(2, A)]
    log.append(back_to(3, 1, log))
    log.append(an_update(4, A))
    log.append(back_to(5, 2, log))
    assert [left_of(log, place)[1] for place in (1, 2, 4)] == [[(A, 0.5)], [(A, 0.5)], []]


def test_arms_that_are_nowhere_but_zero_do_not_differ():
    assert differing({A: ArmSums("agent")}, {}) == differing({}, {A: ArmSums("agent")}) == []
    assert differing({A: ArmSums("learner"), B: ArmSums("agent", 0.5, 1.0)}, {}) == [B]
    assert differing({A: ArmSums("agent", 0.5, 1.0)}, {A: ArmSums("agent", 0.25, 1.0)}) == [A]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["task", "reset", "rollback"]),
        st.sampled_from([(A,), (B,), (A, B)]),
        st.sampled_from([1.0, 0.5]),
        st.integers(0, 30),
    ),
    max_size=25,
)


@given(STEPS)
def test_what_is_left_of_all_updates_together_is_the_sums(steps):
    """So feedback that takes back what is left of a run leaves the sums as if it had never been."""
    log = []
    for sequence, (kind, arms, decay, place) in enumerate(steps, start=1):
        if kind == "task":
            log.append(an_update(sequence, *arms, payoff=1 / sequence, decay=decay))
        elif kind == "reset":
            log.append(Update("reset", sequence, "maths", (), kind="reset", cleared=arms, sequence=sequence))
        else:
            log.append(back_to(sequence, min(place, sequence - 1), log))
    aftermath = Aftermath(map(turn_of, log))
    left = [aftermath.count(update).left for update in log if update.kind == "task"]
    sums = replayed([Update("left", n, "maths", increments) for n, increments in enumerate(left)])
    stored = replayed(log)
    for key in {*sums, *stored}:
        found, wanted = sums.get(key, ArmSums("agent")), stored.get(key, ArmSums("agent"))
        assert (found.total, found.count) == pytest.approx((wanted.total, wanted.count), abs=1e-9)


@given(st.permutations(range(8)))
def test_sums_that_only_grow_come_in_any_order(order):
    """Theorem 7: the state is a commutative monoid."""
    log = [an_update(n, A, payoff=n / 8) for n in range(8)]
    shuffled = [replace(log[n], round=place) for place, n in enumerate(order)]
    assert replayed(shuffled) == replayed(log)
