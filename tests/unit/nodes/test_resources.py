import pytest

from aligngraph import Team
from aligngraph.errors import ModelError
from aligngraph.models import ScriptedChatModel, parse_spec
from aligngraph.nodes import Resources, resources
from aligngraph.persistence import Location

SETTINGS = {"temperature": 0.7, "timeout_s": 60.0}


@pytest.fixture
def shared(scripted_team, tmp_path):
    return Resources.at(Team.load(scripted_team({"a": ["42"]})), Location(tmp_path / "db"))


@pytest.fixture
def opened(monkeypatch):
    """Return what was opened; nothing really is."""
    calls = []

    async def open_model(model, **settings):
        calls.append((str(model.label), settings))
        return object()

    monkeypatch.setattr(resources, "open_model", open_model)
    return calls


async def test_a_model_is_opened_once_for_all_calls(shared):
    (agent,) = shared.team.agents
    first = await shared.open_model(agent.model, **SETTINGS)
    assert isinstance(first, ScriptedChatModel)
    assert await shared.open_model(agent.model, **SETTINGS) is first


async def test_a_model_is_another_one_with_other_settings(shared, opened):
    model = parse_spec("openai:gpt-4.1-mini")
    warm, cold = [await shared.open_model(model, temperature=t, timeout_s=60.0) for t in (0.7, 0.0)]
    assert warm is not cold
    assert [settings["temperature"] for _, settings in opened] == [0.7, 0.0]


async def test_an_embedded_model_is_opened_anew_since_its_server_may_have_ended(shared, opened):
    model = parse_spec("embedded:smollm2-135m")
    first, second = [await shared.open_model(model, **SETTINGS) for _ in range(2)]
    assert first is not second
    assert opened == [("embedded:smollm2-135m", SETTINGS)] * 2


async def test_a_model_that_is_open_already_is_passed_on(shared):
    (agent,) = shared.team.agents
    model = await shared.open_model(agent.model, **SETTINGS)
    assert await shared.open_model(model, temperature=0.0, timeout_s=1.0) is model


async def test_a_model_that_cannot_be_opened_is_tried_again(shared, tmp_path):
    model = parse_spec(f"scripted:{tmp_path / 'later.jsonl'}")
    with pytest.raises(ModelError, match="cannot be read"):
        await shared.open_model(model, **SETTINGS)
    (tmp_path / "later.jsonl").write_text('{"agent": "a", "text": "Answer: 42"}\n')
    assert isinstance(await shared.open_model(model, **SETTINGS), ScriptedChatModel)


async def test_graphs_share_no_models(shared):
    (agent,) = shared.team.agents
    other = Resources(shared.team, shared.open_store)
    assert await other.open_model(agent.model, **SETTINGS) is not await shared.open_model(agent.model, **SETTINGS)
