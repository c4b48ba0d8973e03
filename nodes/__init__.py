"""The nodes of the delegation graph, one per file: each takes the state and returns the part of it that it changes."""

from aligngraph.nodes.agent import propose_candidates
from aligngraph.nodes.answer import deliver_answer
from aligngraph.nodes.intake import open_task
from aligngraph.nodes.policy_update import update_policy
from aligngraph.nodes.principal import rank_answers
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.settle import settle_round

__all__ = [
    "Resources",
    "deliver_answer",
    "open_task",
    "propose_candidates",
    "rank_answers",
    "settle_round",
    "update_policy",
]
