"""What an agent of one's own is given, what of its result is the reply, and what it does not notice of the graph around."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Annotated

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnablePassthrough
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from aligngraph.errors import ModelError, StrangeReplyError
from aligngraph.models import RunnableModel, input_limit, model_label, supports_seed

CHAT = (SystemMessage("Be brief."), HumanMessage("What is 6 * 7?"))
SAYS = "Six sevens.\nAnswer: 42"


def graph_of(node, state=MessagesState, **options):
    """Return a compiled graph of one node."""
    graph = StateGraph(state)
    graph.add_node("solve", node)
    graph.add_edge(START, "solve")
    return graph.compile(**options)


async def said_by(thing, *messages, config=None, **options):
    model = RunnableModel.of(thing, "own", **options)
    return (await model.ainvoke(messages or CHAT, config or RunnableConfig())).text


async def test_a_graph_is_given_a_state_with_the_chat_and_says_its_last_message():
    shown = []

    def solve(state):
        shown.extend(state["messages"])
        return {"messages": [AIMessage("first"), AIMessage(SAYS), HumanMessage("thanks")]}

    assert await said_by(graph_of(solve)) == SAYS
    assert [(message.type, message.text) for message in shown] == [("system", "Be brief."), ("human", CHAT[1].text)]


async def test_any_other_runnable_is_given_the_messages():
    model = RunnablePassthrough() | RunnableLambda(lambda messages: "/".join(message.type for message in messages))
    assert await said_by(model) == "system/human"


@pytest.mark.parametrize(
    "returned",
    [
        SAYS,
        AIMessage(SAYS),
        AIMessageChunk(SAYS),
        AIMessage([{"type": "text", "text": SAYS}]),
        {"messages": [AIMessage(SAYS)]},
        {"messages": ({"role": "assistant", "content": SAYS},)},
        {"messages": [("ai", SAYS), ("human", "thanks")], "more": 1},
        SimpleNamespace(messages=[AIMessage(SAYS)]),
    ],
)
async def test_a_reply_is_a_text_a_message_or_a_state(returned):
    assert await said_by(lambda messages: returned) == SAYS


@pytest.mark.parametrize(
    ("returned", "cause"),
    [
        (None, "returned an object of type 'NoneType'; give `take=`"),
        (42, "returned an object of type 'int'"),
        ([AIMessage(SAYS)], "returned an object of type 'list'"),
        (HumanMessage(SAYS), "returned an object of type 'HumanMessage'"),
        (
            {"output": SAYS, "steps": []},
            "returned an object of type 'dict' with the keys 'output', 'steps'; give `take=`",
        ),
        ({"messages": SAYS}, "returned an object of type 'dict' with the keys 'messages'"),
        ({"messages": []}, "returned no message of its own"),
        ({"messages": [HumanMessage(SAYS)]}, "returned no message of its own"),
    ],
)
async def test_what_is_no_reply_is_named_with_what_to_do(returned, cause):
    with pytest.raises(StrangeReplyError) as told:
        await said_by(lambda messages: returned)
    assert str(told.value).startswith(cause)


@pytest.mark.parametrize("known", [None, "m1"])
async def test_an_earlier_reply_of_the_chat_is_not_taken_for_the_reply(known):
    """F31: a graph that adds nothing has failed, and has not repeated the last answer."""
    earlier = (HumanMessage("What is 5 * 7?"), AIMessage("Answer: 35", id=known), *CHAT)
    with pytest.raises(StrangeReplyError, match="no message of its own"):
        await said_by(graph_of(lambda state: {"messages": []}), *earlier)
    assert await said_by(graph_of(lambda state: {"messages": [AIMessage(SAYS)]}), *earlier) == SAYS


async def test_the_caller_s_messages_stay_as_they_were():
    message = HumanMessage("What is 6 * 7?")
    await said_by(graph_of(lambda state: {"messages": [AIMessage(SAYS)]}), message)
    assert message.id is None


async def test_give_and_take_translate_either_way():
    class Solved(TypedDict):
        question: str
        number: int

    graph = graph_of(lambda state: {"number": len(state["question"])}, Solved)
    options = {
        "give": lambda messages: {"question": messages[-1].text},
        "take": lambda state: f"Answer: {state['number']}",
    }
    assert await said_by(graph, **options) == "Answer: 14"
    with pytest.raises(StrangeReplyError, match="with the keys 'question', 'number'"):
        await said_by(graph, give=options["give"])
    assert await said_by(lambda words: words, give=lambda messages: messages[-1].text) == CHAT[1].text
    assert await said_by(lambda _: {"out": SAYS}, take=lambda out: {"messages": [AIMessage(out["out"])]}) == SAYS


async def test_a_function_may_be_async_and_may_take_the_configuration():
    async def solve(messages, config):
        await asyncio.sleep(0)
        return config["metadata"]["agent"]

    assert await said_by(solve, config=RunnableConfig(metadata={"agent": "own"})) == "own"


@pytest.mark.parametrize("wrap", [lambda function: function, graph_of])
async def test_what_is_not_async_does_not_block_the_loop(wrap):
    """Two calls meet at a barrier, which neither would pass alone."""
    barrier = threading.Barrier(2, timeout=20)

    def solve(_):
        barrier.wait()
        return {"messages": [AIMessage(SAYS)]}

    assert await asyncio.gather(*(said_by(wrap(solve)) for _ in range(2))) == [SAYS] * 2


async def test_each_call_has_a_thread_of_its_own_in_a_graph_with_a_memory():
    saver = InMemorySaver()
    graph = graph_of(lambda state: {"messages": [AIMessage(f"Answer: {len(state['messages'])}")]}, checkpointer=saver)
    assert await asyncio.gather(*(said_by(graph) for _ in range(3))) == ["Answer: 2"] * 3
    assert len(saver.storage) == 3


async def test_the_limits_and_threads_of_the_graph_around_are_not_its_own():
    configs = []

    def step(state, config: RunnableConfig):
        configs.append(config)
        return {"messages": [AIMessage(SAYS)]}

    chain = StateGraph(MessagesState)
    names = [f"step{number}" for number in range(5)]
    for name in names:
        chain.add_node(name, step)
    for before, after in zip([START, *names], [*names, END], strict=True):
        chain.add_edge(before, after)
    inner = RunnableModel.of(chain.compile(), "own")

    async def ask(state, config: RunnableConfig):
        return {"messages": [await inner.ainvoke(state["messages"], config)]}

    outer = graph_of(ask, checkpointer=InMemorySaver())
    config = {"recursion_limit": 2, "configurable": {"thread_id": "outer", "secret": "s"}, "tags": ["mine"]}
    assert (await outer.ainvoke({"messages": list(CHAT)}, config))["messages"][-1].text == SAYS
    assert len(configs) == 5, "more steps than the limit around it"
    assert {config["configurable"]["thread_id"] != "outer" for config in configs} == {True}
    assert not any("secret" in config["configurable"] for config in configs)
    assert all("mine" in config["tags"] for config in configs)
    assert list(outer.checkpointer.storage) == ["outer"]
    assert list(outer.checkpointer.storage["outer"]) == [""], "it leaves nothing in the checkpoints around it"


async def test_a_limit_that_the_graph_was_given_is_kept():
    graph = StateGraph(MessagesState)
    graph.add_node("circle", lambda state: {"messages": [AIMessage(SAYS)]})
    graph.add_edge(START, "circle")
    graph.add_edge("circle", "circle")
    with pytest.raises(GraphRecursionError, match="limit of 7 reached"):
        await said_by(graph.compile().with_config(recursion_limit=7), config=RunnableConfig(recursion_limit=99))


async def test_who_listens_around_it_hears_it():
    class Listener(AsyncCallbackHandler):
        started: list[str]

        def __init__(self):
            self.started = []

        async def on_chain_start(self, serialized, inputs, *, name=None, **_):
            self.started.append(name)

    listener = Listener()
    graph = graph_of(lambda state: {"messages": [AIMessage(SAYS)]}, name="solver")
    await said_by(graph, config=RunnableConfig(callbacks=[listener]))
    assert listener.started == ["solver", "solve"]


def interrupting(state):
    return {"messages": [AIMessage(interrupt("May I?"))]}


def leaving(state):
    return Command(graph=Command.PARENT, goto="answer")


@pytest.mark.parametrize("node", [interrupting, leaving])
@pytest.mark.parametrize("options", [{}, {"checkpointer": InMemorySaver()}])
async def test_a_graph_that_waits_for_a_person_or_leaves_for_another_has_failed(node, options):
    with pytest.raises(StrangeReplyError, match="to wait for somebody, or to hand over to another graph"):
        await said_by(graph_of(node, **options))


async def test_its_errors_are_passed_on():
    def fail(_):
        raise LookupError("no such tool")

    for thing in (fail, graph_of(fail)):
        with pytest.raises(LookupError, match="no such tool"):
            await said_by(thing)


async def test_cancelled_it_stops():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def solve(_):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    call = asyncio.create_task(said_by(solve))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert ended.is_set()


class State(TypedDict):
    messages: Annotated[list, lambda known, new: new]


def named(messages):
    return SAYS


@pytest.mark.parametrize(
    ("thing", "label"),
    [
        (graph_of(named), "CompiledStateGraph:LangGraph"),
        (graph_of(named, name="solver"), "CompiledStateGraph:solver"),
        (graph_of(named, name="solver").bind(context=None), "CompiledStateGraph:solver"),
        (RemoteGraph("delegation", url="http://127.0.0.1:1"), "RemoteGraph:delegation"),
        (named, "RunnableLambda:named"),
        (lambda _: SAYS, "RunnableLambda"),
        (RunnablePassthrough() | named, "RunnableSequence"),
    ],
)
def test_it_is_called_by_its_class_and_name(thing, label):
    model = RunnableModel.of(thing, "own")
    assert model_label(model) == model.label == label
    assert model.place == f"{label}@own"


async def test_what_is_bound_to_a_graph_leaves_it_a_graph():
    graph = graph_of(lambda state: {"messages": [AIMessage(SAYS)]}, State)
    assert RunnableModel.of(graph.bind(context=None), "own").graph is graph
    assert await said_by(graph.bind(context=None)) == SAYS


def test_what_is_known_of_a_model_has_a_default():
    model = RunnableModel.of(named, "own")
    assert (input_limit(model), supports_seed(model)) == (32_768, False)


@pytest.mark.parametrize(
    ("thing", "finding"),
    [
        (StateGraph(MessagesState), "got an object of type 'StateGraph': compile() it first; an agent of your own is"),
        ("openai:gpt-4.1", "got an object of type 'str'; an agent of your own is a Runnable, a compiled graph"),
        (None, "got an object of type 'NoneType'; "),
        (RunnableLambda, "got an object of type 'type'; " if type(RunnableLambda) is type else "got an object of type"),
    ],
)
def test_what_cannot_be_asked_is_refused(thing, finding):
    with pytest.raises(ModelError) as told:
        RunnableModel.of(thing, "own")
    assert str(told.value).startswith(f"agent 'own': {finding}")


def test_a_graph_with_one_memory_for_all_calls_is_refused():
    with pytest.raises(ModelError, match="compile its graph without checkpointer=True"):
        RunnableModel.of(graph_of(named, checkpointer=True), "own")
