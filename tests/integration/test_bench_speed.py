"""The benchmark of speed, made small: its rows, its file, and that it says so when a limit is exceeded."""

import json

import pytest

from aligngraph.bench import game_cost, memory, speed
from aligngraph.bench.game_cost import GameSize
from aligngraph.bench.memory import measure_memory
from aligngraph.bench.round_overhead import measure_round
from aligngraph.bench.scripted_team import ScriptedTeam
from aligngraph.bench.store_growth import Past, measure_store
from aligngraph.cli.app import app

SMALL = ScriptedTeam(agents=2, samples=2, latency_s=0.01)


async def test_a_round_is_measured_against_its_critical_path(tmp_path):
    ratio, per_call = await measure_round(tmp_path, 2, SMALL)
    assert (len(ratio.values), len(per_call.values)) == (2, 2)
    assert min(ratio.values) > 1, "the models alone take that long"
    assert ratio.verdict == "over", "of 20 ms the product takes more than a tenth"
    assert (per_call.limit, per_call.verdict) == (None, None)


async def test_a_round_that_does_not_do_its_calls_is_not_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(ScriptedTeam, "calls", 99)
    with pytest.raises(RuntimeError, match="measured something else"):
        await measure_round(tmp_path, 1, SMALL)


def test_the_memory_is_that_of_the_command(tmp_path):
    (peak,) = measure_memory(tmp_path, 1, SMALL)
    assert 50 < peak.median < 1000


@pytest.fixture
def small(monkeypatch):
    """Make everything small, and one limit too low to be kept."""
    monkeypatch.setattr(speed, "measure_round", lambda folder, repeats: measure_round(folder, repeats, SMALL))
    monkeypatch.setattr(speed, "measure_memory", lambda folder, repeats: measure_memory(folder, repeats, SMALL))
    monkeypatch.setattr(speed, "measure_game", lambda repeats: game_cost.measure_game(repeats, GameSize(2, 3, 10)))
    monkeypatch.setattr(speed, "measure_store", lambda folder, repeats: measure_store(folder, repeats, Past(2, 20)))
    monkeypatch.setattr(memory, "PEAK_MB", 1)


def test_the_command_prints_a_table_and_writes_every_row(small, tmp_path, capsys):
    path = tmp_path / "speed.json"
    app(["bench", "speed", "--output", str(path), "--repeats", "1"], standalone_mode=False)
    written = json.loads(path.read_text())
    rows = {row["name"]: row for row in written["rows"]}
    for row in rows.values():
        assert set(row) == {"name", "unit", "median", "min", "max", "repeats", "limit", "verdict"}
        assert row["repeats"] == 1
        assert row["min"] == row["median"] == row["max"] > 0 or row["name"].endswith("beyond the interpreter")
        assert row["verdict"] == (None if row["limit"] is None else "over" if row["median"] > row["limit"] else "ok")
    assert rows["peak memory of aligngraph ask, scripted models"]["verdict"] == "over"
    assert {row["name"].split(",")[0].split(":")[0] for row in rows.values()} == {
        "task over its critical path",
        "processor time of a model call",
        "aligngraph --help",
        "import aligngraph",
        "from aligngraph import ask (loads LangGraph)",
        "peak memory of aligngraph ask",
        "game of 2 players x 3 answers",
        "store",
    }
    assert f"of {len(rows)} over the limit" in capsys.readouterr().out
