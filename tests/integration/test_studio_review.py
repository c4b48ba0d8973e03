"""What a person does in LangGraph Studio when a run waits for a ranking, done to the real development server."""

import json

import pytest

from aligngraph.persistence import Location, PolicyStore

pytestmark = pytest.mark.server

GRAPH = "delegation"
TASK = "What is 6 * 7?"
ASK = {"messages": [{"role": "user", "content": TASK}]}


@pytest.fixture
def context(openai_server, tmp_path, db):
    """Return the run configuration of a team whose principal is a person."""
    path = openai_server.team(tmp_path / "people.toml", ["says-42", "says-41"], "")
    path.write_text(path.read_text().split("[principal]")[0] + '[principal]\nranker = "human"\n')
    return {"team": str(path), "db": db}


async def waiting(client, thread):
    """Return what the thread shows to the person."""
    assert (await client.threads.get(thread))["status"] == "interrupted"
    state = await client.threads.get_state(thread)
    assert state["next"] == ["principal"]
    (interrupt,) = state["tasks"][0]["interrupts"]
    return interrupt["value"]


def order_of(request, *answers):
    labels = {solution.rpartition("Answer: ")[2]: label for label, solution in request["solutions"].items()}
    return ">".join(labels[answer] for answer in answers)


async def test_a_run_waits_for_a_person_and_goes_on_with_the_ranking(openai_server, client, thread, context, db):
    paused = await client.runs.wait(thread, GRAPH, input=ASK, context=context)
    assert not paused.get("decision")
    request = await waiting(client, thread)
    assert (request["kind"], request["task"], request["problem"]) == ("ranking", TASK, None)
    assert set(request["solutions"].values()) == {"I say so.\nAnswer: 42", "I say so.\nAnswer: 41"}
    assert not [name for name in ("agent0", "agent1", "says-") if name in json.dumps(request)]

    order = order_of(request, "41", "42")
    state = await client.runs.wait(thread, GRAPH, command={"resume": order}, context=context)
    assert [(message["type"], message["content"]) for message in state["messages"]] == [
        ("human", TASK),
        ("ai", "I say so.\nAnswer: 41"),
    ]
    decision = state["decision"]
    assert (decision["status"], decision["problems"], decision["answer"]) == ("ok", [], "41")
    assert (decision["ranking"]["ranker"], decision["ranking"]["order"]) == ("human", ["41", "42"])
    assert [call["verdict"] for call in decision["ranking"]["calls"]] == [order]
    assert {model: openai_server.calls(model) for model in ("says-42", "says-41")} == {"says-42": 2, "says-41": 2}
    assert (await client.threads.get(thread))["status"] == "idle"
    async with await PolicyStore.open(Location.parse(db)) as store:
        (learned,) = await store.summary()
    assert (learned.tasks, {key.arm: sums.count for key, sums in learned.arms.items() if sums.kind == "agent"}) == (
        1,
        {"agent0/step_by_step": 1, "agent1/step_by_step": 1},
    )


async def test_a_reply_that_cannot_be_used_is_asked_again_and_json_is_a_reply(client, thread, context):
    await client.runs.wait(thread, GRAPH, input=ASK, context=context)
    await client.runs.wait(thread, GRAPH, command={"resume": "the first"}, context=context)
    request = await waiting(client, thread)
    assert request["problem"] == "'the first' is not one of the labels A, B"
    reply = {"order": order_of(request, "42", "41")}
    state = await client.runs.wait(thread, GRAPH, command={"resume": reply}, context=context)
    assert state["decision"]["answer"] == "42"
    assert [call["outcome"] for call in state["decision"]["ranking"]["calls"]] == ["unusable", "ranked"]


async def test_who_watches_the_stream_sees_the_pause_and_what_comes_after_it(client, thread, context):
    modes = ["updates", "custom"]
    before = [part async for part in client.runs.stream(thread, GRAPH, input=ASK, context=context, stream_mode=modes)]
    updates = [part.data for part in before if part.event == "updates"]
    (interrupt,) = updates[-1]["__interrupt__"]
    assert interrupt["value"] == await waiting(client, thread)
    command = {"resume": order_of(interrupt["value"], "42", "41")}
    after = [
        part async for part in client.runs.stream(thread, GRAPH, command=command, context=context, stream_mode=modes)
    ]
    assert [part.data["event"] for part in after if part.event == "custom"] == ["ranking", "round"]
    assert [next(iter(part.data)) for part in after if part.event == "updates"] == [
        "principal",
        "policy_update",
        "answer",
    ]
