"""The roles of a team, as its file describes them: agents that propose, a principal that ranks."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo, model_validator

from aligngraph.errors import ModelError
from aligngraph.models import ModelSpec, RunnableModel, TokenCounts, model_label, parse_spec
from aligngraph.ranking.specs import ListwiseSpec, RankerSpec, models_needed
from aligngraph.strategies import AS_IS, Strategy, find_strategy

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import Runnable

NODE_NAMES = ("intake", "settle", "principal", "policy_update", "answer")
PRINCIPAL = "principal"
_AGENT_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


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
        allowed = "a string such as 'openai:gpt-4.1-mini', a table or a LangChain chat model; Agent.from_runnable takes others"
        raise ValueError(f"got an object of type {type(value).__name__!r}; a model is {allowed}")  # noqa: TRY004 - pydantic collects ValueError
    return value


def _read_agent_model(value: object) -> object:
    return value if isinstance(value, RunnableModel) else _read_model(value)


def _read_strategy(value: object, info: ValidationInfo) -> object:
    """Return the strategy of a name or table; own ones lie in the folder that is the validation's context, if any."""
    if isinstance(value, Strategy):
        return value
    if not isinstance(value, str | Mapping):
        table = '{ name = "few_shot", examples = "examples.jsonl" }'
        raise ValueError(f"got {value!r}; a strategy is a name such as 'direct', or a table such as {table}")  # noqa: TRY004 - pydantic collects ValueError
    return find_strategy(value, info.context)


Model = Annotated[Any, BeforeValidator(_read_model), PlainSerializer(model_label, when_used="unless-none")]
AgentModel = Annotated[Any, BeforeValidator(_read_agent_model), PlainSerializer(model_label)]
AgentStrategy = Annotated[Strategy, BeforeValidator(_read_strategy), PlainSerializer(lambda strategy: strategy.label)]


class Table(BaseModel):
    """A table of a team file: no unknown key, no change after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Price(Table):
    """What a model costs, in money per million tokens; `cached` ones of the prompt cost as much as others by default."""

    prompt: float = Field(ge=0, le=1e9)
    completion: float = Field(ge=0, le=1e9)
    cached: float | None = Field(default=None, ge=0, le=1e9)

    def cost(self, counts: TokenCounts) -> float:
        """Return what a call with these tokens costs."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = counts.prompt - counts.cached
        return (fresh * self.prompt + counts.cached * cached + counts.completion * self.completion) / 1e6


class Agent(Table):
    """One proposer: a model with one or more strategies (its arms).

    Attributes:
        samples: candidates per task, all arms together, dealt to the strategies in turn.
        timeout_s: seconds after which one call counts as failed.
        total_timeout_s: seconds that all calls of one round may take together, retries and waits included; None for any.
        fallback: models that are asked in turn, sample by sample, where the model failed; their price is looked up.
    """

    name: str
    model: AgentModel
    strategies: tuple[AgentStrategy, ...] = Field(default=(find_strategy("step_by_step"),), min_length=1)
    samples: int = Field(default=2, ge=1, le=1000)
    temperature: float = Field(default=0.7, ge=0, le=2)
    timeout_s: float = Field(default=60, gt=0, le=86_400)
    total_timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    price: Price | None = None
    fallback: tuple[Model, ...] = ()

    @classmethod
    def from_runnable(  # noqa: PLR0913 - named options
        cls,
        runnable: "Runnable[Any, Any] | Callable[..., Any]",
        *,
        name: str,
        samples: int = 1,
        strategies: Iterable[str | Mapping[str, object] | Strategy] = (AS_IS,),
        timeout_s: float = 60,
        total_timeout_s: float | None = None,
        price: Price | None = None,
        give: "Callable[[list[AnyMessage]], Any] | None" = None,
        take: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Return the agent that `runnable` is: a Runnable, a compiled graph, a RemoteGraph or a function, sync or async.

        A graph is given `{"messages": [...]}`, anything else the list of messages: the chat with its system messages. Its
        reply is a text, an AIMessage, or the last AIMessage of a state with messages. It is asked once for each turn of
        a sample, each time in a thread of its own; its calls of models count as the agent's, and keep to the budget.

        Args:
            runnable: what is asked.
            name: of the agent.
            samples: candidates per task.
            strategies: how it works; `as_is` leaves that to it and shows the chat as it came.
            timeout_s: seconds after which it counts as failed; a thread that it works in cannot be stopped, and goes on.
            total_timeout_s: seconds that all its samples of one round may take.
            price: of the models that it asks.
            give: makes its input of the messages, where that is another one.
            take: makes a text, a message or a state with messages of what it returns.

        Raises:
            ModelError: `runnable` is nothing that can be asked.
        """
        return cls.model_validate(
            {
                "name": name,
                "model": RunnableModel.of(runnable, name, give, take),
                "strategies": tuple(strategies),
                "samples": samples,
                "timeout_s": timeout_s,
                "total_timeout_s": total_timeout_s,
                "price": price,
            }
        )

    @model_validator(mode="after")
    def _name_a_node(self) -> Self:
        if not _AGENT_NAME.fullmatch(self.name):
            raise ValueError(f"agent name {self.name!r}: use up to 64 letters, digits, '_', '-' and '.'")
        if self.name in NODE_NAMES:
            raise ValueError(f"agent name {self.name!r} belongs to a node of the graph ({', '.join(NODE_NAMES)})")
        return self

    @model_validator(mode="after")
    def _give_each_strategy_a_sample(self) -> Self:
        names = [strategy.name for strategy in self.strategies]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"strategies must be unique: {', '.join(map(repr, repeated))} occurs more than once")
        if len(self.strategies) > self.samples:
            raise ValueError(
                f"{len(self.strategies)} strategies, samples = {self.samples}: each needs a sample of its own"
            )
        return self

    @property
    def repeats_itself(self) -> bool:
        """Whether its model draws nothing at random, so that equal texts of it are one opinion."""
        chosen = self.temperature if isinstance(self.model, ModelSpec) else getattr(self.model, "temperature", None)
        return chosen == 0

    @property
    def arms(self) -> dict[str, str]:
        """Its arms by name, each with the digest of what it is made of: another model or strategy is another arm."""
        label = model_label(self.model)
        return {f"{self.name}/{one.name}": _digest(label, one.digest) for one in self.strategies}

    def strategy(self, sample: int) -> Strategy:
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
        return f"{PRINCIPAL}/{self.ranker.name}@{self.label}"

    @property
    def made_of(self) -> str:
        """The digest of its ranker and model."""
        return _digest(self.label, self.ranker.model_dump_json())


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

    @property
    def arms(self) -> dict[str, str]:
        """The principal as a whole and each judge of a panel, with the digests of what they are made of."""
        own = {judge.arm: judge.made_of for judge in self.judges}
        return {PRINCIPAL: _digest(*own.values()), **own}


def _digest(*parts: str) -> str:
    """Return eight hexadecimal digits that change with any of the parts."""
    return blake2b(json.dumps(parts).encode(), digest_size=4).hexdigest()
