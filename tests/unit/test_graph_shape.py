from aligngraph import Team, build_delegation
from aligngraph.graphs import make_graph


def test_one_node_for_each_agent_and_the_edges_of_the_architecture():
    drawn = build_delegation(Team.load()).get_graph()
    assert set(drawn.nodes) == {
        "__start__",
        "intake",
        "careful",
        "planner",
        "quick",
        "principal",
        "policy_update",
        "answer",
        "__end__",
    }
    agents = {"careful", "planner", "quick"}
    expected = {
        ("__start__", "intake"),
        ("principal", "policy_update"),
        ("policy_update", "answer"),
        ("answer", "__end__"),
    }
    expected |= {("intake", agent) for agent in agents} | {(agent, "principal") for agent in agents}
    expected |= {("policy_update", agent) for agent in agents}
    assert {(edge.source, edge.target) for edge in drawn.edges} == expected


def test_the_update_node_has_no_edge_of_its_own_so_that_its_command_alone_decides():
    loops = [edge for edge in build_delegation(Team.load()).get_graph().edges if edge.source == "policy_update"]
    assert all(edge.conditional for edge in loops)


def test_the_team_of_the_run_configuration_makes_the_graph(scripted_team):
    graph = make_graph({"configurable": {"team": str(scripted_team({"one": ["1"], "two": ["2"]}))}})
    assert {"one", "two"} <= set(graph.get_graph().nodes)


def test_agents_carry_what_studio_shows():
    node = build_delegation(Team.load()).get_graph().nodes["careful"]
    assert node.metadata == {"model": "embedded:smollm2-135m", "strategies": ["step_by_step"], "samples": 2}


def test_the_forms_that_studio_makes():
    graph = make_graph({"configurable": {}})
    assert set(graph.get_input_jsonschema()["properties"]) == {"messages", "domain", "options"}
    context = graph.get_context_jsonschema()
    assert {"team", "db", "max_rounds", "learning", "anchor"} <= set(context["properties"])
    assert all("description" in schema for schema in context["properties"].values())
