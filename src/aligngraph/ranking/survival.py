"""Which answers survive: the judge goes on from masked beginnings of every solution, and where it arrives is counted."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from aligngraph.models import usage_of
from aligngraph.prompts import STRATEGIES, render
from aligngraph.randomness import sampling_seed
from aligngraph.ranking.beginning import begin
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import Judge, Verdict, failed_call, said, sampling
from aligngraph.ranking.sheet import Sheet, shorten

TEMPERATURE = 0.7
NO_ANSWER = "no final answer in the completion"
_ENDED = ("ranked", "abstained")


@dataclass(frozen=True)
class SurvivalRanker:
    """Scores an option by the share of completions that reach its answer; no beginning states a final answer.

    A sound beginning leads to its author's answer again and again. From a faulty one the judge, which is told to mend
    what is wrong, gets there less often, and from the bare task more rarely still: that share is the judge's own
    self-consistency. The share of k among n is taken as the probability (k + 1) / (n + 2).

    Attributes:
        judge: whose model completes.
        shares: how much of a solution each beginning holds, in [0, 1); 0 is the bare task. Options that begin alike
            share their completions, so that the bare task is drawn once for all of them.
        completions: of each beginning, at temperature 0.7.
    """

    judge: Judge
    shares: tuple[float, ...] = (0.0, 0.3, 0.6)
    completions: int = 2

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference that follows from the shares; an option none of whose completions ends is abstained from.

        A completion that several options share is recorded with the option it reaches as its order, as an abstention
        where it reaches none of them; it counts for all of them.
        """
        draws = await asyncio.to_thread(self._plan, work)
        calls = await asyncio.gather(*(self._complete(draw) for draw in draws))
        return await asyncio.to_thread(_conclude, work, calls)

    def _plan(self, work: RankingTask) -> list["_Draw"]:
        paths = [
            (beginning, numbers, ("survival", place, numbers[0], completion))
            for place, share in enumerate(self.shares)
            for beginning, numbers in _beginnings(work, share).items()
            for completion in range(self.completions)
        ]
        return [
            _Draw(
                Sheet.draw(work, *path, options=numbers),
                beginning,
                sampling_seed(work.seed, *path),
                number,
            )
            for number, (beginning, numbers, path) in enumerate(paths)
        ]

    async def _complete(self, draw: "_Draw") -> RankingCall:
        asked = self.judge.model.bind(**sampling(self.judge.model, draw.seed, TEMPERATURE))
        ended = await self.judge.call(lambda: asked.ainvoke(draw.messages, draw.sheet.annotate(draw.number)))
        if ended.value is None:
            return failed_call(draw.sheet, ended.cause)
        return said(draw.sheet, str(ended.value.text), Verdict(), usage_of(ended.value))


@dataclass(frozen=True)
class _Draw:
    """One completion to be drawn; the sheet lists the options that begin like this."""

    sheet: Sheet
    beginning: str
    seed: int
    number: int

    @property
    def messages(self) -> list[AnyMessage]:
        task = self.sheet.work.task
        if not self.beginning:
            return [SystemMessage(STRATEGIES["step_by_step"]), HumanMessage(task)]
        quoted = self.sheet.enclose(shorten(self.beginning, self.sheet.work.max_solution_chars))
        return [
            SystemMessage(render("survival", mark=self.sheet.mark)),
            HumanMessage(render("survival_task", task=task, beginning=quoted)),
        ]


def _beginnings(work: RankingTask, share: float) -> dict[str, list[int]]:
    """Return every beginning with the numbers of its options."""
    grouped: dict[str, list[int]] = {}
    for number, option in enumerate(work.options):
        grouped.setdefault(begin(option, share, work.form), []).append(number)
    return grouped


def _conclude(work: RankingTask, calls: Sequence[RankingCall]) -> Preference:
    reached = _reached(work, calls)
    calls = [_record(call, found) for call, found in zip(calls, reached, strict=True)]
    return Preference.from_scores([_share(calls, number) for number in range(len(work.options))], calls)


def _share(calls: Sequence[RankingCall], number: int) -> float | None:
    """Return the smoothed share of the completions drawn for an option that reach it; None where none of them ends."""
    ended = [call for call in calls if call.outcome in _ENDED and number in call.labels.values()]
    survived = sum(number in call.order or call.score == 1.0 for call in ended)
    return (survived + 1) / (len(ended) + 2) if ended else None


def _reached(work: RankingTask, calls: Sequence[RankingCall]) -> list[frozenset[int] | None]:
    """Return for every completion the numbers of the options whose answer it reaches; None where it reaches no end."""
    answers = [option.answer for option in work.options]
    ends = {place: work.form.extract(call.verdict) for place, call in enumerate(calls) if call.outcome != "failed"}
    ended = {place: answer for place, answer in ends.items() if answer is not None}
    own: dict[int, frozenset[int]] = {}
    for group in work.form.group([*answers, *ended.values()]):
        own |= dict.fromkeys(group.members, frozenset(group.members) & frozenset(range(len(answers))))
    found = {place: own[len(answers) + rank] for rank, place in enumerate(ended)}
    return [found.get(place) for place in range(len(calls))]


def _record(call: RankingCall, found: frozenset[int] | None) -> RankingCall:
    if call.outcome == "failed":
        return call
    if found is None:
        return replace(call, outcome="checked", problem=NO_ANSWER)
    shown = tuple(call.labels.values())
    if len(shown) == 1:
        return replace(call, outcome="ranked", score=float(shown[0] in found))
    order = tuple(number for number in shown if number in found)
    return replace(call, outcome="ranked" if order else "abstained", order=order)
