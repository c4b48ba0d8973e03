"""Whether the rules that a report compares had the same chances: the same candidates, and as many of each agent."""

from collections import Counter

from aligngraph.decision import Decision
from aligngraph.learning.evidence import Evidence
from aligngraph.report.document import Section, Table
from aligngraph.report.escaping import harmless
from aligngraph.report.wording import NOTHING, counted

_HEADINGS = ("arm", "samples drawn", "with an answer", "failed calls", "no vote")


def describe_fairness(decision: Decision, evidence: Evidence | None) -> Section:
    """Return the check of the comparison: who had how many samples, and what that means for single agents."""
    drawn = Counter(_arm(one.agent, one.strategy) for one in decision.candidates)
    answered = Counter(_arm(one.agent, one.strategy) for one in decision.candidates if one.answer is not None)
    failed = Counter(_arm(one.agent, one.strategy) for one in decision.candidates if one.failure == "call_failed")
    doubles = Counter(_arm(one.agent, one.strategy) for one in decision.candidates if one.duplicate_of)
    rows = [(arm, *(str(counts[arm]) for counts in (drawn, answered, failed, doubles))) for arm in drawn]
    notes = (_shared(decision), _even(decision), _complete(evidence))
    return Section("fairness", "Was the comparison fair?", notes, (Table.of("Samples of each arm", _HEADINGS, rows),))


def _arm(agent: str, strategy: str) -> str:
    return f"{harmless(agent)}/{harmless(strategy)}"


def _shared(decision: Decision) -> str:
    rounds = {one.round for one in decision.candidates}
    later = " Later rounds were drawn knowing the principal's ranking." if len(rounds) > 1 else ""
    return (
        f"Shared candidate set: yes. Every rule chose among the same candidates, and none cost a further call.{later}"
    )


def _even(decision: Decision) -> str:
    samples = Counter(one.agent for one in decision.candidates if one.answer is not None)
    asked = {one.agent for one in decision.candidates}
    counts = {samples[agent] for agent in asked}
    if len(counts) <= 1:
        each = counted(counts.pop(), "answer") if counts else NOTHING
        return f"Equal samples of each agent: yes ({each} each)."
    return (
        f"Equal samples of each agent: no ({min(counts)} to {max(counts)} answers). An agent alone is judged by fewer "
        "samples than the team, and agents with more samples have more of the plain vote."
    )


def _complete(evidence: Evidence | None) -> str:
    if evidence is None:
        return "All planned samples drawn: not known, this run is from before it was noted."
    asked = sum(evidence.asked)
    if evidence.stopped or asked < evidence.planned:
        return f"All planned samples drawn: no ({asked} of {evidence.planned}); the rest could hardly have mattered, or was not affordable."
    return f"All planned samples drawn: yes ({asked} of {evidence.planned})."
