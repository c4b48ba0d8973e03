"""Strategies: how an agent works on a task, a Markdown file each.

A file holds turns between lines of `---`: the first is the system text, each further one is sent when the model has
replied. It may begin with TOML between two lines of `+++`: `reply`, and `examples`, a file beside it. Braces are text.
"""

import json
import re
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from aligngraph.errors import TeamError
from aligngraph.prompts import STRATEGIES
from aligngraph.spelling import nearest

NEEDS_EXAMPLES = "few_shot"
AS_IS = "as_is"  # the one strategy without a text, and so without a file
BUILT_IN = {**STRATEGIES, AS_IS: ""}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_FRONT = re.compile(r"\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TURN = re.compile(r"^---[ \t]*$", re.MULTILINE)

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Reply = Literal["text", "program"]


class Example(BaseModel):
    """A task with its solution, which a model is shown as its own reply."""

    model_config = ConfigDict(frozen=True)  # further columns of a data set are no error

    task: Text
    solution: Text


class Strategy(BaseModel):
    """How an agent works on a task.

    Attributes:
        name: the second half of its arm's name, `agent/strategy`.
        turns: the system text, then what is said to the model after each of its replies but the last. Without any the
            chat is shown as it came, which only `as_is` does.
        reply: what its last reply holds, a solution in words or one Python program whose value is the answer.
        examples: solved tasks, shown before the task.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=f"^{_NAME.pattern}$")
    turns: tuple[Text, ...]
    reply: Reply = "text"
    examples: tuple[Example, ...] = ()

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        if not self.turns and (self.name != AS_IS or self.examples):
            raise ValueError(f"turns: at least one is needed; {AS_IS!r} alone has none, and no examples")
        return self

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that change with anything in it but its name."""
        content = json.dumps(self.model_dump(mode="json", exclude={"name"}), sort_keys=True)
        return blake2b(content.encode(), digest_size=8).hexdigest()

    @property
    def label(self) -> str:
        """The name with the digest, as `name@digest`: what a run remembers of a strategy."""
        return f"{self.name}@{self.digest}"


class _Entry(BaseModel):
    """What a team says about a strategy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    examples: Text | None = None


class _Front(BaseModel):
    """What a strategy's file says before its turns."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reply: Reply = "text"
    examples: Text | None = None


@dataclass(frozen=True)
class _File:
    """The text of a strategy's file; `place` is its name in messages, `folder` where the files that it names lie."""

    place: str
    folder: Path
    text: str

    @property
    def front(self) -> _Front:
        found = self._begin()
        try:
            return _Front.model_validate(tomllib.loads(found["toml"]) if found else {})
        except tomllib.TOMLDecodeError as error:
            raise TeamError(f"{self.place}: between the lines of +++: not TOML: {error}") from error
        except ValidationError as error:
            raise TeamError(
                f"{self.place}: between the lines of +++: {_finding(error, _Front.model_fields)}"
            ) from error
        except (ValueError, RecursionError) as error:  # numbers too long, tables too deep
            raise TeamError(f"{self.place}: between the lines of +++: not TOML that can be read: {error}") from error

    @property
    def turns(self) -> tuple[str, ...]:
        found = self._begin()
        turns = tuple(turn.strip() for turn in _TURN.split(self.text[found.end() if found else 0 :]))
        if "" in turns:
            raise TeamError(f"{self.place}: turn {turns.index('') + 1} of {len(turns)} is empty")
        return turns

    def _begin(self) -> re.Match[str] | None:
        found = _FRONT.match(self.text)
        if found is None and re.match(r"\+\+\+[ \t]*$", self.text, re.MULTILINE):
            raise TeamError(f"{self.place}: begins with a line of +++, but no second one ends what it says")
        return found


def find_strategy(entry: str | Mapping[str, object], folder: Path | None = None) -> Strategy:
    """Return the strategy that a name or a table `{ name = ..., examples = ... }` stands for.

    A name is that of a built-in strategy or of a file `NAME.md` in `folder`. The examples of a table take the place of
    those that the file names.

    Raises:
        TeamError: there is no such strategy, its file or its examples cannot be read, or it needs examples.
    """
    wanted = _read_entry(entry)
    file = _find_file(wanted.name, folder)
    if wanted.name == AS_IS:
        return _as_is(wanted)
    named = file.front.examples and file.folder / file.front.examples
    chosen = wanted.examples or named
    if wanted.name == NEEDS_EXAMPLES and not chosen:
        table = f'{{ name = "{NEEDS_EXAMPLES}", examples = "examples.jsonl" }}'
        raise TeamError(
            f'strategy {NEEDS_EXAMPLES!r} needs examples: write {table}, a file with a "task" and a "solution" in each line'
        )
    examples = _read_examples(Path(chosen)) if chosen else ()
    return Strategy(name=wanted.name, turns=file.turns, reply=file.front.reply, examples=examples)


def _as_is(wanted: _Entry) -> Strategy:
    if wanted.examples:
        raise TeamError(f"strategy {AS_IS!r} shows the chat as it came: it takes no examples")
    return Strategy(name=AS_IS, turns=())


def _read_entry(entry: str | Mapping[str, object]) -> _Entry:
    try:
        return _Entry.model_validate({"name": entry} if isinstance(entry, str) else dict(entry))
    except ValidationError as error:
        raise TeamError(f"table of a strategy: {_finding(error, _Entry.model_fields)}") from error


def _find_file(name: str, folder: Path | None) -> _File:
    path = folder / f"{name}.md" if folder and _NAME.fullmatch(name) else None
    own = _read_if_there(path) if path else None
    if name in BUILT_IN:
        if own is not None:
            raise TeamError(f"strategy {name!r} is built in: give your own file {path} another name")
        return _File(f"built-in strategy {name!r}", Path(), BUILT_IN[name])
    if path is None or own is None:
        raise TeamError(_unknown(name, folder))
    return _File(str(path), path.parent, own.strip())


def _unknown(name: str, folder: Path | None) -> str:
    # Own files are not looked through for a like name: a server forbids to list a folder where it draws a graph.
    if folder is None:
        sought = "own ones need a team file, and a folder 'strategies' beside it"
    elif _NAME.fullmatch(name):
        sought = f"there is no file {folder / name}.md"
    else:
        sought = "own ones have up to 41 of the characters a-z, 0-9 and _ in their name, a letter first"
    return f"unknown strategy {name!r}{nearest(name, BUILT_IN)} ({sought})"


def _read_examples(path: Path) -> tuple[Example, ...]:
    """Return the examples of a JSONL file, in its order."""
    # Not splitlines: within JSON other line ends than \n are text.
    lines = enumerate(_read_text(path).split("\n"), 1)
    examples = tuple(_read_example(line, f"{path}, line {number}") for number, line in lines if line.strip())
    if not examples:
        raise TeamError(f"{path} holds no examples")
    return examples


def _read_example(line: str, place: str) -> Example:
    try:
        return Example.model_validate_json(line)
    except ValidationError as error:
        raise TeamError(f"{place}: {_finding(error, Example.model_fields)}") from error


def _read_text(path: Path) -> str:
    text = _read_if_there(path)
    if text is None:
        raise TeamError(f"{path} cannot be read: there is no such file")
    return text


def _read_if_there(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a byte order mark
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TeamError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TeamError(f"{path} is not UTF-8 text") from error


def _finding(error: ValidationError, known: Iterable[str]) -> str:
    """Return the first thing that is wrong, in one line."""
    first: Any = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}{nearest(key, known)}"
    if first["type"] == "missing":
        return f"key {key!r} is missing"
    return f"{key} = {reprlib.repr(first['input'])}: {first['msg']}" if key else first["msg"]
