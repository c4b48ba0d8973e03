"""What the checkpointers promise on every database."""

import asyncio
import operator
from typing import Annotated

import pytest
from langgraph.graph import END, START, StateGraph
from pydantic import SecretStr
from typing_extensions import TypedDict

from aligngraph.persistence import open_checkpointer, prune_checkpoints

THREAD = {"configurable": {"thread_id": "t1"}}


class State(TypedDict):
    rounds: Annotated[list[int], operator.add]


def a_graph(saver, rounds=5):
    async def play(state):
        return {"rounds": [len(state["rounds"])]}

    def more(state):
        return "play" if len(state["rounds"]) < rounds else END

    builder = StateGraph(State).add_node("play", play).add_edge(START, "play")
    return builder.add_conditional_edges("play", more, ["play", END]).compile(checkpointer=saver)


@pytest.fixture
async def saver(location):
    async with open_checkpointer(location) as saver:
        yield saver


async def history(saver, config=THREAD):
    return [tuple_ async for tuple_ in saver.alist(config)]


async def test_a_thread_is_read_back(location):
    async with open_checkpointer(location) as saver:
        await a_graph(saver).ainvoke({"rounds": []}, THREAD)
    async with open_checkpointer(location) as saver:
        assert (await a_graph(saver).aget_state(THREAD)).values == {"rounds": [0, 1, 2, 3, 4]}


async def test_pruning_keeps_the_last_checkpoint(saver):
    graph = a_graph(saver)
    await graph.ainvoke({"rounds": []}, THREAD)
    before = await graph.aget_state(THREAD)
    assert len(await history(saver)) == 7
    await prune_checkpoints(saver, "t1")
    after = await graph.aget_state(THREAD)
    assert len(await history(saver)) == 1
    assert (after.values, after.next, after.config) == (before.values, (), before.config)
    assert after.parent_config is None


async def test_pruning_leaves_other_threads(saver):
    other = {"configurable": {"thread_id": "t2"}}
    for config in (THREAD, other):
        await a_graph(saver).ainvoke({"rounds": []}, config)
    untouched = await history(saver, other)
    await prune_checkpoints(saver, "t1")
    assert await history(saver, other) == untouched


async def test_a_pruned_thread_can_go_on(saver):
    await a_graph(saver).ainvoke({"rounds": []}, THREAD)
    await prune_checkpoints(saver, "t1")
    assert await a_graph(saver, rounds=8).ainvoke({"rounds": [5]}, THREAD) == {"rounds": [0, 1, 2, 3, 4, 5, 6, 7]}


async def test_a_deleted_thread_is_gone_and_others_stay(saver):
    other = {"configurable": {"thread_id": "t2"}}
    for config in (THREAD, other):
        await a_graph(saver).ainvoke({"rounds": []}, config)
    await saver.adelete_thread("t1")
    assert await history(saver) == []
    assert len(await history(saver, other)) == 7


async def test_the_latest_come_first_and_a_limit_is_kept(saver):
    await a_graph(saver).ainvoke({"rounds": []}, THREAD)
    steps = [found.metadata["step"] async for found in saver.alist(THREAD, limit=3)]
    assert steps == [5, 4, 3]


async def test_pruning_nothing_is_harmless(saver):
    await prune_checkpoints(saver, "never")
    assert await history(saver, None) == []


async def test_only_plain_values_are_rebuilt(saver):
    """LangGraph's default would import and call what a checkpoint names (CVE-2026-28277)."""
    kind, blob = saver.serde.dumps_typed({"key": SecretStr("s")})
    assert saver.serde.loads_typed((kind, blob)) == {"key": "s"}


async def test_several_may_open_a_new_database_at_once(location):
    async def run(thread):
        async with open_checkpointer(location) as saver:
            return await a_graph(saver).ainvoke({"rounds": []}, {"configurable": {"thread_id": thread}})

    results = await asyncio.gather(*(run(f"t{i}") for i in range(4)))
    assert results == [{"rounds": [0, 1, 2, 3, 4]}] * 4
