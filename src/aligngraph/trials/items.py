"""The built-in items: tasks with a right and a wrong solution, of balanced length."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from langchain_core.runnables import RunnableConfig

from aligngraph.answers import AnswerForm, AnswerKind
from aligngraph.ranking import Option, RankingTask

Verdict = Literal["right", "wrong", "open"]
RIGHT, WRONG = 0, 1


@dataclass(frozen=True)
class Item:
    """A task with one right and one wrong solution."""

    name: str
    kind: AnswerKind
    task: str
    right: Option
    wrong: Option

    @property
    def longer(self) -> Verdict:
        """Which solution has more characters."""
        return "right" if len(self.right.solution) > len(self.wrong.solution) else "wrong"

    def work(self, seed: int, max_solution_chars: int, *, wrong_solution: str | None = None) -> RankingTask:
        """Return the task of ranking the right solution, number 0, and the wrong one, number 1.

        Args:
            seed: of the ranking.
            max_solution_chars: how much of each solution is shown.
            wrong_solution: a text in place of the wrong solution's own.
        """
        wrong = Option(self.wrong.answer, self.wrong.solution if wrong_solution is None else wrong_solution)
        config = RunnableConfig(metadata={"agent": "principal", "task": self.name})
        form = AnswerForm.of(self.task, self.kind)
        return RankingTask(self.task, (self.right, wrong), seed, max_solution_chars, config, form)


@cache
def built_in_items() -> tuple[Item, ...]:
    """Return the twelve items."""
    text = files("aligngraph.trials").joinpath("items.toml").read_text(encoding="utf-8")
    return tuple(
        Item(
            entry["name"],
            entry["kind"],
            entry["task"],
            Option(entry["right"], entry["right_solution"].strip()),
            Option(entry["wrong"], entry["wrong_solution"].strip()),
        )
        for entry in tomllib.loads(text)["items"]
    )
