"""One sample: from what a model is shown to a candidate, whatever happens on the way."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.load import dumps
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from aligngraph.calling.line import Line
from aligngraph.calling.spending import NOTHING, Spending
from aligngraph.errors import BudgetSpentError, ModelRestingError
from aligngraph.isolation import Attempt
from aligngraph.models import ModelSpec, RunnableModel, model_label, supports_seed
from aligngraph.nodes.distinct import answer_form
from aligngraph.nodes.lines import Call, Connection, connect
from aligngraph.nodes.programs import run_reply
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.schedule import candidate_id
from aligngraph.nodes.spending import as_spending, as_usage
from aligngraph.persistence import Candidate, PolicyStore, Response
from aligngraph.persistence.tables import storable
from aligngraph.randomness import sampling_seed
from aligngraph.roles import Agent, Model, Price
from aligngraph.state import DelegationState, Failure
from aligngraph.strategies import Strategy

LONG_CHARS = 10_000
_SHAPES_NO_REPLY = {"api_key_env", "max_input_tokens", "max_concurrency", "requests_per_minute"}


@dataclass(frozen=True)
class Draw:
    """One sample to be drawn: its number within the run, its place in seed order, and what the model is shown."""

    sample: int
    position: int
    strategy: Strategy
    messages: list[AnyMessage]


@dataclass(frozen=True)
class _Reply:
    """What a model said last, or the whole of what its program came to."""

    text: str
    problem: str | None = None


@dataclass(frozen=True)
class _Asked:
    """How asking one model, or one after the other, ended."""

    reply: Attempt[_Reply]
    spent: Spending
    model: str
    failed_before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sampler:
    """Draws samples of one agent.

    Attributes:
        deadline: on the monotonic clock, after which none of its calls may go on; None for none.
    """

    agent: Agent
    resources: Resources
    state: DelegationState
    config: RunnableConfig
    store: PolicyStore
    deadline: float | None

    async def draw(self, draw: Draw) -> Candidate:
        """Return the candidate; a failure is one too, with its cause in place of an answer."""
        asked = await self._ask_in_turn(draw)
        reply = asked.reply.value or _Reply("")
        answer = None if reply.problem else await self._extract(reply.text)
        return Candidate(
            candidate_id=candidate_id(self.agent.name, draw.sample),
            agent=self.agent.name,
            strategy=draw.strategy.name,
            sample=draw.sample,
            position=draw.position,
            answer=answer and storable(answer),
            text=reply.text,
            error=storable(problem) if (problem := _problem(asked)) else None,
            usage=as_usage(asked.spent),
            failure=_failure(asked.reply, answer),
            model=asked.model,
            detour=_detour(asked),
        )

    async def _ask_in_turn(self, draw: Draw) -> _Asked:
        """Return the reply of the first model that gives one: the agent's own, else one of its fallbacks."""
        asked = await self._ask(self.agent.model, self.agent.price, draw)
        for model in self.agent.fallback:
            if asked.reply.value is not None or isinstance(asked.reply.error, BudgetSpentError):
                break
            failed = (*asked.failed_before, f"{asked.model}: {asked.reply.cause}")
            instead = await self._ask(model, None, draw)
            asked = replace(instead, spent=asked.spent + instead.spent, failed_before=failed)
        return asked

    async def _ask(self, model: Model, price: Price | None, draw: Draw) -> _Asked:
        call = Call(model, self.agent.temperature, self.agent.timeout_s, price, self._seed(draw), self.deadline)
        opened = await connect(call, self.state, self.resources)
        if opened.value is None:
            return _Asked(Attempt(None, opened.cause, opened.error), NOTHING, model_label(model))
        reply = await self._converse(opened.value, model, draw)
        return _Asked(reply, _known_spending(model, opened.value.line.spent, reply.error), model_label(model))

    async def _converse(self, to: Connection, model: Model, draw: Draw) -> Attempt[_Reply]:
        """Return the last reply of a talk that takes as many turns as the strategy has."""
        messages = list(draw.messages)
        for turn in (*draw.strategy.turns[1:], None):
            said = await self._say(to, model, draw, messages)
            if said.value is None or turn is None:
                break
            messages += [AIMessage(said.value), HumanMessage(turn)]
        if said.value is None:
            return Attempt(None, said.cause, said.error)
        if draw.strategy.reply == "program":
            return await self._run(said.value, to.line)
        return Attempt(_Reply(said.value), None)

    async def _run(self, program: str, line: Line) -> Attempt[_Reply]:
        """Return what the program came to, which has no more time than the calls before it have left."""
        ran = await line.within(lambda: run_reply(program, self.resources))
        if ran.value is None:
            return Attempt(None, ran.cause, ran.error)
        return Attempt(_Reply(ran.value.text, ran.value.problem), None)

    async def _say(self, to: Connection, model: Model, draw: Draw, messages: Sequence[AnyMessage]) -> Attempt[str]:
        """Return the reply to these messages, from the cache where the team has one and it is there."""
        options: dict[str, Any] = {"seed": self._seed(draw)} if supports_seed(to.model) else {}
        key = self._cache_key(model, draw, messages, options)
        if key and (kept := await self._find(key, to.line)) is not None:
            return Attempt(kept, None)
        config = _annotate(self.config, draw, self.agent, self.state)

        async def make() -> str:
            return storable(str((await to.model.ainvoke(list(messages), config, **options)).text))

        said = await to.line.call(make)
        if key and said.value is not None:
            usage = as_usage(to.line.spent)
            run_id, name = self.state["run"]["run_id"], self.agent.name
            reply = Response(key, run_id, name, model_label(model), draw.sample, {"text": said.value}, usage)
            await self.store.calls.keep_response(reply, keep_days=self.resources.team.cache.keep_days)
        return said

    async def _find(self, key: str, line: Line) -> str | None:
        """Return the reply that was kept; what this very run paid up to it, before it was stopped, counts."""
        kept = await self.store.calls.find_response(key, keep_days=self.resources.team.cache.keep_days)
        if kept is None:
            return None
        if kept.run_id == self.state["run"]["run_id"]:
            line.spent = as_spending(kept.usage)  # the ledger knows
        return str(kept.reply["text"])

    def _cache_key(
        self, model: Model, draw: Draw, messages: Sequence[AnyMessage], options: dict[str, Any]
    ) -> str | None:
        """Return a digest of all that a reply depends on, the number of the sample above all; None to keep none."""
        if not self.resources.team.cache.responses or isinstance(model, RunnableModel):
            return None
        shown = [(message.type, message.content) for message in messages]
        # Of an open one: all its settings.
        described = model.model_dump(exclude=_SHAPES_NO_REPLY) if isinstance(model, ModelSpec) else dumps(model)
        parts = [self.agent.name, described, self.agent.temperature, options, draw.strategy.label, draw.sample, shown]
        return hashlib.blake2b(json.dumps(parts, sort_keys=True, default=repr).encode(), digest_size=16).hexdigest()

    async def _extract(self, text: str) -> str | None:
        form = answer_form(self.state["run"])
        # Reading a long text takes a moment, which the other agents' calls need not wait for.
        return form.extract(text) if len(text) < LONG_CHARS else await asyncio.to_thread(form.extract, text)

    def _seed(self, draw: Draw) -> int:
        return sampling_seed(self.state["run"]["seed"], self.state["round"], self.agent.name, draw.sample)


def _annotate(config: RunnableConfig, draw: Draw, agent: Agent, state: DelegationState) -> RunnableConfig:
    """Return the call's configuration, which says for whom it is to traces and to scripted models."""
    call = {"agent": agent.name, "task": state["run"]["task_id"], "sample": draw.sample, "round": state["round"]}
    return RunnableConfig(**{**config, "metadata": {**config.get("metadata", {}), **call}})


def _known_spending(model: Model, seen: Spending, error: Exception | None) -> Spending:
    """Return what a model used; of one that is called past LangChain, behind a server of its own say, nobody knows."""
    unseen = isinstance(model, RunnableModel) and not seen.calls and not isinstance(error, ModelRestingError)
    return replace(seen, cost=None) if unseen else seen


def _failure(reply: Attempt[_Reply], answer: str | None) -> Failure | None:
    if isinstance(reply.error, BudgetSpentError | ModelRestingError):
        return "not_asked"
    if reply.value is None:
        return "call_failed"
    return "no_answer" if answer is None else None


def _problem(asked: _Asked) -> str | None:
    """Return what is wrong with the reply, or why there is none: the cause of every model that was asked."""
    if asked.reply.value is not None:
        return asked.reply.value.problem
    if not asked.failed_before:
        return asked.reply.cause
    return "; ".join((*asked.failed_before, f"{asked.model}: {asked.reply.cause}"))


def _detour(asked: _Asked) -> str | None:
    """Return why another model than the agent's own replied, None where none did."""
    if not asked.failed_before or asked.reply.value is None:
        return None
    return f"asked {asked.model} instead, since {'; '.join(asked.failed_before)}"
