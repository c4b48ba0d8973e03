"""What an answer to a task looks like: how it is found in a text, and when two of them are one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from aligngraph.answers.choices import Choice, chosen_letter, find_options
from aligngraph.answers.equivalence import AnswerClass, group_answers
from aligngraph.answers.extraction import declared_answer, extract_answer
from aligngraph.answers.kinds import AnswerKind, guess_kind
from aligngraph.answers.structure import read_math, read_text
from aligngraph.answers.texts import code_key, json_key
from aligngraph.answers.tree import Node, Opaque


@dataclass(frozen=True)
class AnswerForm:
    """The form of the answers to one task.

    Attributes:
        kind: `number` and `math` are read as mathematics, `choice` as one of the options, `text` as a number or words,
            `code` and `json` as what they are.
        choices: letters and texts of the options that a task of kind `choice` lists; none where it lists none.
        guessed: whether the kind was guessed from the task's text.
    """

    kind: AnswerKind = "text"
    choices: tuple[Choice, ...] = ()
    guessed: bool = False

    @classmethod
    def of(cls, task: str, kind: AnswerKind | Literal["auto"] = "auto") -> "AnswerForm":
        """Return the form of the answers to a task; `auto` guesses the kind and says so."""
        known = guess_kind(task) if kind == "auto" else kind
        return cls(known, find_options(task) if known == "choice" else (), guessed=kind == "auto")

    def extract(self, text: str) -> str | None:
        """Return the final answer that the text states, or None where it states none of this kind.

        Where the kind is a guess, a plainly declared answer of another kind is an answer as well.
        """
        answer = extract_answer(text, self.kind, self.choices)
        return declared_answer(text) if answer is None and self.guessed else answer

    def group(self, answers: Sequence[str | None]) -> tuple[AnswerClass, ...]:
        """Return the classes of equal answers in the order of their first members; None belongs to no class.

        Mathematics beyond plain numbers asks a worker process: this may block, for seconds where an answer is hostile.
        """
        return group_answers(answers, self._read)

    def same(self, one: str, other: str) -> bool:
        """Return whether two answers are one."""
        return len(self.group([one, other])) == 1

    def _read(self, answer: str) -> Node:
        if self.kind == "choice":
            return Opaque(("option", letter)) if (letter := chosen_letter(answer, self.choices)) else read_text(answer)
        return _READERS[self.kind](answer)


_READERS: dict[AnswerKind, Callable[[str], Node]] = {
    "number": read_math,
    "math": read_math,
    "text": read_text,
    "code": lambda answer: Opaque(code_key(answer)),
    "json": lambda answer: Opaque(json_key(answer)),
}
