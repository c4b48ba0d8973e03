"""What LangGraph Studio does, done to the real development server: draw, fill in a form, run, watch, go back."""

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest
from langgraph_sdk.errors import BadRequestError

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
GRAPH = "delegation"
TASK = "What is 6 * 7?"


@pytest.fixture
async def assistant(client):
    (assistant,) = await client.assistants.search(metadata={"created_by": "system"})
    return assistant["assistant_id"]


def ask(task=TASK, **more):
    return {"messages": [{"role": "user", "content": task}], **more}


async def read_policy(db, domain):
    command = [BIN / "aligngraph", "policy", "show", "--json", "--db", db]
    done = await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, text=True)
    (entry,) = [entry for entry in json.loads(done.stdout)["domains"] if entry["domain"] == domain]
    return entry


async def run_and_fail(client, thread, **arguments):
    outcome = await client.runs.wait(thread, GRAPH, raise_error=False, **arguments)
    return outcome["__error__"]


async def test_every_agent_is_a_node_that_says_who_it_is(client, assistant):
    drawn = await client.assistants.get_graph(assistant, xray=True)
    nodes = {node["id"]: node.get("metadata") for node in drawn["nodes"]}
    assert list(nodes) == [
        "__start__", "intake", "careful", "quick", "principal", "policy_update", "answer", "__end__",
    ]  # fmt: skip
    model, strategies = "scripted:script.jsonl", ["direct", "step_by_step"]
    assert nodes["careful"] == {"model": model, "strategies": strategies, "samples": 2}
    assert nodes["quick"] == {"model": model, "strategies": ["step_by_step"], "samples": 1}
    assert nodes["principal"] == {"judges": [{"model": model, "ranker": "listwise"}]}
    ways = {(edge["source"], edge["target"]): edge.get("conditional", False) for edge in drawn["edges"]}
    assert ways == {
        ("__start__", "intake"): False,
        ("intake", "careful"): False,
        ("intake", "quick"): False,
        ("careful", "principal"): False,
        ("quick", "principal"): False,
        ("principal", "policy_update"): False,
        ("policy_update", "careful"): True,
        ("policy_update", "quick"): True,
        ("policy_update", "answer"): True,
        ("answer", "__end__"): False,
    }


async def test_the_input_form_asks_for_a_chat(client, assistant):
    schema = (await client.assistants.get_schemas(assistant))["input_schema"]
    assert set(schema["properties"]) == {"messages", "domain", "options"}
    assert schema["properties"]["messages"]["type"] == "array"
    assert schema["required"] == ["messages"]


async def test_the_configuration_form_has_typed_and_described_fields(client, assistant):
    schemas = await client.assistants.get_schemas(assistant)
    fields = schemas["context_schema"]["properties"]
    types = {
        name: [kind.get("type") for kind in field["anyOf"] if kind.get("type") != "null"]
        for name, field in fields.items()
    }
    assert types == {
        "step_size": ["number"],
        "anchor": ["string", "number"],
        "smoothing": ["number"],
        "max_steps": ["integer"],
        "max_rounds": ["integer"],
        "learning": ["string"],
        "team": ["string"],
        "db": ["string"],
    }
    assert all(field["description"] for field in fields.values())
    assert {name for name, field in fields.items() if field.get("langgraph_nodes") == ["policy_update"]} == set(
        fields
    ) - {"team", "db"}
    assert schemas["config_schema"] == schemas["context_schema"]


async def test_f11_a_run_answers_learns_and_never_blocks_the_loop(server, client, thread):
    state = await client.runs.wait(thread, GRAPH, input=ask())
    assert [(message["type"], message["content"]) for message in state["messages"]] == [
        ("human", TASK),
        ("ai", "Six sevens.\nAnswer: 42"),
    ]
    decision = state["decision"]
    assert (decision["status"], decision["problems"], decision["answer"]) == ("ok", [], "42")
    assert {candidate["id"]: candidate["answer"] for candidate in decision["candidates"]} == {
        "careful.0": "42",
        "careful.1": "42",
        "quick.0": "41",
    }
    kept = (await client.threads.get_state(thread))["values"]
    assert kept["decision"] == decision
    before, after = kept["weights"]["before"], kept["weights"]["after"]
    assert after["careful/direct"] > before["careful/direct"]
    assert after["quick/step_by_step"] < before["quick/step_by_step"]
    assert "BlockingError" not in server.text


async def test_the_second_task_of_a_thread_starts_afresh(client, thread):
    options = {"seed": 7, "task_id": "first"}
    first = await client.runs.wait(thread, GRAPH, input=ask(options=options, domain="in turn"))
    second = await client.runs.wait(thread, GRAPH, input=ask("And 7 * 6?"))
    assert (first["run"]["task_id"], first["run"]["seed"]) == ("first", 7)
    assert (second["decision"]["run_id"], second["decision"]["answer"]) == (f"{thread}.2", "42")
    assert second["run"]["task_id"] != "first"
    assert second["decision"]["domain"] == "in turn", "the kind of task stays that of the thread until another is given"
    assert len(second["candidates"]) == 3
    assert [message["type"] for message in second["messages"]] == ["human", "ai", "human", "ai"]
    assert second["weights"]["before"] == first["weights"]["after"]


async def test_every_stream_mode_shows_what_each_agent_does(client, thread):
    parts = [
        part
        async for part in client.runs.stream(thread, GRAPH, input=ask(), stream_mode=["updates", "values", "custom"])
    ]
    updates = {name: update for part in parts if part.event == "updates" for name, update in part.data.items()}
    intake, *agents, principal, policy_update, answer = updates
    assert (intake, set(agents)) == ("intake", {"careful", "quick"})
    assert (principal, policy_update, answer) == ("principal", "policy_update", "answer")
    assert [candidate["answer"] for candidate in updates["careful"]["candidates"]] == ["42", "42"]
    assert [candidate["answer"] for candidate in updates["quick"]["candidates"]] == ["41"]
    assert updates["principal"]["ranking"]["tiers"] == [[0], [1]]
    values = [part.data for part in parts if part.event == "values"]
    assert [len(value["candidates"]) for value in values] == [0, 0, 3, 3, 3, 3]
    assert values[-1]["decision"]["answer"] == "42"
    events = [part.data["event"] for part in parts if part.event == "custom"]
    assert events == ["run", "candidate", "candidate", "candidate", "ranking", "round"]


async def test_f58_a_candidate_is_told_while_others_still_think_and_the_run_can_be_stopped(
    client, thread, scripted_team
):
    rows = [{"agent": "slow", "text": "Answer: 41", "latency_s": 600}]
    team = scripted_team({"swift": ["42"], "slow": []}, order=["42", "41"], rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    stream = client.runs.stream(thread, GRAPH, input=ask(), context={"team": str(team)}, stream_mode="custom")
    async with aclosing(stream) as parts:
        run_id = (await anext(parts)).data["run_id"]
        assert (await anext(parts)).data == {"event": "run", "run_id": thread}
        told = (await anext(parts)).data
    assert (told["event"], told["id"], told["answer"]) == ("candidate", "swift.0", "42")
    await client.runs.cancel(thread, run_id, wait=True)
    assert (await client.runs.get(thread, run_id))["status"] == "interrupted"


async def test_a_run_may_bring_another_team(client, thread, scripted_team, db):
    team = scripted_team({"a": ["1"], "b": ["2"], "c": ["2"]}, order=["2", "1"])
    state = await client.runs.wait(thread, GRAPH, input=ask(), context={"team": str(team), "db": db})
    assert {candidate["agent"] for candidate in state["candidates"]} == {"a", "b", "c"}
    assert state["decision"]["answer"] == "2"
    assert (Path(db) / "policy.sqlite").exists()


async def test_a_team_may_have_own_strategies_and_a_wrong_one_is_named(client, thread, scripted_team, db):
    team = scripted_team({"a": ["1"]}, agent_keys={"a": 'strategies = ["mine"]\n'})
    (team.parent / "strategies").mkdir()
    (team.parent / "strategies" / "mine.md").write_text("Draft {it}.")
    context = {"team": str(team), "db": db}
    state = await client.runs.wait(thread, GRAPH, input=ask(), context=context)
    assert [candidate["strategy"] for candidate in state["candidates"]] == ["mine"]
    team.write_text(team.read_text().replace('"mine"', '"mein"'))
    told = await run_and_fail(client, thread, input=ask(), context=context)
    assert (told["error"], "there is no file" in told["message"]) == ("TeamError", True)


async def test_an_assistant_may_have_another_team_and_is_drawn_with_it(client, thread, scripted_team, db):
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["2", "1"])
    context = {"team": str(team), "db": db, "anchor": 0.1}
    other = (await client.assistants.create(GRAPH, context=context))["assistant_id"]
    drawn = await client.assistants.get_graph(other)
    assert {"a", "b"} < {node["id"] for node in drawn["nodes"]}
    state = await client.runs.wait(thread, other, input=ask())
    assert (state["decision"]["answer"], state["decision"]["game"]["anchor"]) == ("2", 0.1)
    steps = [set(part["next"]) for part in reversed(await client.threads.get_history(thread))]
    assert steps == [{"__start__"}, {"intake"}, {"a", "b"}, {"principal"}, {"policy_update"}, {"answer"}, set()]


@pytest.mark.parametrize(
    ("context", "error", "message"),
    [
        ({"teem": "x"}, "UsageError", "run configuration: unknown key 'teem'; did you mean 'team'?"),
        ({"max_rounds": 21}, "UsageError", "max_rounds is 21: Input should be less than or equal to 20"),
        ({"team": "nowhere.toml"}, "TeamError", "team file 'nowhere.toml' cannot be read: No such file or directory"),
        ({"db": "mysql://u@h/d"}, "StoreError", "--db begins with 'mysql://'"),
        ({"db": "postgresql://u:secret@h/d"}, "UsageError", "run configuration: db: holds a password"),
    ],
)
async def test_a_configuration_that_cannot_be_is_named_to_the_client(client, thread, context, error, message):
    told = await run_and_fail(client, thread, input=ask(), context=context)
    assert told["error"] == error
    assert message in told["message"]
    assert "secret" not in told["message"]


async def test_an_assistant_whose_team_is_missing_says_so_where_it_would_be_drawn(client):
    broken = (await client.assistants.create(GRAPH, context={"team": "nowhere.toml"}))["assistant_id"]
    for read in (client.assistants.get_graph, client.assistants.get_schemas):
        with pytest.raises(BadRequestError, match=r"team file 'nowhere\.toml' cannot be read"):
            await read(broken)


async def test_a_task_that_cannot_be_is_named_to_the_client(client, thread):
    told = await run_and_fail(client, thread, input=ask("  "))
    assert told == {"error": "TaskError", "message": "the task is empty: give a question or an instruction in words"}


async def test_f3_a_run_without_any_answer_is_an_error_with_every_cause(client, thread, scripted_team):
    rows = [{"agent": "a", "error": "HTTP 402: pay first"}]
    team = scripted_team({"a": []}, rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    told = await run_and_fail(client, thread, input=ask(), context={"team": str(team)})
    assert told["error"] == "DelegationFailedError"
    assert "HTTP 402: pay first" in told["message"]


async def test_f6_going_back_before_the_update_learns_nothing_twice(server, client, thread):
    first = await client.runs.wait(thread, GRAPH, input=ask(domain="replayed"))
    learned = await read_policy(server.db, "replayed")
    assert learned["tasks"] == 1
    history = await client.threads.get_history(thread)
    (before_update,) = [part for part in history if part["next"] == ["policy_update"]]
    again = await client.runs.wait(thread, GRAPH, input=None, checkpoint=before_update["checkpoint"])
    assert again["weights"] == first["weights"]
    assert again["decision"]["answer"] == "42"
    assert len(await client.threads.get_history(thread, limit=50)) > len(history), "it did run again"
    assert await read_policy(server.db, "replayed") == learned


async def test_a_question_edited_in_the_past_is_a_task_of_its_own(server, client, thread):
    await client.runs.wait(thread, GRAPH, input=ask("First?", domain="edited"))
    answered = (await client.threads.get_state(thread))["checkpoint"]
    second = await client.runs.wait(thread, GRAPH, input=ask("Second?"))
    edited = await client.runs.wait(thread, GRAPH, input=ask("Second, edited?"), checkpoint=answered)
    assert edited["decision"]["run_id"].startswith(f"{second['decision']['run_id']}-")
    assert [message["content"] for message in edited["messages"] if message["type"] == "human"] == [
        "First?",
        "Second, edited?",
    ]
    again = await client.runs.wait(thread, GRAPH, input=ask("Second?"), checkpoint=answered)
    assert again["decision"]["run_id"] == second["decision"]["run_id"], "the same question there is the same run"
    reseeded = await client.runs.wait(thread, GRAPH, input=ask("Second?", options={"seed": 5}), checkpoint=answered)
    assert reseeded["decision"]["seed"] == 5
    assert (await read_policy(server.db, "edited"))["tasks"] == 4


async def test_the_command_line_sees_what_the_server_learned(client, thread, db):
    state = await client.runs.wait(thread, GRAPH, input=ask(domain="sums"), context={"db": db})
    shown = await read_policy(db, "sums")
    assert {arm: row["weight"] for arm, row in shown["arms"].items()} == pytest.approx(state["weights"]["after"])
    assert {arm: row["tasks"] for arm, row in shown["arms"].items()} == dict.fromkeys(state["weights"]["after"], 1)
    assert (shown["tasks"], shown["principal"]["tasks"], shown["quarantined"]) == (1, 1, [])
