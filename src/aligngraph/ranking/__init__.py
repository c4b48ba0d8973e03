"""Rankers: ways of asking a principal which answer it prefers, without telling it who gave them.

The names below load on first use: LangChain costs half a second that reading a team file need not pay.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aligngraph.ranking.contract import CallOutcome, Option, Preference, Ranker, RankingCall, RankingTask
    from aligngraph.ranking.human import HumanRanker
    from aligngraph.ranking.judge import Judge
    from aligngraph.ranking.listwise import ListwiseRanker
    from aligngraph.ranking.opening import open_ranker
    from aligngraph.ranking.pairwise import PairwiseRanker
    from aligngraph.ranking.panel import PanelRanker, Seat
    from aligngraph.ranking.pointwise import PointwiseRanker
    from aligngraph.ranking.program import ProgramRanker
    from aligngraph.ranking.reward_model import RewardModelRanker
    from aligngraph.ranking.specs import RankerName, RankerSpec, models_needed
    from aligngraph.ranking.survival import SurvivalRanker
    from aligngraph.ranking.verifier import VerifierRanker

__all__ = [
    "CallOutcome",
    "HumanRanker",
    "Judge",
    "ListwiseRanker",
    "Option",
    "PairwiseRanker",
    "PanelRanker",
    "PointwiseRanker",
    "Preference",
    "ProgramRanker",
    "Ranker",
    "RankerName",
    "RankerSpec",
    "RankingCall",
    "RankingTask",
    "RewardModelRanker",
    "Seat",
    "SurvivalRanker",
    "VerifierRanker",
    "models_needed",
    "open_ranker",
]

_HOMES = {
    "contract": ("CallOutcome", "Option", "Preference", "Ranker", "RankingCall", "RankingTask"),
    "human": ("HumanRanker",),
    "judge": ("Judge",),
    "listwise": ("ListwiseRanker",),
    "opening": ("open_ranker",),
    "pairwise": ("PairwiseRanker",),
    "panel": ("PanelRanker", "Seat"),
    "pointwise": ("PointwiseRanker",),
    "program": ("ProgramRanker",),
    "reward_model": ("RewardModelRanker",),
    "specs": ("RankerName", "RankerSpec", "models_needed"),
    "survival": ("SurvivalRanker",),
    "verifier": ("VerifierRanker",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
