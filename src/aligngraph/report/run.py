"""The report of one run: what was decided, why, and what other rules make of the same candidates."""

from collections.abc import Iterable

from aligngraph.decision import Answer, Candidate, Decision
from aligngraph.learning.evidence import Evidence
from aligngraph.report.charts import Row, RowChart
from aligngraph.report.document import Fact, Figure, Passage, Report, Section, Table
from aligngraph.report.escaping import brief, harmless
from aligngraph.report.fairness import describe_fairness
from aligngraph.report.game import describe_game
from aligngraph.report.spending import describe_usage
from aligngraph.report.wording import NOTHING, counted, listed, number

_MOST_ANSWERS = 20


def report_run(decision: Decision, evidence: Evidence | None, task: str) -> Report:
    """Return the report of a run that has ended.

    Args:
        decision: its audit.
        evidence: its votes and ranking as numbers; None for a run from before they were kept.
        task: its text.
    """
    sections = [_describe_decision(decision, task), _describe_answers(decision)]
    if decision.ranking is not None:
        sections.append(_describe_ranking(decision))
    if decision.game is not None:
        sections.append(describe_game(decision, decision.game, evidence))
    sections += [_describe_weights(decision), describe_fairness(decision, evidence), describe_usage(decision)]
    return Report(
        title=f"Run {harmless(decision.run_id)}",
        status=_status(decision),
        problems=tuple(map(harmless, (*decision.problems, *(f"note: {warning}" for warning in decision.warnings)))),
        facts=_facts(decision),
        sections=(*sections, _describe_candidates(decision)),
    )


def _status(decision: Decision) -> str:
    meaning = {
        "ok": "everything that was asked for came",
        "degraded": "something failed on the way, and the rest decided",
        "failed": "there was nothing to decide with",
    }
    return f"Status: {decision.status} ({meaning[decision.status]})"


def _facts(decision: Decision) -> tuple[Fact, ...]:
    chosen = _chosen(decision)
    guessed = " (guessed from the task)" if decision.kind_guessed else ""
    return (
        Fact("answer", NOTHING if decision.answer is None else brief(decision.answer, 80)),
        Fact("posterior of the answer", number(chosen.posterior if chosen else None)),
        Fact("plain vote", brief(decision.alternatives.majority, 80) if decision.alternatives else NOTHING),
        Fact("domain", harmless(decision.domain)),
        Fact("answers read as", f"{decision.kind}{guessed}"),
        Fact("seed", str(decision.seed)),
        Fact("candidates", str(len(decision.candidates))),
        Fact("seconds", number(decision.seconds, 1)),
    )


def _chosen(decision: Decision) -> Answer | None:
    return next((answer for answer in decision.answers if answer.answer == decision.answer), None)


def _describe_decision(decision: Decision, task: str) -> Section:
    parts: list[Table | Passage] = [Passage("The task", harmless(task), shown=True)] if task else []
    if decision.text:
        parts.append(Passage("The solution that stands for the answer", harmless(decision.text), shown=True))
    rows = [
        (rule, NOTHING if answer is None else brief(answer, 80), _agrees(answer, decision.answer))
        for rule, answer in _alternatives(decision)
    ]
    if rows:
        headings = ("rule", "answer", "same as the decision")
        parts.append(Table.of("What other rules make of the same candidates", headings, rows, left=3))
    return Section("decision", "The decision and its alternatives", (_why(decision),), tuple(parts))


def _why(decision: Decision) -> str:
    chosen, others = _chosen(decision), decision.alternatives
    if chosen is None or others is None:
        return "No agent gave an answer, so that no rule had anything to choose from."
    against = [rule for rule, answer in _alternatives(decision)[1:] if answer not in {None, decision.answer}]
    leader = max(decision.answers, key=lambda answer: answer.posterior)
    rule = "the highest posterior" if leader is chosen or leader.posterior == chosen.posterior else "the plain vote"
    return (
        f"The answer has {rule}: {number(chosen.posterior)} with {counted(chosen.votes, 'vote')}, among "
        f"{counted(len(decision.answers), 'answer')}. Rules that would have said something else: {listed(against)}."
    )


def _alternatives(decision: Decision) -> list[tuple[str, str | None]]:
    others = decision.alternatives
    if others is None:
        return []
    single = [(f"{harmless(agent)} alone", answer) for agent, answer in others.single.items()]
    return [
        ("aligned delegation", others.delegation),
        ("plain vote of all samples", others.majority),
        ("the principal's first choice (best of n)", others.best_of_n),
        *single,
    ]


def _agrees(answer: str | None, decided: str | None) -> str:
    return NOTHING if answer is None else "yes" if answer == decided else "no"


def _describe_answers(decision: Decision) -> Section:
    ordered = sorted(decision.answers, key=lambda answer: -answer.posterior)
    if not ordered:
        return Section("answers", "Answers", ("No candidate held an answer.",))
    votes = sum(answer.votes for answer in ordered)
    rows = [
        (
            brief(one.answer, 80),
            str(one.votes),
            number(one.votes / votes),
            _place(decision, one.answer),
            number(one.posterior),
        )
        for one in ordered
    ]
    headings = ("answer", "votes", "share of votes", "principal's place", "posterior")
    chart = RowChart(
        "posterior",
        "posterior",
        tuple(Row(brief(one.answer), one.posterior, mark=one.votes / votes) for one in ordered[:_MOST_ANSWERS]),
        mark_label="share of votes",
        x_range=(0.0, 1.05),
    )
    best = ordered[0]
    description = f"{brief(best.answer)} leads with posterior {number(best.posterior)} and {counted(best.votes, 'vote')} of {votes}."
    figure = Figure(
        "Posterior of each answer, next to its share of the votes",
        description,
        chart,
        Table.of("Answers", headings, rows),
    )
    return Section("answers", "Answers", (), (figure,))


def _place(decision: Decision, answer: str) -> str:
    """Return the principal's place of the answer; those that are tied share the first of their places."""
    ranking = decision.ranking
    if ranking is None or answer not in ranking.order:
        return NOTHING
    tied = next((tied for tied in ranking.ties if answer in tied), [answer])
    first = min(ranking.order.index(one) for one in tied) + 1
    return f"{first}. (tied)" if len(tied) > 1 else f"{first}."


def _describe_ranking(decision: Decision) -> Section:
    ranking = decision.ranking
    if ranking is None:
        return Section("ranking", "The principal")
    failed = [call for call in ranking.calls if call.get("outcome") in {"unusable", "failed"}]
    notes = [
        (
            f"Asked as {harmless(ranking.ranker)} with {harmless(ranking.model)}, in {counted(len(ranking.calls), 'call')}, "
            f"{len(failed)} of them without a usable verdict. It saw anonymous labels in random order, never who proposed what."
        )
    ]
    if ranking.shares_model_with:
        notes.append(f"It shares its model with {listed([harmless(name) for name in ranking.shares_model_with])}.")
    if ranking.abstained:
        notes.append(f"It said nothing about {listed([brief(answer) for answer in ranking.abstained])}.")
    names = [brief(answer.answer) for answer in decision.answers[: len(ranking.preference)]]
    rows = [(name, *(number(share, 2) for share in row)) for name, row in zip(names, ranking.preference, strict=False)]
    if not 1 < len(names) <= _MOST_ANSWERS:
        return Section("ranking", "The principal", tuple(notes))
    table = Table.of("Probability that the principal prefers the row to the column", ("", *names), rows)
    return Section("ranking", "The principal", tuple(notes), (table,))


def _describe_weights(decision: Decision) -> Section:
    before, after = decision.weights.before, decision.weights.after
    rows = [
        (harmless(arm), number(before[arm]), number(after.get(arm)), number(after.get(arm, 0.0) - before[arm]))
        for arm in before
    ]
    note = (
        f"In nats, among {counted(max(2, len(decision.answers)), 'answer')}: what a sample of the arm weighs in the vote. "
        "A weight is the dual coordinate of the arm's competence, log odds plus the log of the number of answers."
    )
    shares = [f"{harmless(name)} {number(share)}" for name, share in decision.learners.items()]
    notes = (note, f"Shares of the learners in the posterior: {', '.join(shares)}.") if shares else (note,)
    if not rows:
        return Section("weights", "Weights", ("No arm had a weight.",))
    chart = RowChart(
        "weights", "after the task", tuple(Row(brief(arm), after.get(arm, 0.0), mark=before[arm]) for arm in before),
        mark_label="before it",
    )  # fmt: skip
    description = f"Weights of {counted(len(rows), 'arm')} after this task, next to those before it."
    table = Table.of("Weights before and after", ("arm", "before", "after", "change"), rows)
    return Section(
        "weights", "Weights", notes, (Figure("Weights before and after the task", description, chart, table),)
    )


def _describe_candidates(decision: Decision) -> Section:
    headings = ("candidate", "arm", "round", "answer", "model", "what went wrong")
    rows = [
        (
            one.id,
            f"{one.agent}/{one.strategy}",
            str(one.round),
            brief(one.answer or NOTHING, 60),
            one.model or NOTHING,
            _fault(one),
        )
        for one in decision.candidates
    ]
    table = Table.of("Candidates in seed order", headings, [tuple(map(harmless, row)) for row in rows], left=6)
    kept = any(one.text for one in decision.candidates)
    note = "Texts are shown as the models wrote them; characters that steer a screen are spelled out."
    return Section(
        "candidates",
        "Candidates",
        (note if kept else "Their texts were not kept.",),
        (table, *_passages(decision.candidates)),
    )


def _passages(candidates: Iterable[Candidate]) -> list[Passage]:
    return [
        Passage(f"{harmless(one.id)}: {brief(one.answer or 'no answer', 60)}", harmless(one.text))
        for one in candidates
        if one.text
    ]


def _fault(candidate: Candidate) -> str:
    words = [word.replace("_", " ") for word in (candidate.failure,) if word]
    if candidate.error:
        words.append(brief(candidate.error, 120))
    if candidate.duplicate_of:
        words.append(f"same text as {candidate.duplicate_of}: no vote")
    return "; ".join(words) or NOTHING
