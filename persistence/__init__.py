"""What lasts: LangGraph's checkpointers, and the policy store with the runs it learned from."""

from aligngraph.persistence.checkpoints import open_checkpointer, prune_checkpoints
from aligngraph.persistence.location import ENVIRONMENT_VARIABLE, Location
from aligngraph.persistence.policy_store import PolicyStore
from aligngraph.persistence.records import (
    AppliedUpdate,
    ArmKind,
    ArmSums,
    Candidate,
    DomainSummary,
    FinalStatus,
    Increment,
    Response,
    Run,
    RunStatus,
    Sums,
    Update,
)

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "AppliedUpdate",
    "ArmKind",
    "ArmSums",
    "Candidate",
    "DomainSummary",
    "FinalStatus",
    "Increment",
    "Location",
    "PolicyStore",
    "Response",
    "Run",
    "RunStatus",
    "Sums",
    "Update",
    "open_checkpointer",
    "prune_checkpoints",
]
