import asyncio
import os
import time
from functools import partial
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from aligngraph import Team
from aligngraph.calling.circuit import Circuit
from aligngraph.errors import ModelError
from aligngraph.models import ScriptedChatModel, parse_spec
from aligngraph.nodes import Resources, resources
from aligngraph.nodes.lines import _change_circuit
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


def limited(name, **limits):
    return {"provider": "openai", "name": name, "base_url": "http://127.0.0.1:9/v1", **limits}


@pytest.fixture
def lanes(tmp_path):
    """Return resources of a team whose tables name one model with different limits."""
    agents = [
        {"name": "x", "model": limited("m")},
        {"name": "y", "model": limited("m", max_concurrency=4, requests_per_minute=90)},
        {"name": "z", "model": limited("other")},
    ]
    principal = {"model": limited("m", max_concurrency=2, max_tokens=7)}
    team = Team.model_validate({"agents": agents, "principal": principal})
    return Resources.at(team, Location(tmp_path / "db"))


def test_one_model_is_one_lane_with_the_narrowest_limits_that_the_team_names(lanes):
    x, y, z = (lanes.lane_of(agent.model) for agent in lanes.team.agents)
    assert x is y is lanes.lane_of(lanes.team.principal.model)
    assert (x.model, x.most_at_once, x.requests_per_minute) == ("openai:m@http://127.0.0.1:9/v1", 2, 90)
    assert (z.most_at_once, z.requests_per_minute) == (None, None)


async def test_circuits_of_other_processes_are_taken_over_and_nonsense_is_told(lanes):
    model = lanes.team.agents[0].model
    resting = Circuit(failures=5, opened_at=time.time(), rest_s=60.0, cause="503")
    assert lanes.lane_of(model).known == Circuit()
    async with lanes.open_store() as store:
        await store.calls.change_circuit(model.place, lambda _: resting.as_json())
        await store.calls.change_circuit("other", lambda _: {"failures": -1})
        [problem] = await lanes.learn_circuits(store)
        assert lanes.lane_of(model).known == resting
        assert problem.startswith("the circuit of 'other' counts as closed: ")
        await store.calls.change_circuit(model.place, lambda _: Circuit().as_json())
        await lanes.learn_circuits(store)
    assert lanes.lane_of(model).known == Circuit()


@pytest.mark.parametrize("stored", ["no JSON", "[" * 100_000, "[" * 900 + "]" * 900], ids=["words", "deeper", "deep"])
async def test_a_row_that_cannot_be_read_is_told_and_hides_no_other(lanes, stored):
    model = lanes.team.agents[0].model
    resting = Circuit(failures=5, opened_at=time.time(), rest_s=60.0, cause="503")
    async with lanes.open_store() as store:
        for name in ("other", model.place):
            await store.calls.change_circuit(name, lambda _: resting.as_json())
        spoil = text("UPDATE circuits SET circuit = :stored WHERE model = 'other'")
        await store._database.write(lambda connection: connection.execute(spoil, {"stored": stored}))
        [problem] = await lanes.learn_circuits(store)
        assert problem.startswith("the circuit of 'other' counts as closed: ")
        assert lanes.lane_of(model).known == resting
        assert await _change_circuit(lanes, "other", lambda known: known) == Circuit()
        assert await lanes.learn_circuits(store) == []


async def test_a_circuit_that_opens_while_the_stored_ones_are_read_stays_open(lanes):
    """What is read was true before; the model would be asked again by a process that knows better."""
    lane = lanes.lane_of(lanes.team.agents[0].model)

    async def read_slowly():
        rows = await store.calls.read_circuits()
        for _ in range(lanes.team.circuit.failures):
            await lane.note_failure(partial(_change_circuit, lanes), "503")
        return rows

    async with lanes.open_store() as store:
        late = SimpleNamespace(calls=SimpleNamespace(read_circuits=read_slowly))
        await lanes.learn_circuits(late)
        assert lane.known.state(time.time()) == "open"
        await lanes.learn_circuits(store)
        assert lane.known.state(time.time()) == "open"


def test_limits_are_of_the_process_and_failures_of_the_team_s_own_database(lanes):
    one = lanes.lane_of(lanes.team.principal.model)
    other = Resources(lanes.team, lanes.open_store).lane_of(lanes.team.principal.model)
    assert one is not other
    assert one._gates is other._gates


def test_programs_of_all_teams_share_the_processors_in_every_live_loop(lanes, shared):
    cores = os.cpu_count() or 1

    async def take(resources, turns):
        for _ in range(turns):
            await resources.program_turn().__aenter__()

    async def must_wait():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(take(lanes, 1), 0.01)

    with asyncio.Runner() as one, asyncio.Runner() as other:
        one.run(take(shared, cores))
        other.run(take(shared, cores))
        one.run(must_wait())


def test_a_run_has_one_ledger_until_it_ends(lanes):
    first = lanes.ledger_of("r1")
    assert lanes.ledger_of("r1") is first is not lanes.ledger_of("r2")
    lanes.close_ledger("r1")
    lanes.close_ledger("never opened")
    assert lanes.ledger_of("r1") is not first
