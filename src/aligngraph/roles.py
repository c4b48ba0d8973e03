"""The roles of a team, as its file describes them: agents that propose, a principal that ranks."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from aligngraph.errors import ModelError
from aligngraph.models import ModelSpec, model_label, parse_spec
from aligngraph.prompts import STRATEGIES
from aligngraph.ranking.specs import ListwiseSpec, RankerSpec, models_needed

NODE_NAMES = ("intake", "principal", "policy_update", "answer")
_AGENT_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known word most like `word`, else the list of known words."""
    known = sorted(known)
    matches = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else f"; known: {', '.join(known)}"


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


Model = Annotated[Any, BeforeValidator(_read_model), PlainSerializer(model_label, when_used="unless-none")]
Strategy = Annotated[str, BeforeValidator(_check_strategy)]


class Table(BaseModel):
    """A table of a team file: no unknown key, no change after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Price(Table):
    """What a model costs, in money per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class Agent(Table):
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


class JudgeTable(Table):
    """One who ranks: a model, and how it is asked. Rankers that ask no model (a program, a person) need none."""

    model: Model | None = None
    ranker: RankerSpec = ListwiseSpec()
    price: Price | None = None

    @model_validator(mode="after")
    def _name_a_model(self) -> Self:
        if self.model is None and models_needed(self.ranker):
            raise ValueError(f"ranker {self.ranker.name!r} needs a model")
        return self

    @property
    def label(self) -> str:
        """The model that it asks, else its ranker."""
        return self.ranker.name if self.model is None or not models_needed(self.ranker) else model_label(self.model)

    @property
    def arm(self) -> str:
        """The name under which its trust is learned where it is one of several."""
        return f"principal/{self.ranker.name}@{self.label}"


class Principal(JudgeTable):
    """Who ranks.

    Attributes:
        panel: further judges; what all of them say is pooled by what each has earned.
        recuse: whether a judge sees no candidates of agents that share its model.
        fallback: models that rank, one after the other, when nobody else could.
        timeout_s: seconds after which one call counts as failed.
    """

    panel: tuple[JudgeTable, ...] = ()
    recuse: bool = False
    fallback: tuple[Model, ...] = ()
    timeout_s: float = Field(default=60, gt=0, le=86_400)

    @model_validator(mode="after")
    def _seat_a_panel(self) -> Self:
        arms = [judge.arm for judge in self.judges]
        if len(set(arms)) < len(arms):
            raise ValueError("judges of a panel must differ in model or ranker")
        if self.panel and any(judge.ranker.name == "human" for judge in self.judges):
            raise ValueError("a person ranks alone: leave the panel out, or the ranker 'human'")
        if self.fallback and not models_needed(self.ranker):
            raise ValueError(f"fallback: ranker {self.ranker.name!r} asks no model that another could stand in for")
        return self

    @property
    def judges(self) -> tuple[JudgeTable, ...]:
        """The principal itself and its panel."""
        return (self, *self.panel)
