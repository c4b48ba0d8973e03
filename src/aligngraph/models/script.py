"""The script of a scripted model: JSON Lines, one answer a row."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aligngraph.errors import ModelError, ScriptError


class RowUsage(BaseModel):
    """Token counts that a row reports instead of counted words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: int = Field(ge=0)
    completion: int = Field(ge=0)


class Row(BaseModel):
    """One answer, or one failure, of one agent.

    Attributes:
        agent: who answers.
        task: the task's id; None or "*" for any.
        sample: the sample's index; None for any.
        text: the answer; `{label:X}` in it becomes the anonymous label under which the call shows the answer X.
        latency_s: seconds before the answer or failure comes.
        error: fail with this text instead of answering; "timeout" is a TimeoutError.
        usage: token counts; None counts words.
        logprob_mean: mean log-probability of a token, reported as a provider does; None reports none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = Field(min_length=1)
    task: str | None = None
    sample: int | None = Field(default=None, ge=0)
    text: str | None = None
    latency_s: float = Field(default=0, ge=0)
    error: str | None = None
    usage: RowUsage | None = None
    logprob_mean: float | None = Field(default=None, le=0)

    @model_validator(mode="after")
    def _answers_or_fails(self) -> Self:
        if (self.text is None) == (self.error is None):
            raise ValueError('needs either "text" or "error"')
        return self

    @property
    def cue(self) -> "Cue":
        """The calls that this row answers."""
        return Cue(self.agent, None if self.task == "*" else self.task, self.sample)


@dataclass(frozen=True)
class Cue:
    """Which call, or which calls: None stands for any."""

    agent: str | None
    task: str | None
    sample: int | None


@dataclass(frozen=True)
class Script:
    """The rows of one file, by cue."""

    path: Path
    rows: Mapping[Cue, Row] = field(repr=False)

    def row_for(self, cue: Cue) -> Row:
        """Return the most specific row: task and sample, before the task, before the sample, before the agent alone.

        Raises:
            ScriptError: the script holds none.
        """
        for task, sample in ((cue.task, cue.sample), (cue.task, None), (None, cue.sample), (None, None)):
            if row := self.rows.get(Cue(str(cue.agent), task, sample)):
                return row
        raise ScriptError(
            f"script {str(self.path)!r} holds no row for agent {cue.agent!r}, task {cue.task!r}, sample {cue.sample!r}",
        )


def load_script(path: Path) -> Script:
    """Return the script in `path`, read again only after the file has changed.

    Raises:
        ModelError: the file cannot be read, or a line is not a row or repeats one; says which line.
    """
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError as error:
        raise ModelError(f"script {str(path)!r} cannot be read: {error.strerror}") from error
    return _load(path, changed_ns)


@functools.lru_cache(maxsize=64)
def _load(path: Path, _changed_ns: int) -> Script:
    rows: dict[Cue, Row] = {}
    for number, line in enumerate(_read_lines(path), start=1):
        if line.strip():
            row = _parse_row(line, f"script {str(path)!r}, line {number}")
            if row.cue in rows:
                raise ModelError(f"script {str(path)!r}, line {number}: repeats an earlier row for {row.cue}")
            rows[row.cue] = row
    return Script(path, rows)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"script {str(path)!r} cannot be read: {error}") from error


def _parse_row(line: str, where: str) -> Row:
    try:
        return Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ModelError(f"{where}: {f'key {key!r}: ' if key else ''}{first['msg']}") from error
