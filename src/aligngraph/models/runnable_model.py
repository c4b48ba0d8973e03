"""Any Runnable in the place of a model: what it is given, and what of its result is the reply.

Every call is a run of its own, with a thread of its own. Within a node LangGraph numbers the calls of one graph by the
order in which they begin, and goes on from what the call of this number left behind: in a run that was stopped and taken
up again one sample would be handed the reply of another. A limit on steps, a stream or a run's context that the graph
around it has are not its own either.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from aligngraph.errors import ModelError, StrangeReplyError

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AnyMessage
    from langchain_core.runnables import Runnable, RunnableConfig
    from langgraph.pregel.protocol import PregelProtocol

Give = Callable[[list["AnyMessage"]], Any]
Take = Callable[[Any], Any]

_INHERITED = ("callbacks", "tags", "metadata", "max_concurrency")
_INTERRUPTED = "it stopped to wait for somebody, or to hand over to another graph: an agent of a team can do neither"


@dataclass(frozen=True, eq=False)
class RunnableModel:
    """A Runnable that an agent asks as others ask a chat model.

    Attributes:
        runnable: what is run. A graph gets `{"messages": [...]}`, anything else the list of messages.
        agent: whose it is.
        give: makes its input of the messages.
        take: makes a text, a message or a state with messages of what it returned.
    """

    runnable: "Runnable[Any, Any]"
    agent: str
    give: Give | None = None
    take: Take | None = None

    @classmethod
    def of(cls, thing: object, agent: str, give: Give | None = None, take: Take | None = None) -> "RunnableModel":
        """Return the model that asks `thing`, a Runnable or a function.

        Raises:
            ModelError: `thing` is neither, or a graph that keeps one memory for all samples.
        """
        from langchain_core.runnables import Runnable, RunnableLambda  # noqa: PLC0415 - costs half a second

        if not isinstance(thing, Runnable) and (isinstance(thing, type) or not callable(thing)):
            hint = ": compile() it first" if hasattr(thing, "compile") else ""
            allowed = "a Runnable, a compiled graph, a RemoteGraph or a function"
            raise ModelError(f"agent {agent!r}: got {_kind(thing)}{hint}; an agent of your own is {allowed}")
        model = cls(thing if isinstance(thing, Runnable) else RunnableLambda(_contained(thing)), agent, give, take)
        if getattr(model.graph, "checkpointer", None) is True:
            raise ModelError(
                f"agent {agent!r}: its samples share no memory: compile its graph without checkpointer=True"
            )
        return model

    @property
    def graph(self) -> "PregelProtocol[Any, Any, Any, Any] | None":
        """The graph that it asks, without what is bound to it; None where it asks another kind of Runnable."""
        from langgraph.pregel.protocol import PregelProtocol  # noqa: PLC0415 - costs half a second

        bare = _unbound(self.runnable)
        return bare if isinstance(bare, PregelProtocol) else None

    @property
    def label(self) -> str:
        """The Runnable's class and name, for display."""
        kind, name = type(_unbound(self.runnable)).__name__, self.runnable.get_name()
        return kind if name == kind else f"{kind}:{name}"

    @property
    def place(self) -> str:
        """What its failures are counted under: many graphs have no other name than LangGraph."""
        return f"{self.label}@{self.agent}"

    async def ainvoke(self, messages: Sequence["AnyMessage"], config: "RunnableConfig") -> "AIMessage":
        """Return its reply to `messages`.

        Raises:
            StrangeReplyError: it returned nothing that is a reply.
        """
        from langchain_core.runnables.config import set_config_context  # noqa: PLC0415 - as above
        from langgraph.errors import GraphBubbleUp  # noqa: PLC0415

        from aligngraph.isolation import contain  # noqa: PLC0415 - it loads LangGraph

        shown = [_identified(message) for message in messages]
        running = self.runnable.ainvoke(self._input(shown), self._own(config))
        with set_config_context({}) as context:  # else it is merged with that of the node around
            try:
                returned = await asyncio.create_task(contain(running), context=context)
            except GraphBubbleUp as interruption:
                raise StrangeReplyError(_INTERRUPTED) from interruption
        return _read_reply(self.take(returned) if self.take else returned, {message.id for message in shown})

    def _input(self, messages: list["AnyMessage"]) -> object:
        if self.give is not None:
            return self.give(messages)
        return messages if self.graph is None else {"messages": messages}

    def _own(self, config: "RunnableConfig") -> "RunnableConfig":
        """Return the configuration of one call: who listens is as around it, the thread is its own."""
        from langgraph.pregel.remote import RemoteGraph  # noqa: PLC0415 - as above

        inherited = {key: value for key, value in config.items() if key in _INHERITED}
        # A server keeps a thread that is named to it; a run without one leaves nothing behind there.
        thread = {} if isinstance(self.graph, RemoteGraph) else {"thread_id": str(uuid4())}
        own: RunnableConfig = {**inherited, "configurable": thread}  # type: ignore[typeddict-item]
        return own


def _contained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function; LangChain gives an async one a task of its own, from which SystemExit would end the loop."""
    if not inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    async def contained(*arguments: object, **settings: object) -> object:
        from aligngraph.isolation import contain  # noqa: PLC0415 - it loads LangGraph

        return await contain(function(*arguments, **settings))

    return contained


def _unbound(runnable: "Runnable[Any, Any]") -> "Runnable[Any, Any]":
    from langchain_core.runnables.base import RunnableBindingBase  # noqa: PLC0415 - as above

    while isinstance(runnable, RunnableBindingBase):
        runnable = runnable.bound
    return runnable


def _identified(message: "AnyMessage") -> "AnyMessage":
    """Return the message with an id, by which it is known again among those that come back."""
    return message if message.id else message.model_copy(update={"id": str(uuid4())})


def _read_reply(returned: object, shown: set[str | None]) -> "AIMessage":
    """Return the reply in what a Runnable returned: the last message of a model that it was not itself shown."""
    from langchain_core.messages import AIMessage, convert_to_messages  # noqa: PLC0415 - as above

    if isinstance(returned, str):
        return AIMessage(returned)
    if isinstance(returned, AIMessage):
        return returned
    if isinstance(returned, Mapping) and "__interrupt__" in returned:
        raise StrangeReplyError(_INTERRUPTED)
    messages = returned.get("messages") if isinstance(returned, Mapping) else getattr(returned, "messages", None)
    if not isinstance(messages, list | tuple):
        raise StrangeReplyError(f"returned {_kind(returned)}; give `take=`, which makes a text or a message of it")
    said = (message for message in reversed(convert_to_messages(messages)) if isinstance(message, AIMessage))
    reply = next((message for message in said if message.id not in shown), None)
    if reply is None:
        raise StrangeReplyError("returned no message of its own (type 'ai') after those that it was shown")
    return reply


def _kind(thing: object) -> str:
    keys = f" with the keys {', '.join(map(repr, thing))}" if isinstance(thing, Mapping) else ""
    return f"an object of type {type(thing).__name__!r}{keys}"
