import pytest
from langgraph_sdk.runtime import _ExecutionRuntime, _ReadRuntime

from aligngraph.context import DelegationContext, StudioContext
from aligngraph.errors import AlignGraphError, DelegationFailedError, UsageError
from aligngraph.graphs import make_graph
from aligngraph.settings import Game
from aligngraph.team import Team


def limits(model, name):
    """Return what JSON Schema says about the field, but for its words and its default."""
    field = model.model_json_schema()["properties"][name]
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    bounds = {"type", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    return [{key: value for key, value in kind.items() if key in bounds} for kind in kinds]


@pytest.mark.parametrize("name", Game.model_fields)
def test_a_run_may_set_what_a_team_file_may(name):
    """A value that only the game refuses would be refused after the agents were paid."""
    expected = sorted(limits(Game, name), key=str)
    assert sorted(limits(DelegationContext, name), key=str) == expected
    assert expected[0]


def test_what_is_left_out_is_the_teams():
    team = Team.load()
    assert DelegationContext.of(None).game(team) == team.game
    assert DelegationContext.of(None).learning_mode(team) == team.learning.mode
    changed = DelegationContext(anchor=0, learning="frozen")
    assert changed.game(team) == team.game.model_copy(update={"anchor": 0})
    assert changed.learning_mode(team) == "frozen"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_round": 2}, "unknown key 'max_round'; did you mean 'max_rounds'?"),
        ({"zzz": 2}, "unknown key 'zzz'; known: anchor, db, "),
        ({"learning": "off"}, "learning is 'off': Input should be 'on', 'frozen' or 'shadow'"),
        ({"step_size": float("inf")}, "step_size is inf: Input should be a finite number"),
        ({"anchor": float("nan")}, "anchor is nan: Input should be a finite number"),
        ({"smoothing": 1e7}, "smoothing is 10000000.0: Input should be less than or equal to 1000000"),
        ({"step_size": 0, "x": 1}, "step_size is 0: Input should be greater than 0; unknown key 'x'"),
    ],
)
def test_what_cannot_be_is_named(given, message):
    with pytest.raises(UsageError) as caught:
        StudioContext.read(given)
    assert str(caught.value).startswith("run configuration: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("db", ["postgresql://user:hush@host/base", "postgresql://host/base?user=u&password=hush"])
def test_a_password_is_refused_and_not_repeated(db):
    with pytest.raises(UsageError, match=r"db: holds a password, .* set ALIGNGRAPH_DB instead") as caught:
        StudioContext.read({"db": db})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("db", ["postgresql://user@host/base", "~/folder", "folder:with/colon@sign"])
def test_other_places_are_taken(db):
    assert StudioContext.read({"db": db}).db == db


def test_a_run_is_refused_for_an_unknown_key_before_its_graph_is_made():
    runtime = _ExecutionRuntime(access_context="threads.create_run", store=None, context={"teem": "x"})
    with pytest.raises(UsageError, match="unknown key 'teem'"):
        make_graph({"configurable": {"thread_id": "t"}}, runtime)


def test_a_run_has_the_team_of_its_context(scripted_team):
    context = {"team": str(scripted_team({"one": ["1"]}))}
    runtime = _ExecutionRuntime(access_context="threads.create_run", store=None, context=context)
    assert "one" in make_graph({"configurable": {}}, runtime).get_graph().nodes


def test_whoever_only_reads_is_not_held_up_by_the_servers_own_names(scripted_team):
    chosen = {"team": str(scripted_team({"one": ["1"]})), "thread_id": "t", "langgraph_auth_user": None}
    runtime = _ReadRuntime(access_context="assistants.read", store=None)
    assert "one" in make_graph({"configurable": chosen}, runtime).get_graph().nodes


def test_errors_are_of_the_kinds_whose_message_a_server_passes_on():
    assert issubclass(AlignGraphError, RuntimeError)
    assert issubclass(UsageError, ValueError)
    assert not issubclass(DelegationFailedError, ValueError)
