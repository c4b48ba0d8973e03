"""Recorded candidates: questions with the answers, and where kept the solutions or scores, that models once gave."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aligngraph.answers import AnswerForm, AnswerKind
from aligngraph.errors import UsageError
from aligngraph.ranking import Option


@dataclass(frozen=True)
class RecordedQuestion:
    """One question with its distinct answers, at least two.

    Attributes:
        options: each answer with the first solution that reaches it; the answer alone where no solutions were kept.
        right: of each option, whether it is right.
        votes: of each option, how many candidates gave it.
        scores: of each option, the reward of its first candidate; None where none was recorded.
    """

    id: str
    task: str
    kind: AnswerKind
    options: tuple[Option, ...]
    right: tuple[bool, ...]
    votes: tuple[int, ...]
    scores: tuple[float, ...] | None = None


def read_questions(folder: Path, kind: AnswerKind) -> list[RecordedQuestion]:
    """Return the questions of the panel in `folder` that have at least two distinct answers.

    Raises:
        UsageError: a file is missing or is not what it should be.
    """
    panel = _read_lines(folder / "panel.jsonl")
    texts = (
        {(row["id"], row["source"]): row["text"] for row in _read_lines(folder / "texts.jsonl")}
        if has_texts(folder)
        else {}
    )
    names = [source["name"] for source in json.loads(_read(folder / "sources.json"))] if texts else []
    found = [
        _question(row, kind, {number: texts.get((row["id"], name), "") for number, name in enumerate(names)})
        for row in panel
    ]
    return [question for question in found if len(question.options) > 1]


def has_texts(folder: Path) -> bool:
    """Return whether the whole solutions of a panel were kept."""
    return (folder / "texts.jsonl").exists()


def _question(row: Mapping[str, Any], kind: AnswerKind, texts: Mapping[int, str]) -> RecordedQuestion:
    given = [number for number, answer in enumerate(row["answers"]) if answer is not None]
    groups = AnswerForm.of(row["question"], kind).group([str(row["answers"][number]) for number in given])
    firsts = [given[group.members[0]] for group in groups]
    scores = row.get("rm_score")
    return RecordedQuestion(
        row["id"],
        row["question"],
        kind,
        tuple(
            Option(group.answer, texts.get(first) or group.answer) for group, first in zip(groups, firsts, strict=True)
        ),
        tuple(bool(row["ok"][first]) for first in firsts),
        tuple(len(group.members) for group in groups),
        tuple(float(scores[first][-1]) for first in firsts) if scores else None,
    )


def _read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in _read(path).splitlines()]
    except ValueError as error:
        raise UsageError(f"{path} is not a file of JSON lines: {error}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; --data names the folder of the recorded panels"
        ) from error
