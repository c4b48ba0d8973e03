"""Rankers: ways of asking a principal which answer it prefers, without telling it who gave them."""

from typing import Literal

from aligngraph.ranking.contract import CallOutcome, Option, Preference, Ranker, RankingCall, RankingTask
from aligngraph.ranking.listwise import ListwiseRanker

RankerName = Literal["listwise"]

RANKERS: dict[RankerName, Ranker] = {"listwise": ListwiseRanker()}

__all__ = [
    "RANKERS",
    "CallOutcome",
    "ListwiseRanker",
    "Option",
    "Preference",
    "Ranker",
    "RankerName",
    "RankingCall",
    "RankingTask",
]
