"""The judge solves the task itself before it has seen any answer, then judges the answers by its own attempts."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from aligngraph.prompts import render
from aligngraph.ranking.contract import Preference, RankingCall, RankingTask
from aligngraph.ranking.judge import Judge
from aligngraph.ranking.sheet import Sheet
from aligngraph.ranking.survival import ENDED, SurvivalRanker, reaching, smoothed_share

MOST_SHOWN = 3  # attempts; of more a small model loses track


@dataclass(frozen=True)
class SolverRanker:
    """Scores an option by how many blind attempts reach its answer, and by what the judge then says of the answer alone.

    A judge that is shown a solution tends to follow it, right or wrong. Here it never sees one: it is shown some of its
    own attempts and a proposed final answer, and says yes or no in one word, which counts as one more attempt: as much of
    it as the probability of "yes" reaches the answer. Of n attempts k of which reach it, that makes (k + p + 1) / (n + 3).

    Attributes:
        judge: whom to ask.
        attempts: blind and brief solutions, >= 1, drawn once for all options at temperature 0.7.
    """

    judge: Judge
    attempts: int = 5

    async def rank(self, work: RankingTask) -> Preference:
        """Return the preference that follows from the scores; without a readable attempt the words decide alone."""
        drawn = (await SurvivalRanker(self.judge, (0.0,), self.attempts, "solver_attempt").rank(work)).calls
        shown = [call.verdict for call in drawn if call.outcome in ENDED][:MOST_SHOWN]
        # One after the other, all beginning alike: what they share is read once where a provider keeps it.
        asked = [await self._judge(work, number, shown) for number in range(len(work.options))]
        words = {number: calls[-1].score for number, calls in enumerate(asked)}
        scores = [smoothed_share(reaching(drawn, number), words[number]) for number in words]
        return Preference.from_scores(scores, [*drawn, *(call for calls in asked for call in calls)])

    async def _judge(self, work: RankingTask, number: int, attempts: Sequence[str]) -> tuple[RankingCall, ...]:
        sheet = Sheet.of(work, (number,), "solver")
        quoted = "\n\n".join(sheet.enclose(attempt) for attempt in attempts)
        answer = sheet.enclose(work.options[number].answer)
        form = render("solver_form")
        messages: list[AnyMessage] = [
            SystemMessage(render("solver", mark=sheet.mark)),
            HumanMessage(render("solver_task", task=work.task, attempts=quoted, answer=answer, form=form)),
        ]
        return await self.judge.ask_yes_no(sheet, messages, form, self.attempts + number)
