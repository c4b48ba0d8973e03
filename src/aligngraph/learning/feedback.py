"""Feedback: what a run's answer turned out to be, at any later time. It replaces what the run had thought of itself."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from aligngraph.answers import AnswerForm
from aligngraph.errors import UsageError
from aligngraph.learning.evidence import Evidence
from aligngraph.learning.known import read_learned, weigh_arms
from aligngraph.learning.teaching import Verdict, add_up, after, teach
from aligngraph.persistence import Counted, Increment, Location, PolicyStore, Run, RunRecord, Update
from aligngraph.state import LearnedState
from aligngraph.sync_door import run_blocking

LEAST_ANSWERS = 2  # with which weights are told where a task had fewer


@dataclass(frozen=True)
class Said:
    """What somebody said of a run.

    Attributes:
        verdict: `correct` and `wrong` are about the answer that was given; `answer` names the right one.
        answer: the right answer, None for other verdicts.
    """

    verdict: Literal["correct", "wrong", "answer"]
    answer: str | None = None


@dataclass(frozen=True)
class Feedback:
    """What became of feedback.

    Attributes:
        run_id: the run.
        domain: the kind of task, whose weights changed.
        said: what was said of it.
        changed: False where the same was said last, or the run teaches nothing because it was asked frozen.
        right: of each answer of the run, whether it is right; None where only the chosen one is known to be wrong.
        before: weight of each arm's vote before.
        after: the same afterwards.
    """

    run_id: str
    domain: str
    said: Said
    changed: bool
    right: tuple[bool, ...] | None
    before: Mapping[str, float]
    after: Mapping[str, float]


async def give_feedback(store: PolicyStore, run_id: str, said: Said) -> Feedback:
    """Return what became of the feedback, once it is stored.

    Raises:
        UsageError: there is no such run, it has not ended, or its answers cannot be told from each other any more.
        StoreError: the database fails; nothing was learned.
    """
    run = await store.read_run(run_id)
    evidence = _evidence_of(run, run_id)
    verdict = Verdict(await asyncio.to_thread(_right, said, run, evidence))
    correction = _Correction(said, verdict, evidence)
    stored = await store.log.correct(run_id, correction)
    return correction.outcome(run_id, changed=stored is not None)


def verdict_of(update: Update) -> Verdict:
    """Return the verdict of an update that feedback made."""
    right = update.result["feedback"]["right"]
    return Verdict(None if right is None else tuple(right))


@dataclass
class _Correction:
    """Makes the update of a run's log; what it was made of is kept for whoever asks."""

    said: Said
    verdict: Verdict
    evidence: Evidence
    before: LearnedState | None = None
    increments: tuple[Increment, ...] = ()
    domain: str = ""

    def __call__(self, known: RunRecord) -> Update | None:
        arms = dict(zip(self.evidence.arms, self.evidence.made_of, strict=True))
        self.domain, self.increments = known.run.domain, ()
        self.before = read_learned(known.sums, arms, self.evidence.principals)
        if not known.updates or _last_words(known.updates) == self._words:
            return None
        self.increments = correct(self.evidence, self.verdict, self.before, known.updates)
        run_id, round_ = known.run.run_id, known.next_round
        result = {"feedback": self._words}
        return Update(run_id, round_, self.domain, self.increments, result, kind="feedback")

    @property
    def _words(self) -> dict[str, Any]:
        """What the log keeps of what was said. The answer is a text, which need not be kept: a digest tells it again."""
        right, answer = self.verdict.right, self.said.answer
        return {
            "verdict": self.said.verdict,
            "answer": None if answer is None else blake2b(answer.encode(), digest_size=8).hexdigest(),
            "right": None if right is None else list(right),
        }

    def outcome(self, run_id: str, *, changed: bool) -> Feedback:
        """Return what became of it."""
        answers = max(LEAST_ANSWERS, self.evidence.answers)
        before = self.before or LearnedState(arms={}, principals={}, learners={})
        return Feedback(
            run_id,
            self.domain,
            self.said,
            changed and bool(self.increments),
            self.verdict.right,
            weigh_arms(before, answers=answers) if before["arms"] else {},
            weigh_arms(after(before, self.increments), answers=answers) if before["arms"] else {},
        )


def correct(
    evidence: Evidence, verdict: Verdict, learned: LearnedState, updates: tuple[Counted, ...]
) -> tuple[Increment, ...]:
    """Return what turns what the run taught so far into what it teaches by this verdict; nothing of a frozen run."""
    if not any(one.update.kind == "task" for one in updates):
        return ()
    taken_back = [part.scaled(-1) for update in updates for part in update.left]
    without = after(learned, taken_back)
    age = next((one.age for one in updates if one.age), 1.0)  # what was undone is taught as if it were new
    taught = [part.scaled(age) for part in teach(evidence, without, verdict)]
    return tuple(add_up([*taught, *taken_back]))


def _last_words(updates: tuple[Counted, ...]) -> Mapping[str, Any] | None:
    """Return what was said last and still counts: what a rollback or reset has undone may be said again."""
    said = [one for one in updates if one.update.kind == "feedback"]
    return said[-1].update.result["feedback"] if said and (said[-1].left or not said[-1].update.increments) else None


def _evidence_of(run: Run | None, run_id: str) -> Evidence:
    if run is None:
        raise unknown_run(run_id)
    if run.evidence is None:
        cause = "it is of an earlier version" if run.ended else "it has not ended"
        raise UsageError(f"run {run_id!r} cannot be given feedback: {cause}")
    return Evidence.read(run.evidence)


def _right(said: Said, run: Run | None, evidence: Evidence) -> tuple[bool, ...] | None:
    """Return which answers of the run are right, as far as was said. It may ask the mathematics worker: not for a loop."""
    if said.verdict == "answer":
        return _equal_answers(run, str(said.answer))
    if evidence.chosen is None:
        raise UsageError("the run gave no answer that could be correct or wrong: say --answer with the right one")
    if said.verdict == "correct":
        return tuple(number == evidence.chosen for number in range(evidence.answers))
    return (False,) if evidence.answers == 1 else None


def _equal_answers(run: Run | None, right: str) -> tuple[bool, ...]:
    if run is None or run.decision is None:
        raise UsageError("the texts of this run were not kept: say --correct or --wrong, which need none")
    if not right.strip():
        raise UsageError("the right answer is empty: say it as the agents would")
    known = [str(answer["answer"]) for answer in run.decision["answers"]]
    groups = AnswerForm.of(run.task, run.decision["kind"]).group([right, *known])
    equal = next(group.members for group in groups if 0 in group.members)
    return tuple(number + 1 in equal for number in range(len(known)))


async def afeedback(
    run_id: str, *, correct: bool | None = None, answer: str | None = None, db: str | None = None
) -> Feedback:
    """Return what became of feedback on a run, given at any time after it.

    It replaces what the run thought of itself, and any feedback before it; the same again changes nothing.

    Args:
        run_id: of a run that has ended.
        correct: whether the answer that was given is right.
        answer: the right answer, where it is known; compared with the agents' as they are among themselves.
        db: folder or PostgreSQL URL of what lasts; by default ALIGNGRAPH_DB, else the user's data folder.

    Raises:
        UsageError: not exactly one of `correct` and `answer` was given, there is no such run, or it has not ended.
        StoreError: the database cannot be used.
    """
    said = read_said(correct=correct, answer=answer)
    location = Location.find(db)
    if await asyncio.to_thread(location.is_new):
        raise unknown_run(run_id)
    async with await PolicyStore.open(location) as store:
        return await give_feedback(store, run_id, said)


def feedback(run_id: str, *, correct: bool | None = None, answer: str | None = None, db: str | None = None) -> Feedback:
    """Return what became of feedback, as `afeedback` does, from code that is not async."""
    return run_blocking(afeedback(run_id, correct=correct, answer=answer, db=db))


def read_said(*, correct: bool | None, answer: str | None) -> Said:
    """Return what was said.

    Raises:
        UsageError: not exactly one of `correct` and `answer` was given.
    """
    if (correct is None) == (answer is None):
        raise UsageError("feedback is one of: correct, wrong, or the right answer")
    if answer is not None:
        return Said("answer", answer)
    return Said("correct" if correct else "wrong")


def unknown_run(run_id: str) -> UsageError:
    """Return the error of a run id that the database does not hold."""
    return UsageError(f"no run {run_id!r} in this database: name the one that it was asked with")
