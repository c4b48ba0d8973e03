"""The team: who proposes, who ranks, and how the game is played and learned from."""

import os
import tomllib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from aligngraph.answers import AnswerKind
from aligngraph.errors import TeamError
from aligngraph.models import ModelSpec
from aligngraph.ranking.specs import models_needed
from aligngraph.roles import Agent, JudgeTable, Model, Price, Principal, Table, nearest

TEAM_VARIABLE = "ALIGNGRAPH_TEAM"

LearningMode = Literal["on", "frozen", "shadow"]


class Answers(Table):
    """What an answer looks like.

    Attributes:
        kind: how answers are read and compared; `auto` guesses it from the task.
        judge: a model that says whether two texts are one answer, of up to eight; without it normalised texts are compared.
        price: of that model.
    """

    kind: Literal["auto", AnswerKind] = "auto"
    judge: Model | None = None
    price: Price | None = None


class Game(Table):
    """How the delegation game of one task is played; see docs/algorithm.md."""

    step_size: float = Field(default=1.0, gt=0, le=1000)
    anchor: Literal["trust"] | Annotated[float, Field(ge=0, le=1e6)] = "trust"
    smoothing: float = Field(default=0.5, gt=0, le=1e6)
    max_steps: int = Field(default=200, ge=1, le=100_000)
    max_rounds: int = Field(default=1, ge=1, le=20)


class Learning(Table):
    """What a task leaves behind: `on` learns, `frozen` does not, `shadow` learns but decides by plain vote."""

    mode: LearningMode = "on"


class Budget(Table):
    """Caps for one run. None is enforced yet, so that naming one is an error rather than a false promise."""

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, table: object) -> object:
        if table and isinstance(table, dict):
            raise ValueError(f"caps are not enforced yet: remove {', '.join(map(str, table))}")
        return table


class Team(Table):
    """Agents, a principal, and the rules between them."""

    agents: tuple[Agent, ...]
    principal: Principal
    answers: Answers = Answers()
    game: Game = Game()
    learning: Learning = Learning()
    budget: Budget = Budget()

    @model_validator(mode="after")
    def _name_each_agent_once(self) -> Self:
        names = [agent.name for agent in self.agents]
        if not names:
            raise ValueError("no agents: a team needs at least one [[agents]] table")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"agent names must be unique: {', '.join(map(repr, repeated))} occurs more than once")
        return self

    @model_validator(mode="after")
    def _pay_once(self) -> Self:
        if self.answers.judge is not None and self.principal.ranker.name == "human":
            raise ValueError("answers.judge would be asked anew with every reply of the ranker 'human': leave one out")
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """Return the team of a TOML file; without one that of `ALIGNGRAPH_TEAM`, else the one in the package.

        Raises:
            TeamError: the file is missing, is not TOML or says something unknown; the message names the place.
        """
        chosen = path or os.environ.get(TEAM_VARIABLE)
        if not chosen:
            return cls.parse(
                files("aligngraph").joinpath("default_team.toml").read_text(encoding="utf-8"), "default team"
            )
        try:
            text = Path(chosen).read_text(encoding="utf-8")
        except OSError as error:
            raise TeamError(f"team file {os.fspath(chosen)!r} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise TeamError(f"team file {os.fspath(chosen)!r} is not UTF-8 text") from error
        return cls.parse(text, os.fspath(chosen), folder=Path(chosen).parent)

    @classmethod
    def parse(cls, text: str, source: str, *, folder: Path | None = None) -> Self:
        """Return the team that the TOML `text` describes; model files are sought below `folder`.

        Raises:
            TeamError: `text` is not TOML or says something unknown; the message names `source` and the place.
        """
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TeamError(f"{source}: not TOML: {error}") from error
        try:
            return cls.model_validate(table if folder is None else _resolve_files(table, folder))
        except ValidationError as error:
            raise TeamError(f"{source}: {'; '.join(map(_describe, error.errors()))}") from error

    @property
    def judging_models(self) -> tuple[Model, ...]:
        """The models that rank, those that stand in for them, and the one that compares texts."""
        asked = (judge.model for judge in self.principal.judges if models_needed(judge.ranker))
        return (*asked, *self.principal.fallback, *([self.answers.judge] if self.answers.judge is not None else []))

    def relatives(self, judge: JudgeTable) -> list[str]:
        """Return the names of the agents that work with the model that `judge` asks."""
        if not models_needed(judge.ranker):
            return []
        return [agent.name for agent in self.agents if _same_model(agent.model, judge.model)]

    def describe(self) -> dict[str, Any]:
        """Return the team as plain JSON types, models as their labels; no key or other secret is in it."""
        return self.model_dump(mode="json")


def _same_model(one: Model, other: Model) -> bool:
    """Return whether both are one model at one place, whatever else is set."""
    if isinstance(one, ModelSpec) and isinstance(other, ModelSpec):
        return (one.provider, one.name, one.base_url) == (other.provider, other.name, other.base_url)
    return one is other


def _resolve_files(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the table with relative files of `scripted:` and `embedded:` models placed below the team's folder."""
    return {key: _resolve_files_in(value, folder) for key, value in table.items()}


def _resolve_files_in(value: Any, folder: Path) -> Any:  # noqa: ANN401 - whatever TOML holds
    if isinstance(value, dict):
        return _resolve_files(value, folder)
    if isinstance(value, list):
        return [_resolve_files_in(item, folder) for item in value]
    scheme, colon, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    if colon and (scheme == "scripted" or (scheme == "embedded" and name.endswith(".gguf"))):
        return f"{scheme}:{folder / name}"
    return value


def _describe(error: ErrorDetails) -> str:
    """Return one finding of the validation as `place: what is wrong`, with the nearest known key where there is one."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        return f"{place}: unknown key {key!r}{nearest(key, _known_keys(error['loc']))}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _known_keys(location: tuple[int | str, ...]) -> Iterable[str]:
    """Return the keys allowed beside the unknown one at `location`, in which a ranker's table stands under its name."""
    tables: list[type[BaseModel]] = [Team]
    for part in location[:-1]:
        if part in tables[0].model_fields:
            tables = list(_tables_in(tables[0].model_fields[str(part)].annotation)) or tables
        elif isinstance(part, str):
            tables = [table for table in tables if table.model_fields["name"].default == part] or tables
    return tables[0].model_fields


def _tables_in(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - any annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _tables_in(argument)
