"""What learning changes in the policy store, and what lasts of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from aligngraph.persistence.records import Run, utc_now

ArmKind = Literal["agent", "principal", "learner"]
UpdateKind = Literal["task", "feedback", "import", "reset", "rollback", "learn", "quarantine"]


@dataclass(frozen=True, order=True)
class ArmKey:
    """Whose sums they are, within a domain.

    Attributes:
        arm: its name: `agent/strategy`, `principal`, `principal/...`, or a learner's.
        made_of: digest of what the arm is made of; "" where nobody noted it, which counts for whoever bears the name.
    """

    arm: str
    made_of: str = ""


@dataclass(frozen=True)
class Increment:
    """What one update adds to the sums of one arm; negative where feedback takes back a self-assessment.

    Attributes:
        arm: its name.
        kind: who it belongs to.
        payoff: added to the total, in [0, 1] per counted task.
        count: counted tasks.
        failures: calls that failed, counted apart.
        made_of: as in `ArmKey`.
        gradient: added to the dual coordinate of exponentiated gradient.
        loss: added to the cumulative loss: of an agent in delegation, of a learner its log loss in nats.

    Raises:
        ValueError: a number is not finite.
    """

    arm: str
    kind: ArmKind
    payoff: float
    count: float = 1.0
    failures: int = 0
    made_of: str = ""
    gradient: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.payoff, self.count, self.gradient, self.loss))):
            raise ValueError(f"{self!r} is not finite: nothing could ever be learned from its sum")

    @property
    def key(self) -> ArmKey:
        """Whose sums grow."""
        return ArmKey(self.arm, self.made_of)

    @property
    def sums(self) -> "ArmSums":
        """The sums that it makes of nothing."""
        return ArmSums(self.kind, self.payoff, self.count, self.failures, self.gradient, self.loss)

    def __add__(self, other: "Increment") -> "Increment":
        return (self.sums + other.sums).as_increment(self.key)

    def scaled(self, factor: float) -> "Increment":
        """Return it times `factor`, -1 to take it back; failures, which are never forgotten nor taken back, are left out."""
        return replace(
            self,
            failures=0,
            payoff=self.payoff * factor,
            count=self.count * factor,
            gradient=self.gradient * factor,
            loss=self.loss * factor,
        )


@dataclass(frozen=True)
class Update:
    """One row of the log, identified by (run_id, round): sums of `cleared` arms go, all shrink by `decay`, increments come.

    Attributes:
        run_id: the run, or the name of another event.
        round: 1 for what the run teaches by itself, whatever its rounds; feedback that corrects it takes another number.
        domain: whose sums change.
        increments: one per arm.
        result: what the caller wants back when it asks for the same update again, plain JSON.
        at: UTC, ISO 8601.
        kind: what changed the sums.
        decay: in (0, 1], what is left of every sum of the domain but failures, which are counted and never forgotten.
        cleared: arms that start again from nothing.
        sequence: its place in the log of the domain, 1, 2, ...; None until it is stored.

    Raises:
        ValueError: the decay is not in (0, 1].
    """

    run_id: str
    round: int
    domain: str
    increments: tuple[Increment, ...]
    result: Mapping[str, Any] = field(default_factory=dict)
    at: str = field(default_factory=utc_now)
    kind: UpdateKind = "task"
    decay: float = 1.0
    cleared: tuple[ArmKey, ...] = ()
    sequence: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay {self.decay!r}: a number above 0, up to 1, which forgets nothing")


@dataclass(frozen=True)
class ArmSums:
    """All that is kept of an arm: 0 <= total <= count, failures >= 0, loss >= 0.

    Attributes:
        kind: who it belongs to.
        total: payoffs.
        count: tasks.
        failures: failed calls.
        gradient: dual coordinate of exponentiated gradient.
        loss: cumulative loss; of a principal, what its tasks lacked in clarity, in [0, 1] a task.
        changed_at: last increment, UTC, ISO 8601; None if it is not known. It takes no part in comparisons.
    """

    kind: ArmKind
    total: float = 0.0
    count: float = 0.0
    failures: int = 0
    gradient: float = 0.0
    loss: float = 0.0
    changed_at: str | None = field(default=None, compare=False)

    def __add__(self, other: "ArmSums") -> "ArmSums":
        return ArmSums(
            kind=self.kind,
            total=self.total + other.total,
            count=self.count + other.count,
            failures=self.failures + other.failures,
            gradient=self.gradient + other.gradient,
            loss=self.loss + other.loss,
            changed_at=max(filter(None, (self.changed_at, other.changed_at)), default=None),
        )

    def as_increment(self, key: ArmKey) -> Increment:
        """Return the increment that makes these sums of nothing."""
        return Increment(
            key.arm, self.kind, self.total, self.count, self.failures, key.made_of, self.gradient, self.loss
        )


NOTHING = ArmSums("agent")
Arms = Mapping[ArmKey, ArmSums]


@dataclass(frozen=True)
class Sums:
    """The sums of a domain, and of all others together.

    Attributes:
        here: of the domain asked for.
        elsewhere: added up over every other domain; arms unknown here are in it too.
        quarantined: one line for each stored row that made no sense: it was set aside when these sums were read.
    """

    here: Arms
    elsewhere: Arms
    quarantined: tuple[str, ...] = ()

    def find(self, arm: str, made_of: str = "") -> ArmSums:
        """Return the arm's sums in the domain, zeros if there are none; what nobody noted the making of counts for all."""
        return _find(self.here, arm, made_of)

    def lent(self, arm: str, made_of: str = "") -> ArmSums:
        """Return the arm's sums over all other domains, zeros if there are none, as `find` does."""
        return _find(self.elsewhere, arm, made_of)


def _find(arms: Arms, arm: str, made_of: str) -> ArmSums:
    known = [arms[key] for key in {ArmKey(arm, made_of), ArmKey(arm)} if key in arms]
    return sum(known[1:], known[0]) if known else NOTHING


@dataclass(frozen=True)
class AppliedUpdate:
    """What became of an update.

    Attributes:
        applied: False if (run_id, round) was applied before; then nothing was changed.
        result: of the update that was applied first.
    """

    applied: bool
    result: Mapping[str, Any]


@dataclass(frozen=True)
class DomainState:
    """The sums of a domain at one place of its log.

    Attributes:
        domain: the kind of task.
        sequence: of the last update, 0 if there was none.
        arms: all its sums.
    """

    domain: str
    sequence: int
    arms: Arms


@dataclass(frozen=True)
class Counted:
    """An update and what is left of it in the sums.

    Attributes:
        update: as it was stored.
        age: product of the decays since, 1 if nothing was forgotten.
        left: its increments as they still count, without failures, shrunk by age; those of arms cleared since, or undone, are
            not in it.
    """

    update: Update
    age: float
    left: tuple[Increment, ...]


@dataclass(frozen=True)
class RunRecord:
    """All that a correction of a run's updates may need, read in one transaction.

    Attributes:
        run: with its evidence.
        updates: of the run, by round.
        sums: of its domain and all others.
        next_round: the number that one more update takes.
    """

    run: Run
    updates: tuple[Counted, ...]
    sums: Sums
    next_round: int


@dataclass(frozen=True)
class Learned:
    """A run that can be learned from again.

    Attributes:
        run_id: the run.
        sequence: of its first update: such records come in this order.
        at: time of its first update, UTC, ISO 8601.
        evidence: plain JSON.
        updates: of the run, by round, with what is left of each in the sums.
    """

    run_id: str
    sequence: int
    at: str
    evidence: Mapping[str, Any]
    updates: tuple[Counted, ...]

    @property
    def counts(self) -> bool:
        """Whether anything of it is in the sums: no reset, rollback or import came since."""
        return any(one.left for one in self.updates)


@dataclass(frozen=True)
class DomainSummary:
    """What a domain has learned.

    Attributes:
        domain: the kind of task.
        tasks: distinct runs that taught it something.
        changed_at: last update, UTC, ISO 8601; None if it never had one.
        arms: their sums.
        quarantined: one line for each row that made no sense, ever.
    """

    domain: str
    tasks: int
    changed_at: str | None
    arms: Arms
    quarantined: tuple[str, ...] = ()
