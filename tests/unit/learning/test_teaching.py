"""What a task adds to the sums, whatever it was: bounds that hold for any evidence and any knowledge."""

import math
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.learning.evidence import Evidence
from aligngraph.learning.known import DELEGATION, missed_loss, share_samples
from aligngraph.learning.teaching import Verdict, add_up, after, place_of, play_again, teach
from aligngraph.persistence import Increment
from aligngraph.policy import LEARNERS
from aligngraph.state import LearnedState

UNKNOWN = Verdict(None)
ROUNDING = 1e-9
MOST_LOG_LOSS = -math.log(0.001)


@dataclass(frozen=True)
class Taught:
    """A task, what was known before it, and what it added."""

    evidence: Evidence
    learned: LearnedState
    verdict: Verdict | None
    increments: tuple[Increment, ...]

    def of_kind(self, kind):
        return {part.arm: part for part in self.increments if part.kind == kind}

    @property
    def lost(self):
        """What each arm of an agent lost in this task alone: a newcomer is given what it missed as well."""
        agents = self.of_kind("agent")
        return {arm: part.loss - self.missed(arm, part) for arm, part in agents.items()}

    def missed(self, arm, part):
        return missed_loss(self.learned, arm) if part.count or part.loss else 0.0

    @property
    def is_right_answer_known(self):
        return self.verdict is not None and any(self.verdict.right or ())


@pytest.fixture(scope="session")
def lessons(evidences, learned_of):
    """Return the strategy that draws evidence, what was known before, and a verdict, and teaches them."""

    @st.composite
    def draw_lesson(draw):
        evidence = draw(evidences)
        records = {arm[0]: draw_record(draw) for arm in evidence.arms}
        tasks = draw(st.integers(0, 50))
        learners = {name: {"count": tasks, "loss": tasks * draw(st.floats(0, 2))} for name in LEARNERS}
        learners[DELEGATION] = {"count": draw(st.integers(0, 50)), "loss": 9.0}
        learned = learned_of(evidence.arms, learners=learners, **records)
        verdict = draw(verdicts(evidence))
        return Taught(evidence, learned, verdict, teach(evidence, learned, verdict))

    return draw_lesson()


def draw_record(draw):
    count = draw(st.floats(0, 50))
    sums = {"count": count, "total": count * draw(st.floats(0, 1)), "loss": draw(st.floats(0, 30))}
    return {**sums, "gradient": draw(st.floats(-3, 3))}


def verdicts(evidence):
    """Return the strategy of any verdict on the task, None for what it thinks of itself."""
    right = st.lists(st.booleans(), min_size=evidence.answers, max_size=evidence.answers)
    unknown = [UNKNOWN] if evidence.answers > 1 else []
    return st.one_of(st.sampled_from([None, *unknown]), right.map(lambda row: Verdict(tuple(row))))


@given(st.data())
def test_every_payoff_is_within_its_task(lessons, data):
    lesson = data.draw(lessons)
    for part in [*lesson.of_kind("agent").values(), *lesson.of_kind("principal").values()]:
        assert -ROUNDING <= part.payoff <= part.count + ROUNDING
        assert part.count in {0.0, 1.0}
    assert all(-ROUNDING <= loss <= 1 + ROUNDING for loss in lesson.lost.values())


@given(st.data())
def test_failed_calls_are_counted_and_pay_nothing(lessons, data):
    lesson = data.draw(lessons)
    agents = lesson.of_kind("agent")
    for arm, failed, first in zip(lesson.evidence.arms, lesson.evidence.failed, lesson.evidence.first, strict=True):
        assert (agents[arm].failures if arm in agents else 0) == failed
        if failed and not any(first):
            assert (agents[arm].payoff, agents[arm].count) == (0.0, 0.0), "an error is no wrong answer"


@given(st.data())
def test_who_gave_an_answer_is_paid_for_one_task(lessons, data):
    lesson = data.draw(lessons)
    agents = lesson.of_kind("agent")
    for arm, first in zip(lesson.evidence.arms, lesson.evidence.first, strict=True):
        if any(first):
            assert agents[arm].count == 1.0


@given(st.data())
def test_nobody_loses_more_than_a_task_and_who_was_not_paid_loses_what_the_others_lost(lessons, data):
    lesson = data.draw(lessons)
    agents, losses = lesson.of_kind("agent"), lesson.lost
    assert all(-ROUNDING <= loss <= 1 + ROUNDING for loss in losses.values())
    paid = [losses[arm] for arm, part in agents.items() if part.count]
    for arm, part in agents.items():
        if not part.count and paid:
            assert min(paid) - ROUNDING <= losses[arm] <= max(paid) + ROUNDING


@given(st.data())
def test_sure_arms_lose_what_they_were_not_paid(lessons, data):
    lesson = data.draw(lessons)
    for arm, part in lesson.of_kind("agent").items():
        if part.count:
            assert lesson.lost[arm] == pytest.approx(1 - part.payoff, abs=ROUNDING)


@given(st.data())
def test_learners_learn_only_where_a_right_answer_is_known(lessons, data):
    lesson = data.draw(lessons)
    learners = lesson.of_kind("learner")
    assert learners[DELEGATION].count == 1.0, "somebody gave an answer"
    moved = {arm: part.gradient for arm, part in lesson.of_kind("agent").items() if part.gradient}
    played = bool(lesson.evidence.players)
    if not (lesson.is_right_answer_known and played):
        assert (set(learners), moved) == ({DELEGATION}, {})
        return
    assert {name: learners[name].count for name in LEARNERS} == dict.fromkeys(LEARNERS, 1.0)
    assert all(0 <= learners[name].loss <= MOST_LOG_LOSS + ROUNDING for name in LEARNERS)
    assert set(moved) <= {lesson.evidence.arms[player] for player in lesson.evidence.players}


@given(st.data())
def test_dealing_loses_between_the_best_and_the_worst_of_those_paid(lessons, data):
    lesson = data.draw(lessons)
    losses = [1 - part.payoff for part in lesson.of_kind("agent").values() if part.count]
    dealt = lesson.of_kind("learner")[DELEGATION].loss
    assert min(losses) - ROUNDING <= dealt <= max(losses) + ROUNDING


@given(st.data())
def test_principals_are_paid_only_where_they_judged(lessons, data):
    lesson = data.draw(lessons)
    judged = lesson.evidence.agreed if lesson.verdict is None else lesson.evidence.judges
    assert set(lesson.of_kind("principal")) <= set(judged)
    assert {part.made_of for part in lesson.of_kind("principal").values()} <= {"p"}


@given(st.data())
def test_there_is_one_increment_an_arm_in_the_order_of_names(lessons, data):
    keys = [part.key for part in data.draw(lessons).increments]
    assert keys == sorted(set(keys))


@given(st.data())
def test_what_is_known_after_is_what_was_known_and_the_increments(lessons, data):
    lesson = data.draw(lessons)
    kept = data.draw(st.floats(0.1, 1))
    grown, agents = after(lesson.learned, lesson.increments, kept), lesson.of_kind("agent")
    for arm, before in lesson.learned["arms"].items():
        added = agents.get(arm, Increment(arm, "agent", payoff=0.0, count=0.0))
        assert grown["arms"][arm]["count"] == pytest.approx(before["count"] * kept + added.count)
        assert grown["arms"][arm]["total"] == pytest.approx(before["total"] * kept + added.payoff)
        assert grown["arms"][arm]["gradient"] == pytest.approx(before["gradient"] * kept + added.gradient)
        assert grown["arms"][arm]["loss"] == pytest.approx(before["loss"] * kept + added.loss)


@given(st.data())
def test_what_is_taken_back_leaves_what_was_known(lessons, data):
    lesson = data.draw(lessons)
    back = [part.scaled(-1) for part in lesson.increments]
    again = after(after(lesson.learned, lesson.increments), back)
    for arm, before in lesson.learned["arms"].items():
        assert again["arms"][arm] == {name: pytest.approx(value, abs=ROUNDING) for name, value in before.items()}


def test_the_gradient_moves_towards_those_who_were_right(evidence_of, learned_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0]])
    parts = {part.arm: part for part in teach(evidence, learned_of(evidence.arms), Verdict((False, True)))}
    assert parts["b/direct"].gradient > 0 > parts["a/direct"].gradient
    assert parts["b/direct"].gradient == pytest.approx(-parts["a/direct"].gradient), "they differ in nothing else"


def test_all_learners_start_with_the_same_loss_where_arms_are_alike(evidence_of, learned_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0]])
    parts = {part.arm: part for part in teach(evidence, learned_of(evidence.arms), Verdict((True, False)))}
    assert [parts[name].loss for name in LEARNERS] == pytest.approx([math.log(2)] * len(LEARNERS), rel=1e-3)


def test_an_arm_that_was_asked_by_chance_loses_more_when_it_was_and_nothing_when_not(evidence_of, learned_of):
    """Chances of 1/2 at task 1 of three arms: 1 - payoff over 1/2 + sqrt(ln 3 / 3) / 2."""
    evidence = evidence_of(
        [[1, 0, 0], [0, 1, 0], [0, 0, 0]], posterior=(0.8, 0.2), chances=(1.0, 0.5, 0.5), asked=(1, 1, 0)
    )
    losses = {part.arm[0]: part.loss for part in teach(evidence, learned_of(evidence.arms)) if part.kind == "agent"}
    assert losses == {"a": pytest.approx(0.2), "b": pytest.approx(0.8 / (0.5 + math.sqrt(math.log(3) / 3) / 2))}


def test_a_failed_arm_loses_the_mean_of_the_others_by_their_shares(evidence_of, learned_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0], [0, 0, 0]], posterior=(0.9, 0.1), failed=(0, 0, 2), asked=(1, 1, 2))
    learned = learned_of(evidence.arms, b={"loss": 3.0})
    shares = share_samples(learned)
    mean = (shares["a/direct"] * 0.1 + shares["b/direct"] * 0.9) / (shares["a/direct"] + shares["b/direct"])
    parts = {part.arm: part for part in teach(evidence, learned)}
    assert parts["c/direct"].loss == pytest.approx(mean)
    assert parts[DELEGATION].loss == pytest.approx(mean), "and so does dealing the samples by the shares"


def test_played_again_with_what_was_known_the_task_decides_as_it_did(evidence_of, learned_of):
    evidence = evidence_of([[2, 0, 0], [0, 1, 0]], preference=((0.5, 0.0), (1.0, 0.5)), tiers=((1,), (0,)))
    learned = learned_of(evidence.arms)
    played = play_again(evidence, learned)
    firmer = play_again(replace(evidence, rules=replace(evidence.rules, anchor=5.0)), learned)
    assert played.posterior[1] > firmer.posterior[1], "the principal, who prefers the second, has less to say"
    trusting = play_again(evidence, learned_of(evidence.arms, b={"total": 30.0, "count": 30.0}))
    assert trusting.posterior[1] > played.posterior[1], "its only vote has earned more"


def test_places_are_those_of_the_tiers_and_none_for_what_was_left_out():
    assert place_of([[2], [0, 3]], 5) == pytest.approx([1, math.nan, 0, 1, math.nan], nan_ok=True)


def test_increments_of_one_arm_add_up_and_nothings_are_left_out():
    parts = [
        Increment("b", "agent", payoff=0.5, count=1, failures=1, made_of="m", gradient=0.25, loss=0.5),
        Increment("a", "agent", payoff=0.0, count=0),
        Increment("b", "agent", payoff=0.25, count=1, failures=2, made_of="m", gradient=-1.0, loss=0.75),
        Increment("b", "agent", payoff=1.0, made_of="other"),
    ]
    assert add_up(parts) == [
        Increment("b", "agent", payoff=0.75, count=2, failures=3, made_of="m", gradient=-0.75, loss=1.25),
        Increment("b", "agent", payoff=1.0, made_of="other"),
    ]
    assert add_up([parts[3], parts[3].scaled(-1)]) == []
