"""A graph of one's own as an agent beside language models: `python examples/own_agent.py`."""

import re

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from aligngraph import Agent, Team, ask


def calculate(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Add or multiply the two numbers of the question."""
    found = re.search(r"(\d+) *([*+]) *(\d+)", str(state["messages"][-1].text))
    if found is None:
        return {"messages": [AIMessage("I only add and multiply.")]}
    one, sign, other = int(found[1]), found[2], int(found[3])
    result = one * other if sign == "*" else one + other
    return {"messages": [AIMessage(f"{found[0]} = {result}\nAnswer: {result}")]}


graph = StateGraph(MessagesState)
graph.add_node("calculate", calculate)
graph.add_edge(START, "calculate")

models = Team.load()
calculator = Agent.from_runnable(graph.compile(), name="calculator")
team = Team(agents=(*models.agents, calculator), principal=models.principal)

decision = ask("What is 6 * 7?", team=team)
print(decision.answer, {candidate.id: candidate.answer for candidate in decision.candidates})
