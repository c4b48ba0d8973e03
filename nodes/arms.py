"""Arms: what earlier tasks taught about each, and its weight."""

from collections.abc import Iterable

from aligngraph.persistence import ArmSums, Sums
from aligngraph.policy import competence, principal_anchor, trust, weight
from aligngraph.state import ArmRecord, LearnedState
from aligngraph.team import Team

PRINCIPAL = "principal"
_NOTHING = ArmSums(kind="agent", total=0.0, count=0.0, failures=0)
UNSEEN = ArmRecord(total=0.0, count=0.0, other_total=0.0, other_count=0.0)


def read_learned(sums: Sums, team: Team) -> LearnedState:
    """Return the sums of every arm of the team and of its principals, and what other domains lend them."""
    judges = [judge.arm for judge in team.principal.judges]
    arms = [f"{agent.name}/{strategy.name}" for agent in team.agents for strategy in agent.strategies]
    return learned_of(sums, arms, judges)


def learned_of(sums: Sums, arms: Iterable[str], judges: Iterable[str] = ()) -> LearnedState:
    """Return the sums of these arms, of the principal as a whole and of its judges, and what other domains lend."""
    return LearnedState(
        arms={arm: _record(sums, arm) for arm in arms},
        principals={arm: _record(sums, arm) for arm in (PRINCIPAL, *judges)},
    )


def read_competence(learned: LearnedState, arms: Iterable[str]) -> list[float]:
    """Return the competence of each arm, in (0, 1)."""
    return _competence([learned["arms"].get(arm, UNSEEN) for arm in arms])


def known_tasks(learned: LearnedState, arms: Iterable[str]) -> list[float]:
    """Return how many tasks of the domain the competence of each arm rests on."""
    return [learned["arms"].get(arm, UNSEEN)["count"] for arm in arms]


def judge_trust(learned: LearnedState, arm: str, *, answers: int) -> float:
    """Return how much a judge's word weighs in a panel over this many answers, in nats, > 0; all start alike."""
    (mean,) = _competence([learned["principals"].get(arm, UNSEEN)])
    return trust(mean, answers)


def _competence(records: list[ArmRecord]) -> list[float]:
    total, count, other_total, other_count = (
        [record[name] for record in records] for name in ("total", "count", "other_total", "other_count")
    )
    means: list[float] = competence(total, count, other_total, other_count).tolist()
    return means


def weigh_arms(learned: LearnedState, *, answers: int) -> dict[str, float]:
    """Return the weight of each arm's vote in a task with this many answers."""
    names = list(learned["arms"])
    return dict(zip(names, weight(read_competence(learned, names), answers).tolist(), strict=True))


def earned_anchor(learned: LearnedState, answers: int) -> float:
    """Return the anchor of a game over this many answers: the less the principal proved right, the firmer it holds."""
    record = learned["principals"][PRINCIPAL]
    return principal_anchor(record["total"], record["count"], answers, record["other_total"], record["other_count"])


def add_payoffs(learned: LearnedState, payoffs: dict[str, float]) -> LearnedState:
    """Return what is known once each of these arms has been paid for one more task."""
    arms = {arm: _pay(record, payoffs[arm]) if arm in payoffs else record for arm, record in learned["arms"].items()}
    return LearnedState(arms=arms, principals=learned["principals"])


def _pay(record: ArmRecord, payoff: float) -> ArmRecord:
    return ArmRecord(**{**record, "total": record["total"] + payoff, "count": record["count"] + 1})


def _record(sums: Sums, arm: str) -> ArmRecord:
    here, elsewhere = sums.here.get(arm, _NOTHING), sums.elsewhere.get(arm, _NOTHING)
    return ArmRecord(total=here.total, count=here.count, other_total=elsewhere.total, other_count=elsewhere.count)
