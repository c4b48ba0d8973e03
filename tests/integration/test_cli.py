"""The command as a person runs it: a process of its own, scripted models, a real database folder."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("aligngraph")
TASK = "What is 6 * 7?"


@pytest.fixture
def run(tmp_path, db):
    """Return a function that runs the command and gives back the finished process."""

    def call(*arguments, stdin="", **environment):
        return subprocess.run(
            [COMMAND, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            check=False,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "ALIGNGRAPH_DB": db, "COLUMNS": "200", **environment},
        )

    return call


@pytest.fixture
def team(scripted_team):
    return scripted_team({"careful": ["42", "42"], "quick": ["41"]}, order=["42", "41"])


def test_ask_prints_answer_ranking_posterior_weights_and_usage(run, team):
    done = run("ask", TASK, "--team", team, "--seed", 7)
    assert done.returncode == 0, done.stderr
    for expected in (
        "careful thinks.",
        "Answer: 42",
        "posterior",
        "careful/step_by_step",
        "↑",
        "↓",
        "4 calls",
        "40 + 20 tokens",
        "answers read as number (guessed from the task); the principal shares its model with careful, quick",
    ):
        assert expected in done.stdout
    for progress in ("careful.0 [step_by_step] -> 42", "quick.0 [step_by_step] -> 41", "principal -> 42 > 41"):
        assert progress in done.stderr


def test_a_tie_is_not_shown_as_an_order(run, scripted_team):
    keys = 'ranker = { name = "program", command = ["true", "{answer}"] }\n'
    done = run("ask", TASK, "--team", scripted_team({"a": ["42", "42"], "b": ["41"]}, principal_keys=keys))
    assert "principal -> 42 = 41" in done.stderr
    assert done.stdout.count("1.=") == 2


def test_json_is_the_contract_s_one_object(run, team):
    done = run("ask", TASK, "--team", team, "--seed", 7, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    decision = json.loads(done.stdout)
    assert list(decision)[:3] == ["run_id", "status", "problems"]
    assert set(decision) == {
        "run_id", "status", "problems", "warnings", "answer", "text", "domain", "kind", "kind_guessed", "seed", "candidates",
        "answers", "ranking", "game", "alternatives", "weights", "learners", "stopped", "usage", "seconds",
    }  # fmt: skip
    assert {"id", "agent", "strategy", "sample", "answer", "text", "error", "usage"} <= set(decision["candidates"][0])
    assert set(decision["answers"][0]) == {"answer", "votes", "posterior", "policy"}
    assert {"ranker", "order", "preference", "abstained"} <= set(decision["ranking"])
    assert {"steps", "anchor", "regret", "regret_bound", "nash_conv"} <= set(decision["game"])
    assert {"majority", "best_of_n", "single"} <= set(decision["alternatives"])
    assert set(decision["weights"]) == {"before", "after"}
    assert set(decision["usage"]) == {"agents", "principal", "total"}
    total = decision["usage"]["total"]
    assert {"calls", "prompt_tokens", "completion_tokens", "cached_tokens", "estimated_calls", "cost"} == set(total)


def test_the_same_seed_prints_the_same_bytes(run, team, tmp_path):
    def once(number):
        decision = json.loads(
            run("ask", TASK, "--team", team, "--seed", 7, "--json", "--db", tmp_path / f"db{number}").stdout
        )
        assert decision.pop("run_id")
        assert decision.pop("seconds") > 0
        return json.dumps(decision)

    assert once(1) == once(2)


def test_three_tasks_are_counted_and_weights_differ_from_the_start(run, team):
    for number in range(3):
        assert run("ask", f"{TASK} (number {number})", "--team", team).returncode == 0
    shown = run("policy", "show")
    assert "domain general: 3 tasks" in shown.stdout
    (domain,) = json.loads(run("policy", "show", "--json").stdout)["domains"]
    assert domain["tasks"] == 3
    start = math.log(2)
    assert domain["arms"]["careful/step_by_step"]["weight"] > start > domain["arms"]["quick/step_by_step"]["weight"]
    assert (
        domain["arms"]["careful/step_by_step"]["competence"] > 0.5 > domain["arms"]["quick/step_by_step"]["competence"]
    )
    assert domain["principal"]["tasks"] == 3


def test_a_dash_reads_the_task_from_standard_input(run, team):
    done = run("ask", "-", "--team", team, "--json", stdin=TASK + "\n")
    assert json.loads(done.stdout)["answer"] == "42"


def test_a_task_that_is_not_text_is_one_line(team, tmp_path, db):
    done = subprocess.run(
        [COMMAND, "ask", "-", "--team", team, "--db", db], input=b"What is \xff\xfe?", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the task is not text" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_standard_input_is_an_empty_task(team, tmp_path, db):
    line = ["sh", "-c", '"$@" <&-', "sh", COMMAND, "ask", "-", "--team", team, "--db", db]
    done = subprocess.run(line, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the task is empty" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_terminal_of_no_width_still_shows_the_answer(run, team):
    assert "Answer: 42" in run("ask", TASK, "--team", team, COLUMNS="0").stdout


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range_is_bad_usage(run, team, seed):
    done = run("ask", TASK, "--team", team, "--seed", seed)
    assert done.returncode == 2
    assert "--seed" in done.stderr


def test_policy_show_before_any_task(run):
    assert run("policy", "show").stdout == "nothing learned yet\n"
    assert json.loads(run("policy", "show", "--json").stdout) == {"domains": [], "models": []}


def test_what_is_shown_is_what_the_next_task_uses_with_what_other_domains_lend(run, team):
    for domain in ("arithmetic", "arithmetic", "trivia"):
        assert run("ask", TASK, "--team", team, "--domain", domain).returncode == 0
    (shown,) = json.loads(run("policy", "show", "--domain", "trivia", "--json").stdout)["domains"]
    used = json.loads(run("ask", TASK, "--team", team, "--domain", "trivia", "--json").stdout)["weights"]["before"]
    assert {arm: row["weight"] for arm, row in shown["arms"].items()} == used


def test_domains_are_kept_apart(run, team):
    run("ask", TASK, "--team", team, "--domain", "arithmetic")
    assert [entry["domain"] for entry in json.loads(run("policy", "show", "--json").stdout)["domains"]] == [
        "arithmetic"
    ]
    assert "nothing learned yet in domain 'trivia'" in run("policy", "show", "--domain", "trivia").stdout


def failing_team(tmp_path, text):
    (tmp_path / "broken.toml").write_text(text)
    return tmp_path / "broken.toml"


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["ask", ""], "the task is empty"),
        (["ask", " \n\t"], "the task is empty"),
        (["ask", "-"], "the task is empty"),
        (["ask", TASK, "--team", "absent.toml"], "team file 'absent.toml' cannot be read"),
        (["ask", TASK, "--db", "mysql://host/db"], "'mysql://'"),
        (["ask", "x" * 120_000, "--team", "team.toml"], "is too long"),
        (["models", "pull", "smollm2-135x"], "did you mean 'smollm2-135m'"),
        (["models", "pull", "hf:nobody"], "hf:OWNER/NAME/FILE.gguf"),
        (["init", "team.toml"], "is there already"),
        (["init", "no/such/folder/team.toml"], "cannot be written"),
    ],
)
@pytest.mark.usefixtures("team")
def test_bad_input_is_one_line_on_standard_error_and_status_two(run, arguments, finding):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert finding in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("sampels = 3", "unknown key 'sampels'; did you mean 'samples'?"),
        ("samples = 0", "greater than or equal to 1"),
        ("samples = [", "not TOML"),
    ],
)
def test_a_bad_team_file_is_one_line_with_its_place(run, tmp_path, line, finding):
    team = failing_team(
        tmp_path,
        f'[[agents]]\nname = "a"\nmodel = "scripted:s.jsonl"\n{line}\n[principal]\nmodel = "scripted:s.jsonl"\n',
    )
    done = run("ask", TASK, "--team", team)
    assert done.returncode == 2
    assert finding in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_option_is_bad_usage(run):
    assert run("ask", TASK, "--no-such-option").returncode == 2


def test_a_corrupt_database_is_named_and_never_overwritten(run, team, tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "policy.sqlite").write_text("not a database, but somebody's file\n" * 50)
    before = (folder / "policy.sqlite").read_bytes()
    done = run("ask", TASK, "--team", team, "--db", folder)
    assert done.returncode == 2
    assert "policy.sqlite" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (folder / "policy.sqlite").read_bytes() == before


def test_when_no_agent_answers_the_object_says_failed_and_the_status_is_one(run, scripted_team):
    team = scripted_team({"a": ["1"]}, rows=[])
    (team.parent / "script.jsonl").write_text(json.dumps({"agent": "a", "error": "HTTP 402: pay first"}))
    done = run("ask", TASK, "--team", team, "--json")
    assert done.returncode == 1
    decision = json.loads(done.stdout)
    assert (decision["status"], decision["answer"]) == ("failed", None)
    assert "HTTP 402: pay first" in done.stderr
    assert "HTTP 402: pay first" in decision["problems"][0]


def test_ctrl_c_keeps_what_was_finished_and_the_run_goes_on_where_it_stopped(run, scripted_team, tmp_path, db):
    slow = {"agent": "slow", "text": "Answer: 41", "latency_s": 60}
    team = scripted_team({"quick": ["42"], "slow": ["41"]}, order=["42", "41"])
    rows = [json.loads(line) for line in (tmp_path / "script.jsonl").read_text().splitlines()]
    kept = [row for row in rows if row["agent"] != "slow"]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, [*kept, slow])))
    process = subprocess.Popen(
        [COMMAND, "ask", TASK, "--team", team, "--db", db, "--run", "r1"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if "quick.0" in line:
            break
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "--run r1" in rest
    assert "Traceback" not in rest
    quick = {"agent": "slow", "text": "Answer: 41"}
    (tmp_path / "script.jsonl").write_text(
        "\n".join(map(json.dumps, [row for row in kept if row["agent"] != "quick"] + [quick]))
    )
    done = run("ask", TASK, "--team", team, "--run", "r1", "--json")
    decision = json.loads(done.stdout)
    assert (decision["run_id"], decision["answer"], decision["status"]) == ("r1", "42", "ok")


def test_doctor_finds_everything_in_order(run, tmp_path):
    script = [{"agent": "doctor", "text": "ready"}, {"agent": "principal", "text": '{"order": "{label:10}>{label:5}"}'}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, script)))
    team = failing_team(
        tmp_path, '[[agents]]\nname = "a"\nmodel = "scripted:s.jsonl"\n[principal]\nmodel = "scripted:s.jsonl"\n'
    )
    done = run("doctor", "--team", team)
    assert done.returncode == 0, done.stdout
    assert "rankings are usable; prefers the right solution in both orders" in done.stdout
    assert all(finding["ok"] for finding in json.loads(run("doctor", "--team", team, "--json").stdout))


def test_doctor_names_what_is_wrong(run, tmp_path):
    (tmp_path / "s.jsonl").write_text(json.dumps({"agent": "principal", "text": "They are all good."}))
    team = failing_team(
        tmp_path,
        '[[agents]]\nname = "a"\nmodel = "openai:gpt-4.1-mini"\n[[agents]]\nname = "b"\n'
        'model = { provider = "openai", name = "x", base_url = "http://127.0.0.1:9/v1" }\n[principal]\nmodel = "scripted:s.jsonl"\n',
    )
    done = run("doctor", "--team", team)
    assert done.returncode == 1
    assert "OPENAI_API_KEY" in done.stdout
    assert "FAIL openai:x" in done.stdout
    assert "2 of 2 rankings could not be used" in done.stdout
    assert "absent.toml" in run("doctor", "--team", "absent.toml").stdout


def test_doctor_checks_every_server_and_every_stand_in(run, tmp_path):
    script = [{"agent": "doctor", "text": "ready"}, {"agent": "principal", "text": '{"order": "{label:10}>{label:5}"}'}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, script)))
    agents = "".join(
        f'[[agents]]\nname = "a{port}"\nmodel = {{ provider = "openai", name = "x", base_url = "http://127.0.0.1:{port}/v1" }}\n'
        for port in (8, 9)
    )
    principal = '[principal]\nmodel = "scripted:s.jsonl"\nfallback = ["scripted:absent.jsonl"]\n'
    found = json.loads(run("doctor", "--team", failing_team(tmp_path, agents + principal), "--json").stdout)
    failed = [finding["check"] for finding in found if not finding["ok"]]
    assert failed == [
        "openai:x at http://127.0.0.1:8/v1",
        "openai:x at http://127.0.0.1:9/v1",
        f"principal scripted:{tmp_path}/absent.jsonl",
    ]


def test_init_writes_a_team_that_can_be_used(run, tmp_path):
    done = run("init", "mine.toml")
    assert done.returncode == 0
    assert "[[agents]]" in (tmp_path / "mine.toml").read_text()
    assert run("init", "mine.toml").returncode == 2
    assert run("init", "mine.toml", "--force").returncode == 0


def test_models_list_names_the_embedded_model(run):
    (model,) = json.loads(run("models", "list", "--json").stdout)
    assert (model["name"], model["licence"]) == ("smollm2-135m", "Apache-2.0")
    assert "embedded:smollm2-135m" in run("models", "list").stdout


def test_every_command_has_help(run):
    for command in ("", "ask", "cancel", "init", "doctor", "policy show", "models list", "models pull"):
        done = run(*command.split(), "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_hostile_text_cannot_write_to_the_terminal_s_markup(run, scripted_team):
    team = scripted_team(
        {"a": ["[bold red]42[/]"], "b": ["[link=file:///x]41"]}, order=["[bold red]42[/]", "[link=file:///x]41"]
    )
    done = run("ask", "[blink]What?[/blink]", "--team", team)
    assert done.returncode == 0, done.stderr
    assert "[bold red]42[/]" in done.stdout


def test_the_version_is_that_of_the_package(run):
    from importlib.metadata import version

    assert run("--version").stdout == version("aligngraph") + "\n"


def test_model_text_cannot_steer_the_terminal(run, scripted_team):
    team = scripted_team({"a": ["\x1b[2J42"], "b": ["41\u202e"]}, order=["\x1b[2J42", "41\u202e"])
    done = run("ask", TASK, "--team", team)
    assert done.returncode == 0, done.stderr
    assert "\\x1b[2J42" in done.stdout
    assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)


def test_an_error_cannot_steer_the_terminal(run, scripted_team):
    """A provider writes the first, the second is what somebody gave as a path."""
    team = scripted_team({"a": ["1"]}, rows=[])
    (team.parent / "script.jsonl").write_text(json.dumps({"agent": "a", "error": "HTTP 402: \x1b[2Jpay\u202e"}))
    for done in (run("ask", TASK, "--team", team), run("ask", TASK, "--team", "\x1b[2J.toml")):
        assert done.returncode != 0
        assert "\\x1b[2J" in done.stderr
        assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)


def test_policy_show_survives_a_circuit_that_cannot_be_read(run, team, db):
    assert run("ask", TASK, "--team", team).returncode == 0
    with closing(sqlite3.connect(Path(db) / "policy.sqlite")) as store, store:
        rows = [("words", "no JSON"), ("deep", "[" * 100_000), ("nested", "[" * 900 + "]" * 900)]
        store.executemany("INSERT INTO circuits VALUES (?, ?, '2027')", rows)
    done = run("policy", "show", "--json")
    assert done.returncode == 0, done.stderr
    known = {entry["model"]: entry for entry in json.loads(done.stdout)["models"]}
    assert [(known[name]["state"], known[name]["cause"][:16]) for name, _ in rows] == [
        ("closed", "counts as closed")
    ] * 3


def test_an_output_that_knows_only_ascii_gets_the_answer_all_the_same(run, scripted_team):
    team = scripted_team({"a": ["zw\u00f6lf"], "b": ["elf"]}, order=["zw\u00f6lf", "elf"])
    for form in ([], ["--json"]):
        done = run("ask", "Wieviel?", "--team", team, *form, PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
        assert "zw\\xf6lf" in done.stdout


@pytest.mark.parametrize("name", ["[/red]", "a b", "x" * 200, "\x1b[2J"])
def test_a_strange_run_id_is_one_line(run, team, name):
    done = run("ask", TASK, "--team", team, "--run", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "use up to 128 letters" in done.stderr
    assert len(done.stderr.splitlines()) == 1
