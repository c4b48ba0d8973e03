"""What samples of agents cost whose calls nobody sees: null in the usage, and nothing in the budget."""

import json

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from aligngraph import Agent, Principal, Team, open_session
from aligngraph.errors import StoreError
from aligngraph.persistence import PolicyStore

TASK = "What is 6 * 7?"
PRICE = {"prompt": 3, "completion": 7}


@pytest.fixture
def team(tmp_path):
    """Return a function that makes a team of a scripted agent and others, every model of which has a price."""
    script = tmp_path / "script.jsonl"
    rows = [
        {"agent": "a", "text": "Answer: 42"},
        {"agent": "principal", "text": json.dumps({"order": "{label:42}>{label:41}"})},
    ]
    script.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = f"scripted:{script}"
    scripted = Agent(name="a", model=model, samples=1, strategies=["direct"], price=PRICE)
    principal = Principal(model=model, price=PRICE)
    return lambda *own, **more: Team(agents=[scripted, *own], principal=principal, **more)


def a_function():
    return lambda _messages: "Answer: 41"


def a_graph():
    graph = StateGraph(MessagesState)
    graph.add_node("only", lambda _: {"messages": [{"role": "assistant", "content": "Answer: 41"}]})
    return graph.add_edge(START, "only").compile()


async def ask(team, db, run_id="r1"):
    async with open_session(team, db=db) as session:
        return await session.ask(TASK, run_id=run_id, options={"seed": 3})


@pytest.mark.parametrize("make", [a_function, a_graph])
async def test_a_run_goes_on_under_a_cap_on_money_after_an_agent_whose_cost_nobody_saw(team, db, make, monkeypatch):
    own = Agent.from_runnable(make(), name="own", price=PRICE)
    members = team(own, budget={"money": 1.0})

    async def fail(*_arguments):
        raise StoreError("the process ends here")

    with monkeypatch.context() as stopped:
        stopped.setattr(PolicyStore, "record_ranking", fail)
        with pytest.raises(StoreError):
            await ask(members, db)
    decision = await ask(members, db)
    assert (decision.status, decision.answer, decision.problems) == ("ok", "42", [])
    assert decision.ranking.order == ["42", "41"]
    assert (decision.usage.agents["own"].cost, decision.usage.total.cost) == (None, None)
    assert decision.usage.agents["a"].cost > 0


async def test_of_a_cap_on_money_it_takes_nothing_and_what_was_seen_beside_it_counts(team, db, monkeypatch):
    """The next call would fit alone, not after what the first process paid for."""
    own = Agent.from_runnable(a_function(), name="own", price=PRICE)
    alone = await ask(team(own), db, "r0")
    members = team(own, budget={"money": alone.usage.agents["a"].cost * 1.5})

    async def fail(*_arguments):
        raise StoreError("the process ends here")

    with monkeypatch.context() as stopped:
        stopped.setattr("aligngraph.nodes.principal.distinct_answers", fail)
        with pytest.raises(StoreError):
            await ask(members, db)
    decision = await ask(members, db)
    told = [problem for problem in decision.problems if "money is spent" in problem]
    assert (decision.status, len(told)) == ("degraded", 1)


async def test_an_agent_that_rests_was_not_called_and_costs_nothing(team, db):
    def fail(_messages):
        raise ConnectionResetError("connection lost")

    members = team(Agent.from_runnable(fail, name="own"), circuit={"failures": 1})
    first, second = [await ask(members, db, run_id) for run_id in ("r1", "r2")]
    assert [one.candidates[1].failure for one in (first, second)] == ["call_failed", "not_asked"]
    assert [one.candidates[1].usage.cost for one in (first, second)] == [None, 0.0]
