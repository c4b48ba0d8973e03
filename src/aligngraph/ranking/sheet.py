"""What a judge is shown: anonymous labels, a seeded order, and candidates as quoted data.

Labels, order and marks are drawn anew for every call, so that no candidate can know, and no judge can remember, who is
behind a label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from aligngraph.randomness import generator
from aligngraph.ranking.contract import RankingTask
from aligngraph.ranking.quoting import neutral

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


@dataclass(frozen=True)
class Sheet:
    """One anonymous presentation of some options of a task.

    Attributes:
        work: the task whose options they are.
        labels: the labels in the order shown, each with the number of its option.
        mark: what stands on the lines around every quoted solution; no candidate can have known it.
    """

    work: RankingTask
    labels: dict[str, int]
    mark: str

    @classmethod
    def draw(cls, work: RankingTask, *path: str | int, options: Sequence[int] | None = None) -> "Sheet":
        """Return the sheet of the call at `path` below the seed of `work`, in random order.

        Args:
            work: what is to be ranked.
            path: names the call, as in the seed tree.
            options: the numbers of the options to show; all by default.
        """
        numbers = list(range(len(work.options)) if options is None else options)
        return cls.of(work, [numbers[i] for i in generator(work.seed, *path).permutation(len(numbers))], *path)

    @classmethod
    def of(cls, work: RankingTask, order: Sequence[int], *path: str | int) -> "Sheet":
        """Return the sheet of the call at `path` that shows the options numbered `order`, in that order."""
        labels = dict(zip(_labels(len(order)), map(int, order), strict=True))
        return cls(work, labels, generator(work.seed, "mark", *path).bytes(6).hex())

    @property
    def listed(self) -> str:
        """The labels in the order shown, for a prompt."""
        return ", ".join(self.labels)

    @property
    def quoted(self) -> str:
        """The solutions, each under its label and between two lines that hold the mark."""
        return "\n\n".join(f"Solution {label}\n{self.quote(number)}" for label, number in self.labels.items())

    def quote(self, number: int) -> str:
        """Return one option's solution between two lines that hold the mark."""
        return self.enclose(shorten(neutral(self.work.options[number].solution), self.work.max_solution_chars))

    def enclose(self, text: str) -> str:
        """Return any text, without what only a machine would see, between two lines that hold the mark."""
        return f"--- {self.mark} ---\n{neutral(text)}\n--- {self.mark} ---"

    def annotate(self, call: int) -> "RunnableConfig":
        """Return the configuration of call number `call`; labels with their answers are for traces and scripted judges."""
        from langchain_core.runnables import RunnableConfig  # noqa: PLC0415 - loaded by whoever opened the judge

        labels = {label: self.work.options[number].answer for label, number in self.labels.items()}
        metadata = {**self.work.config.get("metadata", {}), "sample": call, "labels": labels}
        return RunnableConfig(**{**self.work.config, "metadata": metadata})


def shorten(solution: str, most: int) -> str:
    """Return the solution with its middle left out, and a note of it, where it is longer than `most` characters."""
    if len(solution) <= most:
        return solution
    half = max(1, most // 2)
    return f"{solution[:half]}\n[{len(solution) - 2 * half} characters left out]\n{solution[-half:]}"


def _labels(count: int) -> list[str]:
    return [ascii_uppercase[i] if count <= len(ascii_uppercase) else f"S{i + 1}" for i in range(count)]
