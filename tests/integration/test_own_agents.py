"""Functions, chains, graphs with tools and remote graphs as agents: with real checkpoints, real requests and real servers."""

import asyncio
import json
from collections import Counter
from itertools import count

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client
from pydantic import ValidationError

from aligngraph import Agent, AlignChatModel, DelegationContext, Principal, Team, aask, build_delegation, open_session
from aligngraph.bench.faulty_server import FaultyServer
from aligngraph.errors import ModelError
from aligngraph.models import open_model, parse_spec
from aligngraph.strategies import find_strategy

TASK = "What is 6 * 7?"
USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


@tool
def multiply(one: int, other: int) -> int:
    """Return the product of two numbers."""
    return one * other


class Calculator(BaseChatModel):
    """Calls the tool with the numbers 6 and the sample's, then says what came back, and what else it was told."""

    shown: list = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self):
        return "calculator"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.shown.append([(message.type, str(message.text)) for message in messages])
        if messages[-1].type == "tool":
            reply = AIMessage(f"It is so.\nAnswer: {messages[-1].text}", usage_metadata=USAGE)
        else:
            call = {"name": "multiply", "args": {"one": 6, "other": 7 + run_manager.metadata["sample"]}, "id": "1"}
            reply = AIMessage("", tool_calls=[call], usage_metadata=USAGE)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def team_of(*agents, order=(), tmp_path=None, **more):
    script = tmp_path / "principal.jsonl"
    verdict = ">".join(f"{{label:{answer}}}" for answer in order) or "abstain"
    script.write_text(json.dumps({"agent": "principal", "text": json.dumps({"order": verdict})}))
    return Team(agents=agents, principal=Principal(model=f"scripted:{script}"), **more)


@pytest.fixture
def team(tmp_path):
    """Return a function that makes a team of these agents, whose principal has the answers in this order."""
    return lambda *agents, **more: team_of(*agents, tmp_path=tmp_path, **more)


def answers(decision):
    return {candidate.id: candidate.answer for candidate in decision.candidates}


async def test_a_graph_with_tools_draws_samples_in_parallel_and_sees_the_whole_chat(team, db):
    model = Calculator()
    solver = Agent.from_runnable(create_agent(model, [multiply]), name="solver", samples=3)
    chat = [
        SystemMessage("Be brief."),
        HumanMessage("What is 5 * 7?"),
        AIMessage("Answer: 35"),
        HumanMessage(TASK),
    ]
    decision = await aask(chat, team=team(solver, order=["42", "48", "54"]), db=db)
    assert (decision.status, decision.answer) == ("ok", "42")
    assert answers(decision) == {"solver.0": "42", "solver.1": "48", "solver.2": "54"}
    assert {candidate.usage.calls for candidate in decision.candidates} == {2}
    assert decision.usage.agents["solver"].prompt_tokens == 60
    first, second = model.shown[0], model.shown[-1]
    assert first == [("system", "Be brief."), ("human", "What is 5 * 7?"), ("ai", "Answer: 35"), ("human", TASK)]
    assert [kind for kind, _ in second] == ["system", "human", "ai", "human", "ai", "tool"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_it_works_under_a_checkpointer_and_again_on_the_same_thread(team, db, tmp_path, kind):
    solver = Agent.from_runnable(create_agent(Calculator(), [multiply]), name="solver", samples=3)
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "own.sqlite")) as sqlite:
        saver = InMemorySaver() if kind == "memory" else sqlite
        graph = build_delegation(team(solver, order=["42", "48", "54"]), db=db, checkpointer=saver)
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 8}
        for number in (1, 2):
            state = await graph.ainvoke({"messages": [HumanMessage(f"{TASK} ({number})")]}, config)
            assert [candidate["answer"] for candidate in state["candidates"]] == ["42", "48", "54"]
        namespaces = {kept.config["configurable"]["checkpoint_ns"] async for kept in saver.alist(config)}
        assert namespaces == {""}, "what an agent does within is none of the run's state"
        snapshot = await graph.aget_state(config, subgraphs=True)
        assert snapshot.values["decision"]["answer"] == "42"


async def test_a_run_that_was_stopped_hands_no_sample_the_reply_of_another(team, db):
    """LangGraph numbers the calls of a graph within a node, and would take the second for the first."""
    held = asyncio.Event()
    begun = Counter()

    def number(state, config):
        begun[config["metadata"]["sample"]] += 1
        return {"messages": [AIMessage(f"Draft {config['metadata']['sample']}")]}

    async def finish(state, config):
        if config["metadata"]["sample"] == 1:
            await held.wait()
        return {"messages": [AIMessage(f"Answer: {config['metadata']['sample']}")]}

    graph = StateGraph(MessagesState)
    graph.add_sequence([number, finish])
    graph.add_edge(START, "number")
    members = team(Agent.from_runnable(graph.compile(), name="solver", samples=2, timeout_s=600), order=["0", "1"])
    told = asyncio.Event()
    async with open_session(members, db=db) as session:
        run = asyncio.create_task(
            session.ask(TASK, run_id="r", on_event=lambda event: event["event"] == "candidate" and told.set())
        )
        await told.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    held.set()
    decision = await aask(TASK, team=members, db=db, run_id="r")
    assert answers(decision) == {"solver.0": "0", "solver.1": "1"}
    assert begun == {0: 1, 1: 2}, "what was stored is not asked for again"


@pytest.mark.parametrize("sync", [True, False])
async def test_a_function_is_an_agent(team, db, sync):
    def solve(messages):
        return f"Answer: {messages[-1].text.count('7')}"

    async def solve_later(messages):
        await asyncio.sleep(0)
        return solve(messages)

    agent = Agent.from_runnable(solve if sync else solve_later, name="own")
    decision = await aask(TASK, team=team(agent), db=db)
    assert (decision.status, decision.answer) == ("ok", "1")
    assert (decision.usage.agents["own"].calls, decision.weights.after.keys()) == (0, {"own/as_is"})


async def test_one_that_returns_no_reply_fails_alone_and_says_what_to_give(team, db):
    """F1, F51."""
    odd = Agent.from_runnable(lambda messages: {"output": "Answer: 41"}, name="odd")
    broken = Agent.from_runnable(lambda messages: {}["tool"], name="broken")
    decision = await aask(TASK, team=team(odd, broken, Agent.from_runnable(lambda _: "Answer: 42", name="own")), db=db)
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert sorted(decision.problems) == [
        "broken.0: KeyError: 'tool'",
        "odd.0: returned an object of type 'dict' with the keys 'output'; give `take=`, which makes a text or a message of it",
    ]


async def test_an_agent_of_one_s_own_is_not_asked_again_and_no_other_rests_for_it(team, db):
    """Its calls have retries of their own; what it has done once may not be harmless to do twice."""
    asked = Counter()

    async def fail(messages, config):
        asked[config["metadata"]["agent"]] += 1
        if config["metadata"]["agent"] == "weak":
            raise ConnectionResetError("connection lost")
        return "Answer: 42"

    agents = [Agent.from_runnable(fail, name=name, samples=6) for name in ("weak", "sound")]
    members = team(*agents)
    for number in range(2):
        decision = await aask(f"{TASK} ({number})", team=members, db=db)
        assert {c.answer for c in decision.candidates if c.agent == "sound"} == {"42"}
    assert asked["sound"] == 12
    assert asked["weak"] == 6, "it was not asked again, and by the second task it rests"
    assert {c.failure for c in decision.candidates if c.agent == "weak"} == {"not_asked"}


async def test_f17_its_calls_keep_to_the_budget(team, db):
    model = Calculator()

    async def ask_thrice(messages, config):
        for _ in range(3):
            await model.ainvoke(messages, config)
        return "Answer: 41"

    members = team(
        Agent.from_runnable(ask_thrice, name="greedy"),
        Agent.from_runnable(lambda _: "Answer: 42", name="own"),
        budget={"calls": 1},
    )
    decision = await aask(TASK, team=members, db=db)
    greedy, _ = decision.candidates
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert (greedy.failure, greedy.error) == ("not_asked", "budget: its 1 calls are spent")
    assert (len(model.shown), greedy.usage.calls) == (1, 1)


async def test_a_call_in_a_thread_is_seen_and_one_after_its_time_is_refused(team, db):
    """F17: a thread cannot be stopped, but it can be kept from paying for more."""
    model, outcomes = Calculator(), []
    late = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask(messages, config):
        model.invoke(messages)
        asyncio.run_coroutine_threadsafe(late.wait(), loop).result()
        try:
            model.invoke(messages)
        except RuntimeError as error:
            outcomes.append(str(error))
        return "Answer: 41"

    slow = Agent.from_runnable(ask, name="slow", timeout_s=0.5)
    decision = await aask(TASK, team=team(slow, Agent.from_runnable(lambda _: "Answer: 42", name="own")), db=db)
    assert decision.problems == ["slow.0: no reply within 0.5 s"]
    assert decision.candidates[0].usage.calls == 1
    late.set()
    await loop.shutdown_default_executor()
    assert (len(model.shown), outcomes) == (1, ["what makes this call was given up before"])


async def shared_by_three(server):
    """Return agents that share one model object: as a model, in a chain, and twice in a graph."""
    model = await open_model(parse_spec({"provider": "openai", "name": "m", "base_url": server.base_url}))
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), MessagesPlaceholder("chat")]) | model

    async def ask(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_sequence([("draft", ask), ("finish", ask)])
    graph.add_edge(START, "draft")
    return (
        Agent(name="direct", model=model),
        Agent.from_runnable(chain, name="chain", give=lambda messages: {"chat": messages}),
        Agent.from_runnable(graph.compile(), name="graph", samples=2),
    )


def counted_by(server):
    """Return the calls and the tokens that the provider itself counted."""
    calls = server.log.calls
    return (len(calls), sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls))


def counted_in(usage):
    return (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"])


MODES = ["values", "updates", "messages", "custom", "debug", "tasks"]


@pytest.mark.parametrize("mode", [None, *MODES, MODES])
@pytest.mark.parametrize("subgraphs", [False, True])
async def test_f14_f15_one_model_of_three_agents_is_counted_as_its_provider_counts(team, db, mode, subgraphs):
    numbers = count()
    with FaultyServer(lambda *_: f"So it is {next(numbers)}.\nAnswer: 42") as server:
        graph = build_delegation(team(*await shared_by_three(server)), db=db, checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "t"}}
        given = {"messages": [HumanMessage(TASK)]}
        if mode is None:
            await graph.ainvoke(given, config)
        else:
            parts = [part async for part in graph.astream(given, config, stream_mode=mode, subgraphs=subgraphs)]
            assert parts
        values = (await graph.aget_state(config)).values
    usage = values["decision"]["usage"]
    assert counted_by(server)[0] == 2 + 1 + 4
    assert counted_in(usage["total"]) == counted_by(server)
    assert {name: spent["calls"] for name, spent in usage["agents"].items()} == {"direct": 2, "chain": 1, "graph": 4}
    assert usage["total"]["estimated_calls"] == 0


async def test_a_price_is_that_of_its_models_and_a_cap_on_money_needs_one(team, db):
    solver = create_agent(Calculator(), [multiply])
    priced = Agent.from_runnable(solver, name="solver", price={"prompt": 1e6, "completion": 2e6})
    decision = await aask(TASK, team=team(priced), db=db)
    assert decision.usage.agents["solver"].cost == 2 * (10 * 1 + 5 * 2)


async def test_as_is_adds_nothing_until_there_is_a_ranking_to_tell(team, db):
    shown = []

    def solve(messages):
        shown.append([(message.type, message.text) for message in messages])
        return f"Answer: {len(shown)}"

    def other(messages):
        return "Answer: 0"

    agents = [Agent.from_runnable(solve, name="own"), Agent.from_runnable(other, name="other", strategies=["direct"])]
    chat = [SystemMessage("One."), HumanMessage("Before."), SystemMessage("Two."), HumanMessage(TASK)]
    members = team(*agents, order=["0", "1"])
    await aask(chat, team=members, db=db, context=DelegationContext(max_rounds=2, anchor=0.05))
    first, second = shown
    assert first == [("system", "One."), ("human", "Before."), ("system", "Two."), ("human", TASK)]
    assert [kind for kind, _ in second] == ["system", "human", "human"]
    assert "1. 0\n2. 1" in second[0][1]
    assert {"One.", "Two."} <= set(second[0][1].split("\n\n"))


async def test_other_strategies_tell_it_how_to_work_in_as_many_turns_as_they_have(team, db):
    shown = []

    def solve(messages):
        shown.append([message.type for message in messages])
        return f"Turn {len(shown)}.\nAnswer: {messages[0].text == find_strategy('self_check').turns[0]}"

    own = Agent.from_runnable(solve, name="own", samples=2, strategies=["self_check", "as_is"])
    decision = await aask(TASK, team=team(own), db=db)
    assert set(decision.weights.after) == {"own/self_check", "own/as_is"}
    turns = [kinds for kinds in shown if kinds[0] == "system"]
    assert turns == [["system", *["human", "ai"] * number, "human"] for number in range(3)]


async def test_another_team_as_a_chat_model_costs_what_its_members_cost(team, scripted_team, db, tmp_path):
    """F15: neither its members nor it itself are counted twice."""
    nested = scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"])
    model = AlignChatModel(team=nested, db=str(tmp_path / "nested"))
    agents = (
        Agent(name="asked", model=model, samples=1),
        Agent.from_runnable(model.invoke, name="within"),
        Agent.from_runnable(build_delegation(Team.load(nested), db=str(tmp_path / "graph")), name="graph"),
    )
    decision = await aask(TASK, team=team(*agents), db=db)
    assert (decision.status, answers(decision)) == ("ok", {"asked.0": "42", "within.0": "42", "graph.0": "42"})
    for name in ("asked", "within", "graph"):
        spent = decision.usage.agents[name]
        assert (name, spent.calls, spent.prompt_tokens, spent.completion_tokens) == (name, 3, 30, 15)


def test_xray_shows_the_graph_within_the_agent_s_node(team):
    solver = Agent.from_runnable(create_agent(Calculator(), [multiply]), name="solver")
    far = Agent.from_runnable(RemoteGraph("far", url="http://127.0.0.1:1"), name="far")
    graph = build_delegation(team(solver, far, Agent.from_runnable(lambda _: "Answer: 42", name="own")))
    drawn = graph.get_graph(xray=True)
    assert {"solver:model", "solver:tools", "far", "own"} < set(drawn.nodes)
    assert {("solver:model", "solver:tools"), ("solver:tools", "solver:model")} <= {
        (edge.source, edge.target) for edge in drawn.edges
    }
    plain = graph.get_graph()
    assert set(plain.nodes) >= {"solver", "far", "own"}
    assert plain.nodes["solver"].metadata == {
        "model": "CompiledStateGraph:LangGraph",
        "strategies": ["as_is"],
        "samples": 1,
    }


def test_a_team_is_described_by_its_agents_names(team):
    members = team(Agent.from_runnable(create_agent(Calculator(), [], name="solver"), name="own"))
    (described,) = members.describe()["agents"]
    assert described["model"] == "CompiledStateGraph:solver"
    assert [strategy.split("@")[0] for strategy in described["strategies"]] == ["as_is"]
    assert json.loads(json.dumps(members.describe())) == members.describe()


def test_what_cannot_be_an_agent_is_refused():
    with pytest.raises(ModelError, match=r"agent 'own': got an object of type 'StateGraph': compile\(\) it first"):
        Agent.from_runnable(StateGraph(MessagesState), name="own")
    with pytest.raises(ValidationError, match=r"'function'.*Agent\.from_runnable takes others"):
        Agent(name="own", model=lambda messages: "Answer: 42")
    with pytest.raises(ValidationError, match="belongs to a node of the graph"):
        Agent.from_runnable(lambda messages: "Answer: 42", name="answer")
    with pytest.raises(ValidationError, match=r"Agent\.from_runnable takes others"):
        Principal(model=Agent.from_runnable(lambda messages: "Answer: 42", name="own").model)


OWN_GRAPHS = '''
"""A graph, and a team with it for an agent, as a user of the package would write them."""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from aligngraph import Agent, Team, build_delegation


def think(state: MessagesState) -> dict:
    return {"messages": [AIMessage(f"{state['messages'][0].type}: {state['messages'][-1].text}")]}


def solve(state: MessagesState) -> dict:
    return {"messages": [AIMessage("Six sevens.\\nAnswer: 42")]}


graph = StateGraph(MessagesState)
graph.add_sequence([think, solve])
graph.add_edge(START, "think")
solver = graph.compile()

members = Team.load("team.toml")
own = Agent.from_runnable(solver, name="own", samples=2)
team = build_delegation(members.model_copy(update={"agents": (own, members.agents[1])}))
'''


@pytest.fixture(scope="module")
def own_server(tmp_path_factory, serve_folder):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_graphs.py").write_text(OWN_GRAPHS)
    graphs = {"team": "own_graphs:team", "solver": "own_graphs:solver"}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with serve_folder(folder) as server:
        yield server


@pytest.fixture
async def own_client(own_server):
    async with get_client(url=own_server.url) as client:
        yield client


@pytest.mark.server
async def test_studio_draws_the_agent_s_graph_and_runs_it(own_server, own_client):
    (assistant,) = await own_client.assistants.search(graph_id="team")
    drawn = await own_client.assistants.get_graph(assistant["assistant_id"], xray=True)
    assert {"own:think", "own:solve", "quick", "principal"} < {node["id"] for node in drawn["nodes"]}
    assert "own" in await own_client.assistants.get_subgraphs(assistant["assistant_id"])
    thread = (await own_client.threads.create())["thread_id"]
    chat = {"messages": [{"role": "user", "content": TASK}]}
    state = await own_client.runs.wait(thread, "team", input=chat)
    assert (state["decision"]["status"], state["decision"]["answer"]) == ("ok", "42")
    assert [candidate["answer"] for candidate in state["candidates"]] == ["42", "42", "41"]
    kept = await own_client.threads.get_state(thread, subgraphs=True)
    assert kept["values"]["decision"]["answer"] == "42"
    assert "BlockingError" not in own_server.text


@pytest.mark.server
async def test_a_remote_graph_is_an_agent(own_server, own_client, team, db):
    shown = []

    def take(state):
        shown.append([(message["type"], message["content"]) for message in state["messages"]])
        return state

    far = RemoteGraph("solver", client=own_client)
    threads = await own_client.threads.search(limit=100)
    agents = (
        Agent.from_runnable(far, name="far", samples=2),
        Agent.from_runnable(far, name="watched", take=take),
        Agent.from_runnable(RemoteGraph("team", client=own_client), name="whole_team"),
    )
    chat = [SystemMessage("Be brief."), HumanMessage(TASK)]
    async with open_session(team(*agents), db=db) as session:
        decision = await session.ask(chat)
    assert (decision.status, decision.answer) == ("ok", "42")
    assert answers(decision) == {"far.0": "42", "far.1": "42", "watched.0": "42", "whole_team.0": "42"}
    assert [text for _, text in shown[0]] == ["Be brief.", TASK, f"system: {TASK}", "Six sevens.\nAnswer: 42"]
    assert await own_client.threads.search(limit=100) == threads, "it leaves no thread behind"


async def test_a_remote_graph_that_cannot_be_reached_is_its_agent_s_failure(team, db):
    async with get_client(url="http://127.0.0.1:9") as client:
        agents = (
            Agent.from_runnable(RemoteGraph("solver", client=client), name="far"),
            Agent.from_runnable(lambda _: "Answer: 42", name="own"),
        )
        decision = await aask(TASK, team=team(*agents), db=db)
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert decision.problems[0].startswith("far.0: ConnectError: ")


@pytest.mark.parametrize("ending", [SystemExit(3), asyncio.CancelledError()])
async def test_an_agent_that_would_end_the_program_fails_alone(ending, db):
    async def stops(_messages):
        raise ending

    odd, sound = Agent.from_runnable(stops, name="odd"), Agent.from_runnable(lambda _: "Answer: 42", name="sound")
    decision = await aask(
        "How many?", team=Team(agents=[odd, sound], principal=Principal(ranker={"name": "human"})), db=db
    )
    assert (decision.status, decision.answer) == ("degraded", "42")
    (problem,) = decision.problems
    assert problem.startswith("odd.0: stopped itself: ")
