"""Where the commands that try principals write: never over what is not theirs."""

import json

import pytest

from aligngraph.cli.attack import AttackTrial, attack
from aligngraph.cli.rankers import RankerTrial, compare_rankers
from aligngraph.cli.trials import journal_beside
from aligngraph.errors import UsageError

TEAM = """
[[agents]]
name = "a"
model = "scripted:judge.jsonl"
[principal]
model = "scripted:judge.jsonl"
"""


@pytest.fixture
def team(tmp_path):
    """Return the path of a team whose principal is never asked."""
    (tmp_path / "judge.jsonl").write_text("")
    (tmp_path / "team.toml").write_text(TEAM)
    return str(tmp_path / "team.toml")


@pytest.fixture(params=["attack", "rankers"])
def run(request, team, tmp_path):
    """Return one of the two commands as a function of its file of results."""
    panel = tmp_path / "data" / "gen_local_gsm8k"
    panel.mkdir(parents=True)
    (panel / "panel.jsonl").write_text("")
    commands = {
        "attack": lambda output: attack(team, AttackTrial((), undefended=False, limit=1, seed=0, output=output)),
        "rankers": lambda output: compare_rankers(team, RankerTrial((), tmp_path / "data", 1, 0, 0, output)),
    }
    return commands[request.param]


@pytest.mark.parametrize("text", ["precious line without newline", '{"id":1}\n{"id":2}'])
def test_an_unrelated_file_where_the_journal_would_be_is_refused_and_left_alone(run, tmp_path, text):
    notes = tmp_path / "notes.jsonl"
    notes.write_text(text)
    with pytest.raises(UsageError, match=r"notes\.jsonl is not the record of a trial"):
        run(tmp_path / "notes.json")
    assert notes.read_text() == text
    assert not (tmp_path / "notes.json").exists()


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.JSONL"])
def test_results_are_not_written_over_their_own_journal(run, tmp_path, name):
    with pytest.raises(UsageError, match="is where the record of the trial is kept; name a file") as refused:
        run(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("name", "beside"), [("a.json", "a.jsonl"), ("a", "a.jsonl"), ("a.b.json", "a.b.jsonl")])
async def test_the_journal_lies_beside_the_results(tmp_path, name, beside):
    async def make():
        return {"n": 1}

    await journal_beside(tmp_path / name).keep("k", make)
    assert json.loads((tmp_path / beside).read_text())["row"] == {"n": 1}
    assert journal_beside(tmp_path / name).rows == {"k": {"n": 1}}
