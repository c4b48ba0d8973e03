"""`aligngraph feedback`: what an answer turned out to be, at any later time."""

import json
from dataclasses import asdict

from aligngraph.cli.rendering import console, shown
from aligngraph.learning.feedback import Feedback, feedback


def give(run_id: str, *, correct: bool | None, answer: str | None, db: str | None, as_json: bool) -> None:
    """Store the feedback and print what it changed."""
    given = feedback(run_id, correct=correct, answer=answer, db=db)
    if as_json:
        print(json.dumps(asdict(given), indent=2, ensure_ascii=False))
        return
    screen = console()
    screen.print(shown(_headline(given)), highlight=False)
    for arm in given.before:
        screen.print(shown(f"  {arm}: weight {given.before[arm]:.3f} -> {given.after[arm]:.3f}"), highlight=False)


def _headline(given: Feedback) -> str:
    verdict = given.said.verdict if given.said.answer is None else f"the right answer is {given.said.answer}"
    if given.changed:
        return f"run {given.run_id}: {verdict}; learned in domain {given.domain}"
    return f"run {given.run_id}: {verdict}; nothing new to learn from it"
