"""The commands that try principals, on scripted judges: what they print, write and return."""

import json

import pytest

from aligngraph.cli.app import app
from aligngraph.errors import UsageError
from aligngraph.trials.edition import Edition
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
    for measure in (
        "parse rate",
        "decided",
        "swap consistency",
        "accuracy",
        "injection resistance",
        "length preference",
    ):
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
    assert (fit["fit"], fit["reasons"], len(fit["measures"])) == (True, [], 6)
    assert (unfit["fit"], unfit["measures"]) == (False, [])
    assert "absent.jsonl" in unfit["reasons"][0]


def test_a_person_is_not_measured(run, team):
    status, printed = run("doctor", "--principal", "--json", "--team", team([], '[principal]\nranker = "human"\n'))
    assert status == 1
    assert "person" in json.loads(printed)[0]["reasons"][0]


def test_the_plain_doctor_does_not_try_a_person(run, team):
    rows = [{"agent": "doctor", "text": "ready"}]
    status, printed = run("doctor", "--json", "--team", team(rows, '[principal]\nranker = "human"\n'))
    assert status == 0
    assert json.loads(printed)[-1] == {
        "check": "principal human",
        "ok": True,
        "detail": "asks a person",
    }


def doctored(run, members):
    """Return the exit status of the plain doctor and what it says of all but the database and the team."""
    status, printed = run("doctor", "--json", "--team", members)
    return status, [(found["check"], found["ok"], found["detail"]) for found in json.loads(printed)[2:]]


READY = {"agent": "doctor", "text": "ready"}


@pytest.mark.parametrize(("program", "there"), [("python3", True), ("no-such-program", False)])
def test_the_plain_doctor_says_whether_the_program_that_ranks_is_there(run, team, program, there):
    ranker = f'[principal]\nranker = {{ name = "program", command = ["{program}", "check.py", "{{answer}}"] }}\n'
    status, found = doctored(run, team([READY], ranker))
    check, ok, detail = found[-1]
    assert (status, check, ok) == (int(not there), "principal program", there)
    assert (program in detail) != there


@pytest.mark.parametrize("absent", [None, "torch", "transformers"])
def test_the_plain_doctor_says_whether_a_reward_model_could_be_loaded(run, team, monkeypatch, absent):
    monkeypatch.setattr("aligngraph.ranking.specs.find_spec", lambda name: None if name == absent else object())
    principal = '[principal]\nranker = { name = "reward_model", model = "some/model" }\n'
    status, found = doctored(run, team([READY], principal))
    assert (status, *found[-1][:2]) == (0 if absent is None else 1, "principal reward_model", absent is None)
    assert ("aligngraph[hf]" in found[-1][2]) == (absent is not None)


def test_the_plain_doctor_tries_every_model_that_judges(run, team):
    absent = {name: f"scripted:{name}.jsonl" for name in ("panel", "stand_in", "texts")}
    principal = (
        f'{PRINCIPAL}fallback = ["{absent["stand_in"]}"]\n[[principal.panel]]\nmodel = "{absent["panel"]}"\n'
        f'[answers]\njudge = "{absent["texts"]}"\n'
    )
    ranking = {"agent": "principal", "text": '{"order": "{label:10}>{label:5}"}'}
    status, found = doctored(run, team([READY, ranking], principal))
    failed = [check for check, ok, _ in found if not ok]
    assert status == 1
    assert [check.rpartition("/")[2].removesuffix(".jsonl") for check in failed] == ["panel", "stand_in", "texts"]
    assert failed[-1].startswith("answers.judge scripted:")


def test_a_judge_of_texts_that_answers_is_in_order(run, team):
    _, found = doctored(run, team([READY], f'{PRINCIPAL}[answers]\njudge = "scripted:judge.jsonl"\n'))
    assert found[-1][0].startswith("answers.judge scripted:")
    assert found[-1][1:] == (True, "answers")


OTHERS = """
[[agents]]
name = "terse"
model = {{ provider = "scripted", name = "{folder}/judge.jsonl", max_tokens = 5 }}
[[agents]]
name = "stranger"
model = "scripted:other.jsonl"
"""


@pytest.mark.parametrize(
    ("recuse", "effect"),
    [("false", "recuse = true would hide their candidates"), ("true", "recuse = true hides their candidates")],
)
def test_the_plain_doctor_says_which_agents_share_the_model_of_a_judge(run, team, tmp_path, recuse, effect):
    (tmp_path / "other.jsonl").write_text(json.dumps(READY))
    members = team([READY], f"{PRINCIPAL}recuse = {recuse}\n{OTHERS.format(folder=tmp_path)}")
    _, found = doctored(run, members)
    (shared,) = [detail for _, ok, detail in found if ok and "recuse" in detail]
    assert shared == f"is also the model of a, terse; {effect} from it"


def test_where_all_agents_share_the_model_recusal_would_leave_nothing_to_see(run, team):
    _, found = doctored(run, team([READY], PRINCIPAL))
    assert found[-1][2] == "is also the model of a; recuse = true would hide the candidates of all agents from it"


def test_a_judge_with_a_model_of_its_own_is_not_spoken_of(run, team, tmp_path):
    (tmp_path / "other.jsonl").write_text(json.dumps(READY))
    _, found = doctored(run, team([READY], '[principal]\nmodel = "scripted:other.jsonl"\n'))
    assert not any("recuse" in detail for _, _, detail in found)


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
    assert json.loads(output.read_text())["prompts"] == Edition.current().prompts
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
