"""No language model: a sequence classifier of transformers scores each solution."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from aligngraph.isolation import attempt
from aligngraph.ranking.classifier import Classifier, load
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.sheet import Sheet


@dataclass(frozen=True)
class RewardModelRanker:
    """Scores all options in one forward pass.

    A classifier with one logit is a reward model: y is preferred to z with the probability sigmoid(r_y - r_z), as in the
    model of Bradley and Terry that it was trained on. Of one with several logits, the last class is taken for "right".

    Attributes:
        model: folder of the classifier, or its name on the hub.
    """

    model: str

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference that follows from the logits; options without a finite one are abstained from.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ModelError: the classifier cannot be loaded, or is none.
        """
        classifier = await asyncio.to_thread(load, self.model)
        ended = await attempt(asyncio.to_thread(_classify, classifier, work), None)
        sheets = [Sheet.of(work, (number,), "reward_model", number) for number in range(len(work.options))]
        if ended.value is None:
            failed = [RankingCall(sheet.labels, "", "failed", problem=ended.cause) for sheet in sheets]
            return Preference.none(len(sheets), failed)
        return _conclude(ended.value, sheets)


def _classify(classifier: Classifier, work: RankingTask) -> list[list[float]]:
    return classifier.classify(work.task, [option.solution for option in work.options], work.max_solution_chars)


def _conclude(logits: Sequence[Sequence[float]], sheets: Sequence[Sheet]) -> Preference:
    calls = [_record(row, sheet) for row, sheet in zip(logits, sheets, strict=True)]
    if len(logits[0]) > 1:
        return Preference.from_scores([call.score for call in calls], calls)
    judged = [number for number, call in enumerate(calls) if call.score is not None]
    rewards = {number: logits[number][0] for number in judged}
    options = range(len(calls))
    matrix = tuple(
        tuple(_sigmoid(rewards[y] - rewards[z]) if y in rewards and z in rewards else 0.5 for z in options)
        for y in options
    )
    return Preference.from_matrix(matrix, judged, calls)


def _record(row: Sequence[float], sheet: Sheet) -> RankingCall:
    verdict = ", ".join(f"{logit:.6g}" for logit in row)
    if not all(map(math.isfinite, row)):
        return RankingCall(sheet.labels, verdict, "unusable", problem="the logits are not finite")
    # Of two classes the logistic function of their difference is the softmax.
    score = _sigmoid(row[0]) if len(row) == 1 else _sigmoid(row[-1] - _log_sum(row[:-1]))
    return RankingCall(sheet.labels, verdict, "ranked", score=score)


def _log_sum(logits: Sequence[float]) -> float:
    most = max(logits)
    return most + math.log(sum(math.exp(logit - most) for logit in logits))


def _sigmoid(value: float) -> float:
    """Return 1 / (1 + exp(-value)), in a form that cannot overflow and is exactly 1 together with its mirror image."""
    return (1 + math.tanh(value / 2)) / 2
