"""From what a team says to a ranker bound to its judge."""

from aligngraph.ranking.contract import Ranker
from aligngraph.ranking.human import HumanRanker
from aligngraph.ranking.judge import Judge
from aligngraph.ranking.listwise import ListwiseRanker
from aligngraph.ranking.pairwise import PairwiseRanker
from aligngraph.ranking.pointwise import PointwiseRanker
from aligngraph.ranking.program import CommandScorer, ProgramRanker
from aligngraph.ranking.reward_model import RewardModelRanker
from aligngraph.ranking.specs import (
    HumanSpec,
    ListwiseSpec,
    PairwiseSpec,
    PointwiseSpec,
    ProgramSpec,
    RewardModelSpec,
    Spec,
    SurvivalSpec,
    VerifierSpec,
)
from aligngraph.ranking.survival import SurvivalRanker
from aligngraph.ranking.verifier import VerifierRanker


def open_ranker(spec: Spec, judge: Judge | None) -> Ranker:
    """Return the ranker of `spec`.

    Args:
        spec: what the team says.
        judge: the principal's model; None is enough where `models_needed(spec)` is false.

    Raises:
        ValueError: a ranker that asks a model was given no judge.
    """
    free = _open_free(spec)
    if free is not None:
        return free
    if judge is None:
        raise ValueError(f"ranker {spec.name!r} asks a model, and was given none")
    return _open_asking(spec, judge)


def _open_free(spec: Spec) -> Ranker | None:
    """Return a ranker that asks no language model, None for the others."""
    match spec:
        case ProgramSpec():
            return ProgramRanker(spec.score or CommandScorer(spec.command, spec.timeout_s), spec.timeout_s)
        case RewardModelSpec():
            return RewardModelRanker(spec.model)
        case HumanSpec():
            return HumanRanker()
        case _:
            return None


def _open_asking(spec: Spec, judge: Judge) -> Ranker:
    match spec:
        case PairwiseSpec():
            return PairwiseRanker(judge)
        case PointwiseSpec():
            return PointwiseRanker(judge, spec.scale)
        case VerifierSpec():
            return VerifierRanker(judge, spec.checks)
        case SurvivalSpec():
            return SurvivalRanker(judge, spec.shares, spec.completions)
        case ListwiseSpec():
            return ListwiseRanker(judge, spec.shuffles)
        case _:
            raise ValueError(f"ranker {spec.name!r} asks no model")
