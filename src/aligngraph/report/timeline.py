"""What a domain learned, task by task: its log followed from the beginning, and the series that a report shows of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from aligngraph.learning.evidence import Evidence
from aligngraph.learning.feedback import verdict_of
from aligngraph.learning.teaching import Verdict
from aligngraph.persistence import ArmKey, ArmSums, Sums, Update, advance
from aligngraph.policy import (
    LEARNER_PRIOR,
    LEARNERS,
    PrincipalRecord,
    competence,
    competence_interval,
    mixture_shares,
    principal_trust,
    right_target,
    weight,
)
from aligngraph.policy.checks import FloatArray

PRINCIPAL: Final = "principal"
WINDOW: Final = 20  # tasks over which the share of the samples is a moving mean
TWO_ANSWERS: Final = 2


@dataclass(frozen=True)
class Point:
    """One task, and the sums as they stood before the next one: what came in between is in them.

    Attributes:
        number: 1, 2, ... among the tasks of the log.
        run_id: whose task it was.
        evidence: of it; None where none was kept.
        sums: of the domain, whatever of it was learned, forgotten or corrected up to then.
        verdict: what feedback said of it last, None without any.
    """

    number: int
    run_id: str
    evidence: Evidence | None
    sums: Sums
    verdict: Verdict | None = None

    @property
    def target(self) -> FloatArray | None:
        """`[K]`, spread evenly over the answers that are right; None where no answer is known to be."""
        if self.verdict is None or self.verdict.right is None or not any(self.verdict.right):
            return None
        return right_target(self.verdict.right)


@dataclass(frozen=True)
class Timeline:
    """The tasks of a domain in the order of its log.

    Attributes:
        points: one for each task.
        events: what else changed the sums but feedback, with the number of the task that it followed.
        corrected: how many updates were feedback.
    """

    points: tuple[Point, ...] = ()
    events: tuple[tuple[float, str], ...] = ()
    corrected: int = 0


def follow(updates: Iterable[Update], evidence: Mapping[str, Evidence]) -> Timeline:
    """Return the timeline of a log.

    Args:
        updates: of one domain, in the order of their sequence.
        evidence: by run.
    """
    course = _Course()
    for update in updates:
        course.add(update)
    points = (
        replace(point, evidence=evidence.get(point.run_id), verdict=course.verdicts.get(point.run_id))
        for point in course.points
    )
    return Timeline(tuple(points), tuple(course.events), course.corrected)


@dataclass
class _Course:
    """The log as far as it was followed."""

    arms: dict[ArmKey, ArmSums] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    corrected: int = 0
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def add(self, update: Update) -> None:
        self.arms = dict(self.arms)  # earlier points keep theirs
        advance(self.arms, update)
        sums = Sums(here=self.arms, elsewhere={})
        if update.kind == "task":
            self.points.append(Point(len(self.points) + 1, update.run_id, None, sums))
            return
        if self.points:
            self.points[-1] = replace(self.points[-1], sums=sums)
        if update.kind == "feedback":
            self.corrected += 1
            self.verdicts[update.run_id] = verdict_of(update)
        elif (event := (float(len(self.points)), update.kind)) not in self.events:
            self.events.append(event)


@dataclass(frozen=True, eq=False)
class ArmSeries:
    """What is known of one arm after each task, `[T]` each.

    Attributes:
        tasks: that its competence rests on, after forgetting.
        mean: competence.
        low: lower end of its 90 % interval.
        high: upper end.
        weight: of a sample in a task with two answers, in nats.
    """

    tasks: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    weight: FloatArray


def arms_of(points: Sequence[Point]) -> list[str]:
    """Return the arms that took part or are known, as first seen."""
    seen: dict[str, None] = {}
    for point in points:
        seen.update(dict.fromkeys(point.evidence.arms if point.evidence else ()))
    known = points[-1].sums.here if points else {}
    seen.update(dict.fromkeys(key.arm for key, sums in sorted(known.items()) if sums.kind == "agent"))
    return list(seen)


def follow_arm(points: Sequence[Point], arm: str) -> ArmSeries:
    """Return the arm's series; what other domains lend it is left out."""
    made_of, known = "", []
    for point in points:
        made_of = _made_of(point, arm, made_of)
        known.append(point.sums.find(arm, made_of))
    count = np.array([max(0.0, sums.count) for sums in known])
    total = np.clip([sums.total for sums in known], 0.0, count)
    mean, reach = competence(total, count), competence_interval(total, count)
    return ArmSeries(count, mean, reach.low, reach.high, weight(mean, TWO_ANSWERS))


def _made_of(point: Point, arm: str, before: str) -> str:
    """Return the digest of what the arm is made of since this task, or as it was before."""
    if point.evidence is None or arm not in point.evidence.arms:
        return before
    return point.evidence.made_of[point.evidence.arms.index(arm)]


def sample_share(points: Sequence[Point], arm: str) -> FloatArray:
    """Return the arm's share of the samples drawn in the last 20 tasks, `[T]`; NaN where none is known of."""
    asked = np.array([_asked(point, arm) for point in points])
    drawn = np.array([float(sum(point.evidence.asked)) if point.evidence else 0.0 for point in points])
    own, all_samples = _windowed(asked), _windowed(drawn)
    share: FloatArray = np.divide(own, all_samples, where=all_samples > 0, out=np.full(len(own), np.nan))
    return share


def _asked(point: Point, arm: str) -> float:
    evidence = point.evidence
    return float(evidence.asked[evidence.arms.index(arm)]) if evidence and arm in evidence.arms else 0.0


def _windowed(values: FloatArray) -> FloatArray:
    sums = np.cumsum(values)
    sums[WINDOW:] -= sums[:-WINDOW].copy()
    return sums


@dataclass(frozen=True, eq=False)
class PrincipalSeries:
    """What is known of the principal after each task, `[T]` each.

    Attributes:
        tasks: in which it made a choice.
        mean: share of its duels that the right answer won, as far as is known; NaN before the first.
        trust: what its word weighs in one duel, in nats.
        anchor: with which the task's game was played; NaN where none was: it takes two answers.
    """

    tasks: FloatArray
    mean: FloatArray
    trust: FloatArray
    anchor: FloatArray


def follow_principal(points: Sequence[Point]) -> PrincipalSeries:
    """Return the principal's series."""
    made_of, known = "", []
    for point in points:
        made_of = point.evidence.principals.get(PRINCIPAL, made_of) if point.evidence else made_of
        known.append(point.sums.find(PRINCIPAL, made_of))
    count = np.array([max(0.0, sums.count) for sums in known])
    total = np.clip([sums.total for sums in known], 0.0, count)
    clarity = np.clip(count - [sums.loss for sums in known], 0.0, count)
    mean = np.divide(total, count, where=count > 0, out=np.full(len(count), np.nan))
    trusted = np.array([principal_trust(PrincipalRecord(*sums)) for sums in zip(total, count, clarity, strict=True)])
    return PrincipalSeries(count, mean, trusted, np.array([_anchor(point.evidence) for point in points]))


def _anchor(evidence: Evidence | None) -> float:
    return evidence.rules.anchor if evidence is not None and evidence.answers > 1 else np.nan


def learner_shares(points: Sequence[Point]) -> FloatArray:
    """Return what each learner has in the decision after each task, `[T, L]` in the order of `LEARNERS`."""
    rows = []
    for point in points:
        known = [point.sums.find(name) for name in LEARNERS]
        untaught = known[0].count <= 0  # without feedback competence decides alone
        rows.append(
            np.eye(len(LEARNERS))[0] if untaught else mixture_shares([sums.loss for sums in known], LEARNER_PRIOR)
        )
    return np.array(rows)
