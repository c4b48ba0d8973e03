"""aligngraph: several language models propose, a principal ranks them blind, mirror descent decides, the weights last."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aligngraph.chat_model import AlignChatModel
    from aligngraph.context import DelegationContext
    from aligngraph.decision import Decision
    from aligngraph.errors import AlignGraphError, DelegationFailedError, ReviewPendingError, RunCancelledError
    from aligngraph.graphs.delegation import build_delegation
    from aligngraph.learning.feedback import Feedback, afeedback, feedback
    from aligngraph.roles import Agent, Price, Principal
    from aligngraph.session import Session, aask, ask, open_session
    from aligngraph.settings import Game, Learning
    from aligngraph.state import TaskOptions
    from aligngraph.team import Team

# Where each public name lives; it is imported when first used, since LangChain takes a second to import.
_HOMES = {
    "Agent": "aligngraph.roles",
    "AlignChatModel": "aligngraph.chat_model",
    "AlignGraphError": "aligngraph.errors",
    "Decision": "aligngraph.decision",
    "DelegationContext": "aligngraph.context",
    "DelegationFailedError": "aligngraph.errors",
    "Feedback": "aligngraph.learning.feedback",
    "Game": "aligngraph.settings",
    "Learning": "aligngraph.settings",
    "Price": "aligngraph.roles",
    "Principal": "aligngraph.roles",
    "ReviewPendingError": "aligngraph.errors",
    "RunCancelledError": "aligngraph.errors",
    "Session": "aligngraph.session",
    "TaskOptions": "aligngraph.state",
    "Team": "aligngraph.team",
    "aask": "aligngraph.session",
    "afeedback": "aligngraph.learning.feedback",
    "ask": "aligngraph.session",
    "build_delegation": "aligngraph.graphs.delegation",
    "feedback": "aligngraph.learning.feedback",
    "open_session": "aligngraph.session",
}

__all__ = [
    "Agent",
    "AlignChatModel",
    "AlignGraphError",
    "Decision",
    "DelegationContext",
    "DelegationFailedError",
    "Feedback",
    "Game",
    "Learning",
    "Price",
    "Principal",
    "ReviewPendingError",
    "RunCancelledError",
    "Session",
    "TaskOptions",
    "Team",
    "aask",
    "afeedback",
    "ask",
    "build_delegation",
    "feedback",
    "open_session",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
