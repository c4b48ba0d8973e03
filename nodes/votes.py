"""Votes: which arm gave which answer how often."""

from dataclasses import dataclass

from aligngraph.state import AnswerState, CandidateState


@dataclass(frozen=True)
class VoteTable:
    """Counts of samples.

    Attributes:
        arms: the arms with at least one sample, in seed order.
        counts: `[A, K]`, samples of each arm for each answer; `[A, K + 1]` where the last column counts other answers.
    """

    arms: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def arm_of(candidate: CandidateState) -> str:
    """Return the arm that drew the candidate, as `agent/strategy`."""
    return f"{candidate['agent']}/{candidate['strategy']}"


def current_candidates(candidates: list[CandidateState]) -> list[CandidateState]:
    """Return the candidates that count: of each agent those of its latest round with an answer, in seed order.

    A duplicate is not one of them.
    """
    latest: dict[str, int] = {}
    candidates = [candidate for candidate in candidates if candidate.get("duplicate_of") is None]
    for candidate in candidates:
        if candidate["answer"] is not None:
            latest[candidate["agent"]] = max(candidate["round"], latest.get(candidate["agent"], 0))
    return [
        candidate
        for candidate in candidates
        if candidate["answer"] is not None and candidate["round"] == latest[candidate["agent"]]
    ]


def count_votes(answers: list[AnswerState], candidates: list[CandidateState]) -> VoteTable:
    """Return the votes of the candidates that count now, a column for each answer."""
    return _tabulate(answers, current_candidates(candidates), others=False)


def count_first_votes(answers: list[AnswerState], candidates: list[CandidateState]) -> VoteTable:
    """Return the votes of round 1, cast before any agent knew a ranking, with a last column for answers given up since."""
    first = [
        candidate
        for candidate in candidates
        if candidate["round"] == 1 and candidate["answer"] is not None and candidate.get("duplicate_of") is None
    ]
    return _tabulate(answers, first, others=True)


def _tabulate(answers: list[AnswerState], candidates: list[CandidateState], *, others: bool) -> VoteTable:
    columns = {spelling: number for number, answer in enumerate(answers) for spelling in answer["spellings"]}
    width = len(answers) + others
    rows: dict[str, list[int]] = {}
    for candidate in candidates:
        row = rows.setdefault(arm_of(candidate), [0] * width)
        row[columns.get(str(candidate["answer"]), width - 1)] += 1
    return VoteTable(tuple(rows), tuple(map(tuple, rows.values())))
