"""What a task teaches: payoffs, from the posterior or from feedback, and the increments of all sums that follow."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aligngraph.learning.evidence import Evidence, Judged
from aligngraph.learning.known import DELEGATION, missed_loss, read_competence, read_learners, share_samples
from aligngraph.persistence import ArmKey, Increment
from aligngraph.policy import (
    LEARNERS,
    GameRules,
    RoundOutcome,
    belief_after_wrong,
    delegation_losses,
    fed_back_payoffs,
    gradient_increment,
    gradient_weights,
    log_loss,
    open_posterior,
    play_round,
    posterior_clarity,
    principal_payoff,
    right_target,
    self_assessed_payoff,
    stopped_payoffs,
    vote_shares,
)
from aligngraph.roles import PRINCIPAL
from aligngraph.state import ArmRecord, LearnedState, LearnerRecord

Right = tuple[bool, ...]


@dataclass(frozen=True)
class Verdict:
    """What feedback says of a task.

    Attributes:
        right: of each answer, whether it is right; None where all that is known is that the chosen one is wrong.
    """

    right: Right | None


@dataclass(frozen=True)
class Lesson:
    """What the arms and principals of one task are paid, by name; who is not in it is paid nothing."""

    payoffs: Mapping[str, float]
    agreed: Mapping[str, Judged]


def play_again(evidence: Evidence, learned: LearnedState) -> RoundOutcome:
    """Return the outcome of the task's last round as it would be with what is `learned`, its anchor the same.

    Raises:
        ValueError: the task had no answer.
    """
    rules = evidence.rules
    votes = [evidence.counts[player] for player in evidence.players]
    return play_round(
        votes,
        evidence.preference or [[0.5] * evidence.answers] * evidence.answers,
        read_learners(learned, [evidence.arms[player] for player in evidence.players], team_samples=evidence.planned),
        GameRules(rules.step_size, rules.anchor, rules.smoothing, rules.max_steps),
        principal_order=place_of(evidence.tiers, evidence.answers) if evidence.tiers else None,
    )


def place_of(tiers: Iterable[Iterable[int]], answers: int) -> list[float]:
    """Return the principal's place of each answer by its number; NaN for one that it left out."""
    places = {number: float(place) for place, tier in enumerate(tiers) for number in tier}
    return [places.get(number, math.nan) for number in range(answers)]


def assess_itself(evidence: Evidence, learned: LearnedState) -> Lesson:
    """Return what a task pays without feedback: the posterior at the first votes, cast before anyone knew a ranking."""
    if evidence.chosen is None:
        return Lesson({}, {})
    if evidence.stopped:
        return Lesson(_pay_stopped(evidence, learned), evidence.agreed)
    voted = [arm for arm, row in enumerate(evidence.first) if any(row)]
    shares = vote_shares([evidence.first[arm] for arm in voted])
    paid = self_assessed_payoff(shares, [*evidence.posterior, 0.0]).tolist()
    return Lesson({evidence.arms[arm]: payoff for arm, payoff in zip(voted, paid, strict=True)}, evidence.agreed)


def assess_by(verdict: Verdict, evidence: Evidence, learned: LearnedState) -> Lesson:
    """Return what a task pays with feedback: an arm the share of its first votes that were right, as far as is known.

    The principal is paid the share of its duels that the right answer wins, a judge of a panel for what it likes best.
    """
    if evidence.chosen is None:
        return Lesson({}, {})
    belief = _belief(verdict, evidence, evidence.chosen, learned)
    paid = fed_back_payoffs(evidence.first, belief).tolist()
    judged = judge_by(belief, evidence.judges, evidence.preference) if any(belief) else {}
    payoffs = {arm: payoff for arm, payoff in zip(evidence.arms, paid, strict=True) if not math.isnan(payoff)}
    return Lesson(payoffs, judged)


def judge_by(
    belief: Sequence[float], judges: Mapping[str, Sequence[int]], preference: Sequence[Sequence[float]] | None
) -> dict[str, Judged]:
    """Return what the principal earns by its duels, and each judge of a panel by its first choice, by arm.

    Args:
        belief: how likely each answer is to be right, `[K]` in [0, 1], not all 0.
        judges: by arm, the answers that it likes best.
        preference: of the principal, `[K][K]`; None where it was not asked.
    """
    judged = {arm: Judged(sum(belief[number] for number in first) / len(first)) for arm, first in judges.items()}
    if PRINCIPAL in judged and preference is not None:
        likely = [one / sum(belief) for one in belief]
        judged[PRINCIPAL] = Judged(principal_payoff(likely, preference), posterior_clarity(likely))
    return judged


def teach(evidence: Evidence, learned: LearnedState, verdict: Verdict | None = None) -> tuple[Increment, ...]:
    """Return what the task adds to the sums: with the verdict that feedback gave, else with what it thinks of itself."""
    lesson = assess_itself(evidence, learned) if verdict is None else assess_by(verdict, evidence, learned)
    agents = _agent_increments(evidence, learned, lesson)
    principals = [
        Increment(
            arm=arm,
            kind="principal",
            made_of=evidence.principals.get(arm, ""),
            payoff=judged.payoff,
            loss=1 - judged.clarity,
        )
        for arm, judged in lesson.agreed.items()
    ]
    dealt = _delegation_increment(learned, lesson)
    fed_back = _learners_increments(evidence, learned, verdict) if verdict is not None else []
    return tuple(add_up([*agents, *principals, *dealt, *fed_back]))


def after(learned: LearnedState, increments: Iterable[Increment], kept: float = 1.0) -> LearnedState:
    """Return what is known once these increments are added, and what was known before counts `kept` times as much."""
    parts = {(part.arm, part.made_of): part for part in add_up(increments)}
    return LearnedState(
        arms={
            arm: _grown(record, parts.get((arm, record["made_of"])), kept) for arm, record in learned["arms"].items()
        },
        principals={
            arm: _grown(record, parts.get((arm, record["made_of"])), kept)
            for arm, record in learned["principals"].items()
        },
        learners={
            name: LearnerRecord(
                count=record["count"] * kept + (part.count if (part := parts.get((name, ""))) else 0.0),
                loss=record["loss"] * kept + (part.loss if part else 0.0),
            )
            for name, record in learned["learners"].items()
        },
    )


def add_up(increments: Iterable[Increment]) -> list[Increment]:
    """Return one increment for each arm, in the order of their names; those that add nothing are left out."""
    sums: dict[ArmKey, Increment] = {}
    for part in increments:
        known = sums.get(part.key)
        sums[part.key] = part if known is None else known + part
    return [sums[key] for key in sorted(sums) if not _is_nothing(sums[key])]


def _grown(record: ArmRecord, part: Increment | None, kept: float) -> ArmRecord:
    added = part or Increment("", "agent", payoff=0.0, count=0.0)
    return ArmRecord(
        **{
            **record,
            "total": record["total"] * kept + added.payoff,
            "count": record["count"] * kept + added.count,
            "gradient": record["gradient"] * kept + added.gradient,
            "loss": record["loss"] * kept + added.loss,
        }
    )


def _belief(verdict: Verdict, evidence: Evidence, chosen: int, learned: LearnedState) -> list[float]:
    """Return how likely each answer is to be right, in [0, 1]."""
    if verdict.right is not None:
        return [float(one) for one in verdict.right]
    players = evidence.players
    means = read_competence(learned, [evidence.arms[player] for player in players])
    opened = open_posterior([evidence.counts[player] for player in players], means, evidence.rules.smoothing)
    left: list[float] = belief_after_wrong(opened, chosen).tolist()
    return left


def _pay_stopped(evidence: Evidence, learned: LearnedState) -> dict[str, float]:
    """Return what each arm earns in a task whose last samples were left out, those that were not asked included."""
    given_up = any(row[-1] for row in evidence.first)  # answers that later rounds dropped
    counts = evidence.first if given_up else [row[:-1] for row in evidence.first]
    means = read_competence(learned, evidence.arms)
    earned = stopped_payoffs(counts, evidence.asked, means, evidence.rules.smoothing).tolist()
    left_out = {
        arm
        for arm, asked, chance in zip(
            evidence.arms, evidence.asked, evidence.chances or (1.0,) * len(earned), strict=True
        )
        if not asked and chance < 1  # chance had not dealt it a sample, as far as can be told
    }
    paid = zip(evidence.arms, earned, strict=True)
    return {arm: payoff for arm, payoff in paid if not math.isnan(payoff) and arm not in left_out}


def _agent_increments(evidence: Evidence, learned: LearnedState, lesson: Lesson) -> list[Increment]:
    """Return one increment an arm that was paid or failed; a failed call is counted apart and never pays 0."""
    paid = lesson.payoffs
    shares = share_samples(learned)
    losses = delegation_losses(
        [paid.get(arm, math.nan) for arm in evidence.arms],
        [asked > 0 for asked in evidence.asked],
        evidence.chances or [1.0] * len(evidence.arms),
        _only([shares.get(arm, 0.0) for arm in evidence.arms]),
        learned["learners"][DELEGATION]["count"] + 1,
    ).tolist()
    rows = zip(evidence.arms, evidence.made_of, evidence.failed, losses, strict=True)
    return [
        Increment(
            arm=arm,
            kind="agent",
            made_of=made_of,
            payoff=paid.get(arm, 0.0),
            count=float(arm in paid),
            failures=failed,
            loss=loss + (missed_loss(learned, arm) if arm in paid or loss else 0.0),
        )
        for arm, made_of, failed, loss in rows
        if arm in paid or failed or loss
    ]


def _only(shares: list[float]) -> list[float]:
    """Return the shares among these arms alone; even ones where none is known."""
    total = sum(shares)
    return [share / total if total else 1 / len(shares) for share in shares]


def _delegation_increment(learned: LearnedState, lesson: Lesson) -> list[Increment]:
    """Return what dealing the samples by the shares lost on average: its regret is this less the least loss of an arm."""
    if not lesson.payoffs:
        return []
    shares = share_samples(learned)
    held = {arm: shares.get(arm, 0.0) for arm in lesson.payoffs}
    dealt = dict(zip(held, _only(list(held.values())), strict=True))
    lost = sum(share * (1 - lesson.payoffs[arm]) for arm, share in dealt.items())
    return [Increment(arm=DELEGATION, kind="learner", payoff=0.0, loss=lost)]


def _learners_increments(evidence: Evidence, learned: LearnedState, verdict: Verdict) -> list[Increment]:
    """Return a step of exponentiated gradient and the learners' losses; none where no right answer is known."""
    if verdict.right is None or not any(verdict.right) or not evidence.players:
        return []
    target, played = right_target(verdict.right), play_again(evidence, learned)
    names = [evidence.arms[player] for player in evidence.players]
    learners = read_learners(learned, names, team_samples=evidence.planned)
    moved = gradient_increment(
        gradient_weights(learners.gradient, learners.team_samples),
        [sum(evidence.counts[player]) for player in evidence.players],
        played.game.policy,
        target,
        learners.fed_back + 1,
    ).tolist()
    made_of = dict(zip(evidence.arms, evidence.made_of, strict=True))
    steps = [
        Increment(arm=arm, kind="agent", made_of=made_of[arm], payoff=0.0, count=0.0, gradient=step)
        for arm, step in zip(names, moved, strict=True)
    ]
    rows = zip(LEARNERS, played.belief.by_learner, strict=True)
    return steps + [Increment(name, "learner", payoff=0.0, loss=log_loss(row, target)) for name, row in rows]


def _is_nothing(part: Increment) -> bool:
    return not (part.payoff or part.count or part.failures or part.gradient or part.loss)
