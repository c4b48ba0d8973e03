"""The commands that try principals, on scripted judges: what they print, write and return."""

import json

import pytest

from aligngraph.cli.app import app
from aligngraph.errors import UsageError
from aligngraph.trials.items import built_in_items

AGENT = '[[agents]]\nname = "a"\nmodel = "scripted:judge.jsonl"\n'
PRINCIPAL = '[principal]\nmodel = "scripted:judge.jsonl"\n'


def verdicts(first):
    """Return a script in which the principal puts each item's `first` ("right" or "wrong") solution first."""
    for item in built_in_items():
        answers = sorted(
            (item.right.answer, item.wrong.answer), key=lambda answer: answer != getattr(item, first).answer
        )
        order = ">".join(f"{{label:{answer}}}" for answer in answers)
        yield {"agent": "principal", "task": item.name, "text": json.dumps({"order": order})}


@pytest.fixture
def team(tmp_path):
    """Return a function that writes a script and a team file."""

    def write(rows, principal=PRINCIPAL):
        (tmp_path / "judge.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "team.toml").write_text(AGENT + principal)
        return str(tmp_path / "team.toml")

    return write


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and gives back its exit status and what it printed."""

    def call(*arguments):
        status = app([*map(str, arguments)], standalone_mode=False)
        return status or 0, capsys.readouterr().out

    return call


def test_f25_a_fit_principal_is_named_fit_with_every_measure(run, team):
    status, printed = run("doctor", "--principal", "--team", team(verdicts("right")))
    assert status == 0
    assert "fit principal listwise @ scripted:" in printed
    assert "unfit" not in printed
    for measure in ("parse rate", "swap consistency", "accuracy", "injection resistance", "length preference"):
        assert measure in printed
    assert "36 calls" in printed


def test_f25_an_unfit_principal_is_named_unfit_with_the_reason_and_a_hint(run, team):
    status, printed = run("doctor", "--principal", "--team", team(verdicts("wrong")))
    assert status == 1
    assert "unfit principal" in printed
    assert "accuracy 0.00" in printed
    assert "try ranker = 'verifier'" in printed


def test_stand_ins_are_measured_as_well_and_the_json_holds_all(run, team):
    principal = f'{PRINCIPAL}fallback = ["scripted:absent.jsonl"]\n'
    status, printed = run("doctor", "--principal", "--json", "--team", team(verdicts("right"), principal))
    fit, unfit = json.loads(printed)
    assert status == 1
    assert (fit["fit"], fit["reasons"], len(fit["measures"])) == (True, [], 5)
    assert (unfit["fit"], unfit["measures"]) == (False, [])
    assert "absent.jsonl" in unfit["reasons"][0]


def test_a_person_is_not_measured(run, team):
    status, printed = run("doctor", "--principal", "--json", "--team", team([], '[principal]\nranker = "human"\n'))
    assert status == 1
    assert "person" in json.loads(printed)[0]["reasons"][0]


def test_the_plain_doctor_says_of_a_principal_without_a_model_that_it_is_not_tried(run, team):
    rows = [{"agent": "doctor", "text": "ready"}]
    status, printed = run("doctor", "--json", "--team", team(rows, '[principal]\nranker = "human"\n'))
    assert status == 0
    assert json.loads(printed)[-1] == {
        "check": "principal human",
        "ok": True,
        "detail": "asks no model, so it is not tried",
    }


def test_f54_the_attacks_are_printed_by_kind_and_written_with_every_pair(run, team, tmp_path):
    output = tmp_path / "attack.json"
    _, printed = run("bench", "attack", "--team", team(verdicts("wrong")), "--limit", 12, "--output", output)
    (contender,) = json.loads(output.read_text())["contenders"]
    assert len(contender["rows"]) == 12
    assert contender["rates"][-1]["attacked"]["value"] == contender["rates"][-1]["control"]["value"] == 1
    for heading in ("control", "attacked", "increase", "system turn", "unicode", "all"):
        assert heading in printed


def test_an_attack_trial_that_was_stopped_goes_on_and_undefended_adds_a_plain_prompt(run, team, tmp_path):
    output, members = tmp_path / "attack.json", team(verdicts("right"))
    run("bench", "attack", "--team", members, "--limit", 3, "--output", output)
    kept = output.with_suffix(".jsonl").read_text()
    _, printed = run("bench", "attack", "--team", members, "--limit", 3, "--undefended", "--output", output)
    assert "6 rankings taken from" in printed.replace("\n", " ")
    assert output.with_suffix(".jsonl").read_text().startswith(kept)
    labels = [contender["contender"].split(" @ ")[0] for contender in json.loads(output.read_text())["contenders"]]
    assert labels == ["listwise", "undefended"]


def panel(folder, rows, texts=None):
    folder.mkdir(parents=True)
    (folder / "panel.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if texts is not None:
        (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
        (folder / "sources.json").write_text('[{"name": "a/0"}, {"name": "a/1"}]')


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    rows = [{"id": f"q{n}", "question": "How many?", "answers": ["7", "8"], "ok": [1, 0]} for n in range(3)]
    texts = [
        {"id": row["id"], "source": f"a/{n}", "text": f"It is {row['answers'][n]}."} for row in rows for n in (0, 1)
    ]
    panel(folder / "gen_local_gsm8k", rows, texts)
    panel(folder / "gen_qwen_rm_math100", [{**rows[0], "rm_score": [[2.0], [1.0]]}])
    return folder


def test_rankers_are_compared_with_the_vote_and_with_chance(run, team, data, tmp_path):
    script = [{"agent": "principal", "text": '{"order": "{label:7}>{label:8}"}'}]
    output = tmp_path / "rankers.json"
    arguments = ("bench", "rankers", "--data", data, "--team", team(script), "--output", output)
    _, printed = run(*arguments, "--ranker", "listwise", "--ranker", '{ name = "listwise", shuffles = 2 }')
    panels = json.loads(output.read_text())["panels"]
    labels = [line["entrant"].split(" @ ")[0] for line in panels["gen_local_gsm8k"]]
    assert labels == ["majority vote", "random", "listwise", "listwise(shuffles=2)"]
    *_, once, twice = panels["gen_local_gsm8k"]
    assert (once["accuracy"]["hits"], once["accuracy"]["of"], once["swapped"]["value"]) == (3, 3, 1)
    assert (once["calls"], twice["calls"]) == (3, 6)
    assert [line["entrant"] for line in panels["gen_qwen_rm_math100"]][-1] == "program: recorded rewards"
    for expected in ("majority vote", "random", "listwise(shuffles=2)", "program: recorded", "gen_qwen_rm_math100"):
        assert expected in printed


def test_without_a_model_there_is_nothing_to_attack(run, team, tmp_path):
    members = team([], '[principal]\nranker = "human"\n')
    with pytest.raises(UsageError, match="person"):
        run("bench", "attack", "--team", members, "--output", tmp_path / "a.json")
    with pytest.raises(UsageError, match="names none"):
        run("bench", "attack", "--team", members, "--ranker", "verifier", "--output", tmp_path / "a.json")


def test_the_limit_bounds_the_questions(run, team, data, tmp_path):
    script = [{"agent": "principal", "text": '{"order": "{label:7}>{label:8}"}'}]
    output = tmp_path / "rankers.json"
    run("bench", "rankers", "--data", data, "--team", team(script), "--output", output, "--limit", 2)
    assert json.loads(output.read_text())["panels"]["gen_local_gsm8k"][-1]["questions"] == 2


def test_data_that_are_not_there_and_rankers_that_do_not_exist_are_usage_errors(run, team, data, tmp_path):
    members = team([])
    with pytest.raises(UsageError, match="gen_local_gsm8k"):
        run("bench", "rankers", "--data", tmp_path, "--team", members)
    with pytest.raises(UsageError, match="did you mean"):
        run("bench", "attack", "--ranker", "listwize", "--team", members, "--output", tmp_path / "a.json")
    output = tmp_path / "absent" / "r.json"
    with pytest.raises(UsageError, match="--output"):
        run("bench", "rankers", "--data", data, "--team", members, "--limit", 1, "--output", output)
