"""Distinct answers: which candidates of a round give one and the same."""

import asyncio
from dataclasses import replace

from aligngraph.answers import AnswerForm, parse_number
from aligngraph.nodes.votes import current_candidates
from aligngraph.state import AnswerState, CandidateState, DelegationState, RunState


def answer_form(run: RunState) -> AnswerForm:
    """Return what an answer to the run's task looks like."""
    return replace(AnswerForm.of(run["task"], run["kind"]), guessed=run["guessed"])


async def distinct_answers(state: DelegationState) -> list[AnswerState]:
    """Return the answers that candidates give now, in seed order; what any round wrote counts as a spelling."""
    form = answer_form(state["run"])
    answered = [candidate for candidate in state["candidates"] if candidate["answer"] is not None]
    current = {candidate["id"] for candidate in current_candidates(answered)}
    groups = await asyncio.to_thread(form.group, [candidate["answer"] for candidate in answered])
    classes = [[answered[member] for member in group.members] for group in groups]
    found = [_describe(members, current) for members in classes if any(one["id"] in current for one in members)]
    place = {candidate["id"]: number for number, candidate in enumerate(answered)}
    return sorted(found, key=lambda answer: place[answer["candidates"][0]])


def _describe(members: list[CandidateState], current: set[str]) -> AnswerState:
    now = [candidate for candidate in members if candidate["id"] in current]
    written = [str(candidate["answer"]) for candidate in now]
    return AnswerState(
        answer=next((answer for answer in written if parse_number(answer) is not None), written[0]),
        candidates=[candidate["id"] for candidate in now],
        spellings=list(dict.fromkeys(str(candidate["answer"]) for candidate in members)),
    )
