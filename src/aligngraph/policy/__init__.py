"""The numeric core in plain numpy: the game of one task, its regret, the competence that lasts, the decision."""

from aligngraph.policy.competence import (
    anchor_from_trust,
    competence,
    posterior,
    principal_anchor,
    self_assessed_payoff,
    trust,
    weight,
)
from aligngraph.policy.decision import choose, entropy, pooled_majority
from aligngraph.policy.game import GameOutcome, Schedule, initial_policy, mirror_step, payoff, play, tilted, vote_shares
from aligngraph.policy.regret import anchored_nash_gap, external_regret, nash_gap, regret_bound
from aligngraph.policy.round import GameRules, RoundOutcome, play_round

__all__ = [
    "GameOutcome",
    "GameRules",
    "RoundOutcome",
    "Schedule",
    "anchor_from_trust",
    "anchored_nash_gap",
    "choose",
    "competence",
    "entropy",
    "external_regret",
    "initial_policy",
    "mirror_step",
    "nash_gap",
    "payoff",
    "play",
    "play_round",
    "pooled_majority",
    "posterior",
    "principal_anchor",
    "regret_bound",
    "self_assessed_payoff",
    "tilted",
    "trust",
    "vote_shares",
    "weight",
]
