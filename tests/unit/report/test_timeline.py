import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.learning.teaching import Verdict
from aligngraph.persistence import ArmKey, ArmSums, Increment, Update, advance, replayed
from aligngraph.policy import competence_interval
from aligngraph.report.timeline import (
    WINDOW,
    arms_of,
    follow,
    follow_arm,
    follow_principal,
    learner_shares,
    sample_share,
)


def update(run_id, *increments, kind="task", **rest):
    return Update(run_id, 1, "d", increments, kind=kind, at="2026-01-01T00:00:00.000+00:00", **rest)


def paid(arm, payoff, **rest):
    return Increment(arm, "agent", payoff, **rest)


def told(run_id, *increments, right):
    return update(run_id, *increments, kind="feedback", result={"feedback": {"right": right}})


def test_competence_over_the_tasks_is_the_mean_with_its_prior():
    series = follow_arm(follow([update("r1", paid("a/x", 1.0)), update("r2", paid("a/x", 0.5))], {}).points, "a/x")
    assert series.tasks.tolist() == [1, 2]
    assert series.mean == pytest.approx([3 / 5, 3.5 / 6])
    assert series.weight == pytest.approx([math.log(3 / 2) + math.log(2), math.log(3.5 / 2.5) + math.log(2)])
    expected = competence_interval([1.0, 1.5], [1, 2])
    assert series.low == pytest.approx(expected.low)
    assert series.high == pytest.approx(expected.high)


def test_a_point_has_what_came_before_the_next_task():
    log = [
        update("r1", paid("a/x", 0.2)),
        told("r1", paid("a/x", 0.8, count=0.0), right=[True, False]),
        update("r2", paid("a/x", 0.5)),
    ]
    timeline = follow(log, {})
    assert [point.sums.find("a/x").total for point in timeline.points] == pytest.approx([1.0, 1.5])
    assert (timeline.corrected, timeline.events) == (1, ())


def test_the_last_feedback_counts_and_late_feedback_finds_its_task():
    log = [
        update("r1"),
        update("r2"),
        told("r1", right=[False, True]),
        told("r1", right=[True, True]),
        told("r2", right=None),
    ]
    first, second = follow(log, {}).points
    assert first.verdict == Verdict((True, True))
    assert first.target == pytest.approx([0.5, 0.5])
    assert (second.verdict, second.target) == (Verdict(None), None)


def test_where_no_answer_was_right_there_is_no_target():
    (point,) = follow([update("r1"), told("r1", right=[False, False])], {}).points
    assert point.verdict is not None
    assert point.target is None


def test_a_reset_is_an_event_after_which_the_arm_starts_again():
    log = [
        update("r1", paid("a/x", 1.0)),
        update("reset-1", kind="reset", cleared=(ArmKey("a/x"),)),
        update("r2", paid("a/x", 0.0)),
    ]
    timeline = follow(log, {})
    assert timeline.events == ((1.0, "reset"),)
    assert follow_arm(timeline.points, "a/x").tasks.tolist() == [0, 1]


def test_learning_again_from_every_run_is_one_event():
    log = [update("r1", paid("a/x", 1.0)), *(update(f"l{n}", paid("a/x", 0.5), kind="learn") for n in range(3))]
    timeline = follow(log, {})
    assert timeline.events == ((1.0, "learn"),)
    assert timeline.points[-1].sums.find("a/x").count == 4


def test_forgetting_shrinks_everything_but_failures():
    before = {ArmKey("a/x"): ArmSums("agent", 2.0, 4.0, 3, -1.0, 8.0)}
    advance(before, update("r", decay=0.5))
    assert before == {ArmKey("a/x"): ArmSums("agent", 1.0, 2.0, 3, -0.5, 4.0)}


def test_following_the_log_ends_where_the_store_replays_it(domain):
    for number in range(12):
        domain.ask(feedback=number % 3 == 0, failing="tiny/direct" if number == 5 else None)
    domain.append("half", 1, (), kind="task", decay=0.5)
    domain.append("gone", 1, (paid("new/x", 0.5),), kind="rollback", cleared=(ArmKey("tiny/direct", "m1"),))
    assert dict(domain.timeline().points[-1].sums.here) == replayed(domain.updates)


ARMS = st.sampled_from([ArmKey("a/x"), ArmKey("a/x", "other"), ArmKey("b/y", "m")])
INCREMENTS = st.builds(
    lambda key, payoff, failures, loss: Increment(key.arm, "agent", payoff, 1.0, failures, key.made_of, -loss, loss),
    ARMS, st.floats(0, 1), st.integers(0, 3), st.floats(0, 5),
)  # fmt: skip
UPDATES = st.builds(
    lambda kind, increments, decay, cleared: update(
        "r", *{one.key: one for one in increments}.values(), kind=kind, decay=decay, cleared=tuple(cleared)
    ),
    st.sampled_from(["task", "reset", "rollback", "import", "learn", "quarantine"]),
    st.lists(INCREMENTS, max_size=3), st.floats(0.1, 1.0), st.sets(ARMS),
)  # fmt: skip


@given(st.lists(UPDATES, max_size=12))
def test_whatever_is_in_the_log_its_end_is_what_the_store_holds(log):
    timeline = follow([*log, update("last")], {})
    assert dict(timeline.points[-1].sums.here) == replayed(log)
    assert len(timeline.points) == sum(one.kind == "task" for one in log) + 1
    assert [point.number for point in timeline.points] == list(range(1, len(timeline.points) + 1))


def test_an_arm_made_of_something_else_starts_again(make_evidence):
    log = [
        update("r1", paid("careful/direct", 1.0, made_of="a")),
        update("r2", paid("careful/direct", 1.0, made_of="z")),
    ]
    evidence = {"r1": make_evidence(), "r2": make_evidence(made_of=("z", "b"))}
    assert follow_arm(follow(log, evidence).points, "careful/direct").tasks.tolist() == [1, 1]


def test_arms_are_those_that_took_part_and_those_that_are_known(make_evidence):
    points = follow(
        [update("r1", paid("old/x", 1.0), Increment("principal", "principal", 1.0))], {"r1": make_evidence()}
    ).points
    assert arms_of(points) == ["careful/direct", "quick/direct", "old/x"]
    assert arms_of(()) == []


def test_shares_of_samples_are_of_the_last_tasks_only(make_evidence):
    early, late = make_evidence(asked=(4, 0)), make_evidence(asked=(1, 3))
    runs = {f"r{n}": early if n < WINDOW else late for n in range(2 * WINDOW)}
    points = follow([update(run) for run in runs], runs).points
    share = sample_share(points, "careful/direct")
    assert share[WINDOW - 1] == 1.0
    assert share[WINDOW] == pytest.approx((4 * (WINDOW - 1) + 1) / (4 * WINDOW))
    assert share[-1] == pytest.approx(0.25)
    assert sample_share(points, "nobody/x")[-1] == 0.0


def test_without_evidence_no_share_is_known():
    assert np.isnan(sample_share(follow([update("r1")], {}).points, "a/x")).all()


def test_trust_in_the_principal_follows_its_duels_and_what_could_be_seen_of_them(make_evidence):
    """Of 20 tasks, 18 clear, it won 18: 8 beyond chance, next to a prior of 16 clear tasks at 0.64."""
    judged = Increment("principal", "principal", 18.0, count=20.0, loss=2.0, made_of="p")
    runs = {"r1": make_evidence(), "r2": make_evidence(), "r3": make_evidence()}
    points = follow([update("r1"), update("r2", judged), update("r3")], runs).points
    series = follow_principal(points)
    skill = (16 * 0.14 + 8 - 1.5 * math.sqrt(34) / 2) / 34
    assert series.tasks.tolist() == [0, 20, 20]
    assert math.isnan(series.mean[0])
    assert series.mean[1:] == pytest.approx([0.9, 0.9])
    assert series.trust == pytest.approx([0.0, *[math.log((0.5 + skill) / (0.5 - skill))] * 2])
    assert series.anchor.tolist() == [0.3] * 3


def test_a_principal_made_of_something_else_starts_again(make_evidence):
    judged = Increment("principal", "principal", 18.0, count=20.0, loss=2.0, made_of="p")
    runs = {"r1": make_evidence(), "r2": make_evidence(principals={"principal": "new"})}
    series = follow_principal(follow([update("r1", judged), update("r2")], runs).points)
    assert series.tasks.tolist() == [20, 0]
    assert series.trust[0] > 0.5
    assert series.trust[1] == 0


def test_a_task_of_one_answer_has_no_anchor(make_evidence):
    alone = make_evidence(
        first=((2.0, 0.0), (1.0, 0.0)), counts=((2.0,), (1.0,)), posterior=(1.0,), preference=None, tiers=()
    )
    assert np.isnan(follow_principal(follow([update("r1")], {"r1": alone}).points).anchor).all()


def test_competence_decides_alone_until_there_is_feedback():
    """Then Bayes from the prior: 0.45 * 1, 0.45 / 3 and 0.1 * 1, of 0.7."""
    lost = {"competence": 1.0, "gradient": 1.0 + math.log(3), "hedge": 1.0}
    told_once = [Increment(name, "learner", 0.0, loss=loss) for name, loss in lost.items()]
    shares = learner_shares(follow([update("r1"), update("r2", *told_once)], {}).points)
    assert shares[0].tolist() == [1.0, 0.0, 0.0]
    assert shares[1] == pytest.approx([0.45 / 0.7, 0.15 / 0.7, 0.1 / 0.7])
