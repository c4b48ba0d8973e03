"""The team: who proposes, who ranks, and how the game is played and learned from."""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError, model_validator
from pydantic_core import ErrorDetails

from aligngraph.errors import ModelError, TeamError
from aligngraph.models import ModelSpec, model_label, parse_spec
from aligngraph.prompts import STRATEGIES

TEAM_VARIABLE = "ALIGNGRAPH_TEAM"
NODE_NAMES = ("intake", "principal", "policy_update", "answer")
_AGENT_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")

LearningMode = Literal["on", "frozen", "shadow"]


def _read_model(value: object) -> object:
    """Return a model spec for a string or table; a LangChain chat model passes through."""
    if isinstance(value, ModelSpec):
        return value
    if not isinstance(value, str | Mapping):
        return _check_chat_model(value)
    try:
        return parse_spec(value)
    except ModelError as error:
        raise ValueError(str(error)) from error


def _check_chat_model(value: object) -> object:
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - half a second that team files need not pay

    if not isinstance(value, BaseChatModel):
        allowed = "a string such as 'openai:gpt-4.1-mini', a table or a LangChain chat model"
        raise ValueError(f"got an object of type {type(value).__name__!r}; a model is {allowed}")  # noqa: TRY004 - pydantic collects ValueError
    return value


def _check_strategy(name: str) -> str:
    if name not in STRATEGIES:
        raise ValueError(f"unknown strategy {name!r}{nearest(name, STRATEGIES)}")
    return name


Model = Annotated[Any, BeforeValidator(_read_model), PlainSerializer(model_label)]
Strategy = Annotated[str, BeforeValidator(_check_strategy)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Price(_Table):
    """What a model costs, in money per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class Agent(_Table):
    """One proposer: a model with one or more strategies (its arms).

    Attributes:
        samples: candidates per task, all arms together, dealt to the strategies in turn.
        timeout_s: seconds after which one call counts as failed.
    """

    name: str
    model: Model
    strategies: tuple[Strategy, ...] = Field(default=("step_by_step",), min_length=1)
    samples: int = Field(default=2, ge=1, le=1000)
    temperature: float = Field(default=0.7, ge=0, le=2)
    timeout_s: float = Field(default=60, gt=0, le=86_400)
    price: Price | None = None

    @model_validator(mode="after")
    def _name_a_node(self) -> Self:
        if not _AGENT_NAME.fullmatch(self.name):
            raise ValueError(f"agent name {self.name!r}: use up to 64 letters, digits, '_', '-' and '.'")
        if self.name in NODE_NAMES:
            raise ValueError(f"agent name {self.name!r} belongs to a node of the graph ({', '.join(NODE_NAMES)})")
        return self

    @model_validator(mode="after")
    def _give_each_strategy_a_sample(self) -> Self:
        repeated = sorted({name for name in self.strategies if self.strategies.count(name) > 1})
        if repeated:
            raise ValueError(f"strategies must be unique: {', '.join(map(repr, repeated))} occurs more than once")
        if len(self.strategies) > self.samples:
            raise ValueError(
                f"{len(self.strategies)} strategies, samples = {self.samples}: each needs a sample of its own"
            )
        return self

    def strategy(self, sample: int) -> str:
        """Return the strategy of sample number `sample`, from 0."""
        return self.strategies[sample % len(self.strategies)]


class Principal(_Table):
    """Who ranks: a model, how it is asked, and the models that stand in when it fails."""

    model: Model
    ranker: Literal["listwise"] = "listwise"
    fallback: tuple[Model, ...] = ()
    timeout_s: float = Field(default=60, gt=0, le=86_400)
    price: Price | None = None


class Game(_Table):
    """How the delegation game of one task is played; see docs/algorithm.md."""

    step_size: float = Field(default=1.0, gt=0, le=1000)
    anchor: Literal["trust"] | Annotated[float, Field(ge=0, le=1e6)] = "trust"
    smoothing: float = Field(default=0.5, gt=0, le=1e6)
    max_steps: int = Field(default=200, ge=1, le=100_000)
    max_rounds: int = Field(default=1, ge=1, le=20)


class Learning(_Table):
    """What a task leaves behind: `on` learns, `frozen` does not, `shadow` learns but decides by plain vote."""

    mode: LearningMode = "on"


class Budget(_Table):
    """Caps for one run. None is enforced yet, so that naming one is an error rather than a false promise."""

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, table: object) -> object:
        if table and isinstance(table, Mapping):
            raise ValueError(f"caps are not enforced yet: remove {', '.join(map(str, table))}")
        return table


class Team(_Table):
    """Agents, a principal, and the rules between them."""

    agents: tuple[Agent, ...]
    principal: Principal
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

    def describe(self) -> dict[str, Any]:
        """Return the team as plain JSON types, models as their labels; no key or other secret is in it."""
        return self.model_dump(mode="json")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known word most like `word`, else the list of known words."""
    known = sorted(known)
    matches = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else f"; known: {', '.join(known)}"


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
    """Return the keys allowed beside the unknown one at `location`."""
    table: type[BaseModel] = Team
    for part in location[:-1]:
        if isinstance(part, str):
            table = next(_tables_in(table.model_fields[part].annotation), table)
    return table.model_fields


def _tables_in(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - any annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _tables_in(argument)
