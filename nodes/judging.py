"""Asking the principal: every judge of the panel at once, each shown what it may see, and the stand-ins after them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from aligngraph.calling.line import Line
from aligngraph.learning.known import judge_trust
from aligngraph.nodes.distinct import answer_form
from aligngraph.nodes.lines import Call, connect
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.spending import add_usage, as_usage
from aligngraph.randomness import sampling_seed
from aligngraph.ranking import Judge, Option, PanelRanker, Preference, RankingCall, RankingTask, Seat, open_ranker
from aligngraph.ranking.judge import MOST_SOLUTION_CHARS, solution_room
from aligngraph.ranking.specs import models_needed, shown_at_once
from aligngraph.roles import JudgeTable, Principal
from aligngraph.state import AnswerState, DelegationState, Usage


@dataclass(frozen=True)
class Ranked:
    """How the ranking of one round ended.

    Attributes:
        ranker: the names of the rankers asked.
        model: the labels of the models asked.
        stand_in: whether a fallback ranked.
        judges: what each judge of a panel prefers, by arm; empty where there is one judge alone.
        shares_model_with: agents that the model of a judge works for, too.
        usage: of all calls, those of judges that failed included.
        problems: what went wrong before or with it.
    """

    preference: Preference
    ranker: str
    model: str
    stand_in: bool
    judges: dict[str, Preference]
    shares_model_with: list[str]
    usage: Usage
    problems: list[str]


@dataclass(frozen=True)
class Case:
    """What is to be ranked: the distinct answers of a round, at least two, and the whole texts of all candidates."""

    resources: Resources
    state: DelegationState
    answers: list[AnswerState]
    texts: dict[str, str]
    config: RunnableConfig

    @property
    def principal(self) -> Principal:
        """The team's principal."""
        return self.resources.team.principal

    @property
    def work(self) -> RankingTask:
        """The ranking task, each answer shown by its first candidate in seed order."""
        run, number = self.state["run"], self.state["round"]
        metadata = {"agent": "principal", "task": run["task_id"], "round": number}
        return RankingTask(
            task=run["task"],
            options=tuple(Option(answer["answer"], self.texts[answer["candidates"][0]]) for answer in self.answers),
            seed=sampling_seed(run["seed"], number, "principal"),
            max_solution_chars=MOST_SOLUTION_CHARS,
            config=merge_configs(self.config, {"metadata": metadata}),
            form=answer_form(run),
        )

    def options_for(self, judge: JudgeTable) -> dict[int, Option] | None:
        """Return what a judge that recuses itself is shown: answers by their first candidate of an unrelated agent."""
        relatives = self.resources.team.relatives(judge) if self.principal.recuse else []
        if not relatives:
            return None
        author = {candidate["id"]: candidate["agent"] for candidate in self.state["candidates"]}
        shown = {}
        for number, answer in enumerate(self.answers):
            unrelated = [candidate for candidate in answer["candidates"] if author[candidate] not in relatives]
            if unrelated:
                shown[number] = Option(answer["answer"], self.texts[unrelated[0]])
        return shown


@dataclass(frozen=True)
class _Unavailable:
    """Stands for a judge that cannot be asked."""

    cause: str

    async def rank(self, work: RankingTask) -> Preference:
        """Return that nothing was said, and why."""
        return Preference.none(len(work.options), [RankingCall({}, "", "failed", problem=self.cause)])


async def ask_principal(case: Case) -> Ranked:
    """Return the first preference that the principal or one of its stand-ins gives, else none at all."""
    asked: list[Ranked] = []
    for judges in _in_turn(case.principal):
        asked.append(await _ask(judges, case, stand_in=bool(asked)))
        if asked[-1].preference.heard:
            break
    heard = asked[-1].preference.heard
    problems = [problem for ranked in asked for problem in ranked.problems]
    return replace(
        asked[-1 if heard else 0],
        usage=add_usage(ranked.usage for ranked in asked),
        problems=problems if heard else [*problems, "no principal is left: decided by the votes alone"],
    )


def _in_turn(principal: Principal) -> Iterator[tuple[JudgeTable, ...]]:
    yield principal.judges
    for model in principal.fallback:
        yield (JudgeTable(model=model, ranker=principal.ranker),)  # what a stand-in costs is not known


async def _ask(judges: tuple[JudgeTable, ...], case: Case, *, stand_in: bool) -> Ranked:
    chairs = [await _open_chair(judge, case) for judge in judges]
    panel = PanelRanker(tuple(chair.seat for chair in chairs))
    preferences = await panel.rank_each(case.work)
    if len(judges) > 1:
        preferences = [_sign(own, judge.arm) for own, judge in zip(preferences, judges, strict=True)]
    heard = list(zip(judges, preferences, strict=True))
    return Ranked(
        preference=panel.pool(preferences),
        ranker="+".join(dict.fromkeys(judge.ranker.name for judge in judges)),
        model="+".join(dict.fromkeys(judge.label for judge in judges)),
        stand_in=stand_in,
        judges={judge.arm: own for judge, own in heard} if len(judges) > 1 else {},
        shares_model_with=sorted({name for judge in judges for name in case.resources.team.relatives(judge)}),
        usage=add_usage(as_usage(chair.line.spent) for chair in chairs if chair.line),
        problems=[problem for judge, own in heard for problem in _problems(judge.label, own)],
    )


def _sign(preference: Preference, judge: str) -> Preference:
    return replace(preference, calls=tuple(replace(call, judge=judge) for call in preference.calls))


@dataclass(frozen=True)
class _Chair:
    """A seat of the panel and the line to the model in it; None where it asks no model, or none that opens."""

    seat: Seat
    line: Line | None = None


async def _open_chair(judge: JudgeTable, case: Case) -> _Chair:
    if not models_needed(judge.ranker):
        return _Chair(_seat(judge, None, case))
    call = Call(judge.model, 0.0, case.principal.timeout_s, judge.price, case.work.seed)
    opened = await connect(call, case.state, case.resources)
    if opened.value is None:
        return _Chair(Seat(_Unavailable(opened.cause or "cannot be opened")))
    to = opened.value
    return _Chair(_seat(judge, Judge(to.model, call.timeout_s, to.line), case), to.line)


def _seat(judge: JudgeTable, asked: Judge | None, case: Case) -> Seat:
    return Seat(
        open_ranker(judge.ranker, asked),
        judge_trust(case.state["learned"], judge.arm, answers=len(case.answers)),
        case.options_for(judge),
        solution_room(asked.model if asked else None, case.work.task, shown_at_once(judge.ranker, len(case.answers))),
    )


def _problems(label: str, preference: Preference) -> list[str]:
    """Return what kept a judge from ranking, each kind with how many calls it met and the first cause."""
    calls = preference.calls
    if not calls:
        return [f"principal {label} may see fewer than two of the answers: it shares its model with their agents"]
    final = [call for call, next_ in zip(calls, [*calls[1:], None], strict=True) if not (next_ and next_.again)]
    unusable = [call.problem for call in final if call.outcome == "unusable"]
    failed = [call.problem for call in final if call.outcome == "failed"]
    told = [f"principal {label} gave no usable ranking{_times(unusable, final)}: {unusable[0]}"] if unusable else []
    told += [f"principal {label} failed{_times(failed, final)}: {failed[0]}"] if failed else []
    silent = [call.problem for call in final if call.problem and not preference.tiers]
    return told or [f"principal {label} gave no ranking: {problem}" for problem in silent[:1]]


def _times(some: Sequence[object], calls: Sequence[object]) -> str:
    return f" in {len(some)} of {len(calls)} calls" if len(calls) > 1 else ""
