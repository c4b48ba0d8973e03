"""What lasts: LangGraph's checkpointers, and the policy store with the runs it learned from."""

from aligngraph.persistence.checkpoints import forget_checkpoints, open_checkpointer, prune_checkpoints
from aligngraph.persistence.exports import Difference, Export, compare, read_export
from aligngraph.persistence.learned_records import (
    AppliedUpdate,
    ArmKey,
    ArmKind,
    Arms,
    ArmSums,
    Counted,
    DomainState,
    DomainSummary,
    Increment,
    Learned,
    RunRecord,
    Sums,
    Update,
    UpdateKind,
)
from aligngraph.persistence.location import ENVIRONMENT_VARIABLE, Location
from aligngraph.persistence.policy_log import PolicyLog
from aligngraph.persistence.policy_store import PolicyStore
from aligngraph.persistence.records import Candidate, FinalStatus, Response, Run, RunStatus
from aligngraph.persistence.replay import advance, replayed
from aligngraph.persistence.textless import KeptTexts, TextlessStore

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "AppliedUpdate",
    "ArmKey",
    "ArmKind",
    "ArmSums",
    "Arms",
    "Candidate",
    "Counted",
    "Difference",
    "DomainState",
    "DomainSummary",
    "Export",
    "FinalStatus",
    "Increment",
    "KeptTexts",
    "Learned",
    "Location",
    "PolicyLog",
    "PolicyStore",
    "Response",
    "Run",
    "RunRecord",
    "RunStatus",
    "Sums",
    "TextlessStore",
    "Update",
    "UpdateKind",
    "advance",
    "compare",
    "forget_checkpoints",
    "open_checkpointer",
    "prune_checkpoints",
    "read_export",
    "replayed",
]
