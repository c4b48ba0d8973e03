"""What earlier tasks taught, as a task reads it when it begins: of each arm, of the principals, of the learners."""

from collections.abc import Iterable, Mapping
from typing import Final

from aligngraph.persistence import Sums
from aligngraph.policy import (
    LEARNERS,
    Learners,
    PrincipalRecord,
    competence,
    principal_trust,
    sample_shares,
    trust,
    weight,
)
from aligngraph.policy import earned_anchor as anchor_of_record
from aligngraph.roles import PRINCIPAL
from aligngraph.state import ArmRecord, LearnedState, LearnerRecord

DELEGATION: Final = "delegation"
"""The learner that deals out the samples: its count is the tasks that arms were paid for."""

UNSEEN = ArmRecord(
    made_of="", total=0.0, count=0.0, other_total=0.0, other_count=0.0, other_loss=0.0, gradient=0.0, loss=0.0
)


def read_learned(sums: Sums, arms: Mapping[str, str], principals: Mapping[str, str]) -> LearnedState:
    """Return what the sums say of these arms and principals, by name, each with the digest of what it is made of."""
    learners = {name: sums.find(name, "") for name in (*LEARNERS, DELEGATION)}
    return LearnedState(
        arms={arm: _record(sums, arm, made_of) for arm, made_of in arms.items()},
        principals={arm: _record(sums, arm, made_of) for arm, made_of in principals.items()},
        learners={name: LearnerRecord(count=known.count, loss=known.loss) for name, known in learners.items()},
    )


def read_competence(learned: LearnedState, arms: Iterable[str]) -> list[float]:
    """Return the competence of each arm, in (0, 1)."""
    return _competence([learned["arms"].get(arm, UNSEEN) for arm in arms])


def known_tasks(learned: LearnedState, arms: Iterable[str]) -> list[float]:
    """Return how many tasks of the domain the competence of each arm rests on."""
    return [learned["arms"].get(arm, UNSEEN)["count"] for arm in arms]


def read_learners(learned: LearnedState, arms: Iterable[str], *, team_samples: int) -> Learners:
    """Return what the learners know of these arms, the players of a game."""
    names, shares = list(arms), share_samples(learned)
    return Learners(
        competence=read_competence(learned, names),
        gradient=[learned["arms"].get(arm, UNSEEN)["gradient"] for arm in names],
        shares=[shares.get(arm, 1.0 / max(1, len(names))) for arm in names],
        team_samples=team_samples,
        losses=[learned["learners"][name]["loss"] for name in LEARNERS],
        fed_back=max(0.0, learned["learners"][LEARNERS[0]]["count"]),
    )


def judge_trust(learned: LearnedState, arm: str, *, answers: int) -> float:
    """Return how much a judge's word weighs in a panel over this many answers, in nats, > 0; all start alike."""
    (mean,) = _competence([learned["principals"].get(arm, UNSEEN)])
    return trust(mean, answers)


def weigh_arms(learned: LearnedState, *, answers: int) -> dict[str, float]:
    """Return the weight of each arm's vote in a task with this many answers."""
    names = list(learned["arms"])
    return dict(zip(names, weight(read_competence(learned, names), answers).tolist(), strict=True))


def share_samples(learned: LearnedState) -> dict[str, float]:
    """Return the share of the samples that each arm has earned, on the simplex."""
    names = list(learned["arms"])
    if not names:
        return {}
    losses = [learned["arms"][arm]["loss"] + missed_loss(learned, arm) for arm in names]
    return dict(zip(names, sample_shares(losses, learned["learners"][DELEGATION]["count"]).tolist(), strict=True))


def trust_principal(learned: LearnedState) -> float:
    """Return what the principal's word weighs in one duel of two answers, in nats, >= 0; of an unknown one nothing."""
    return principal_trust(*_principal_records(learned))


def missed_loss(learned: LearnedState, arm: str) -> float:
    """Return what an arm that is new is taken to have lost before it came: as much as dealing by the shares did.

    With nothing lost it would be dealt nearly all samples, however little is known of it. [Freund1997]
    """
    record = learned["arms"].get(arm, UNSEEN)
    is_new = record["count"] == 0 and record["loss"] == 0
    return learned["learners"][DELEGATION]["loss"] if is_new else 0.0


def earned_anchor(learned: LearnedState, arms: Iterable[str], answers: int) -> float:
    """Return the anchor of a game of these arms: the less the principal proved right next to them, the firmer it holds."""
    record, borrowed = _principal_records(learned)
    return anchor_of_record(record, weight(read_competence(learned, arms), answers), answers, borrowed)


def _principal_records(learned: LearnedState) -> tuple[PrincipalRecord, PrincipalRecord]:
    """Return the principal's record in this domain and in all others."""
    own = learned["principals"].get(PRINCIPAL, UNSEEN)
    here = PrincipalRecord(own["total"], own["count"], max(0.0, own["count"] - own["loss"]))
    lent = max(0.0, own["other_count"] - own["other_loss"])
    return here, PrincipalRecord(own["other_total"], own["other_count"], lent)


def _competence(records: list[ArmRecord]) -> list[float]:
    total, count, other_total, other_count = (
        [record[name] for record in records] for name in ("total", "count", "other_total", "other_count")
    )
    means: list[float] = competence(total, count, other_total, other_count).tolist()
    return means


def _record(sums: Sums, arm: str, made_of: str) -> ArmRecord:
    here, elsewhere = sums.find(arm, made_of), sums.lent(arm, made_of)
    return ArmRecord(
        made_of=made_of,
        total=here.total,
        count=here.count,
        other_total=elsewhere.total,
        other_count=elsewhere.count,
        other_loss=elsewhere.loss,
        gradient=here.gradient,
        loss=here.loss,
    )
