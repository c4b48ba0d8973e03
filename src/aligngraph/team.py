"""The team: who proposes, who ranks, and how the game is played and learned from."""

import os
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from aligngraph.calling.settings import CircuitSettings, RetrySettings
from aligngraph.errors import TeamError
from aligngraph.models import ModelSpec
from aligngraph.ranking.specs import models_needed
from aligngraph.roles import Agent, JudgeTable, Model, Principal, Table
from aligngraph.settings import Answers, Budget, Cache, Game, Learning, Privacy
from aligngraph.spelling import nearest

TEAM_VARIABLE = "ALIGNGRAPH_TEAM"

_CAPS = {"calls", "tokens", "seconds", "money"}
_OPERATIONAL: dict[str, Any] = {
    **dict.fromkeys(("retry", "circuit", "cache", "privacy", "allow_unsafe_programs"), True),
    "budget": _CAPS,
}


class Team(Table):
    """Agents, a principal, and the rules between them.

    Attributes:
        strategy_folder: where the agents' own strategies lie, below the folder of the team file; only `load` and `parse`
            look there. What a run remembers of a team is the strategies' content, not this place.
        allow_unsafe_programs: whether programs that a model wrote run even where the system cannot confine them.
    """

    agents: tuple[Agent, ...]
    principal: Principal
    answers: Answers = Answers()
    game: Game = Game()
    learning: Learning = Learning()
    budget: Budget = Budget()
    retry: RetrySettings = RetrySettings()
    circuit: CircuitSettings = CircuitSettings()
    cache: Cache = Cache()
    privacy: Privacy = Privacy()
    strategy_folder: str = Field(default="strategies", min_length=1, exclude=True)
    allow_unsafe_programs: bool = False

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

    @model_validator(mode="after")
    def _need_no_texts_that_nobody_keeps(self) -> Self:
        if not self.privacy.store_texts and self.cache.responses:
            raise ValueError("cache.responses keeps texts, which privacy.store_texts = false forbids: leave one out")
        if not self.privacy.store_texts and self.principal.ranker.name == "human":
            raise ValueError("a run that waits for a person needs its texts, which privacy.store_texts = false forbids")
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
        """Return the team that the TOML `text` describes; files that it names are sought below `folder`.

        Raises:
            TeamError: `text` is not TOML or says something unknown; the message names `source` and the place.
        """
        try:
            table = tomllib.loads(text)
            resolved = table if folder is None else _resolve_files(table, folder)
        except tomllib.TOMLDecodeError as error:
            raise TeamError(f"{source}: not TOML: {error}") from error
        except (ValueError, RecursionError) as error:  # numbers too long, tables too deep
            raise TeamError(f"{source}: not TOML that can be read: {error}") from error
        try:
            return cls.model_validate(resolved, context=_strategy_folder(table, folder))
        except ValidationError as error:
            raise TeamError(f"{source}: {'; '.join(map(_describe, error.errors()))}") from error

    @property
    def arms(self) -> dict[str, str]:
        """The arms of all agents, with the digests of what they are made of."""
        return {arm: made_of for agent in self.agents for arm, made_of in agent.arms.items()}

    @property
    def samples(self) -> int:
        """Samples that all agents together draw in a round."""
        return min(sum(agent.samples for agent in self.agents), self.budget.samples or sys.maxsize)

    @property
    def proposing_models(self) -> tuple[Model, ...]:
        """The models of the agents, and those that stand in for them."""
        return tuple(model for agent in self.agents for model in (agent.model, *agent.fallback))

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
        """Return what decides the answers, as plain JSON types, models as their labels; no key or other secret is in it.

        How calls are limited and repeated is not: a run that was stopped may go on with a larger budget.
        """
        return self.model_dump(mode="json", exclude=_OPERATIONAL)


def _same_model(one: Model, other: Model) -> bool:
    """Return whether both are one model at one place, whatever else is set."""
    if isinstance(one, ModelSpec) and isinstance(other, ModelSpec):
        return one.place == other.place
    return one is other


def _strategy_folder(table: dict[str, Any], folder: Path | None) -> Path | None:
    """Return where the team's own strategies lie; validation says what is wrong with a place that is no text."""
    named = table.get("strategy_folder", Team.model_fields["strategy_folder"].default)
    return None if folder is None else folder / str(named)


def _resolve_files(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the table with relative files of models and of examples placed below the team's folder."""
    return {key: _resolve_files_in(value, folder, key) for key, value in table.items()}


def _resolve_files_in(value: Any, folder: Path, key: str) -> Any:  # noqa: ANN401 - whatever TOML holds
    if isinstance(value, dict):
        return _resolve_files(value, folder)
    if isinstance(value, list):
        return [_resolve_files_in(item, folder, key) for item in value]
    if key == "examples" and isinstance(value, str):
        return str(folder / value)
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
