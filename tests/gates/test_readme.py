"""What the README says is run: its Python, its commands, its team file, its picture."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from aligngraph import Agent, Team, build_delegation
from aligngraph.calling.settings import CircuitSettings, RetrySettings
from aligngraph.models import ModelSpec
from aligngraph.ranking.specs import Spec
from aligngraph.roles import Price
from aligngraph.settings import Budget, Cache, Learning, Privacy

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DOCS = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}


def blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def settings(scripted_team, db):
    """Return the environment in which every task of the README is answered by a script."""
    rows = [
        {"agent": "doctor", "text": "ready"},
        {"agent": "principal", "task": "doctor", "text": '{"order": "{label:10}>{label:5}"}'},
    ]
    team = scripted_team({"careful": ["42"], "quick": ["41"]}, order=["42", "41"], rows=rows)
    return {**os.environ, "ALIGNGRAPH_TEAM": str(team), "ALIGNGRAPH_DB": db}


@pytest.mark.parametrize("code", blocks("python"))
def test_every_snippet_runs(code, settings, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env=settings,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "code", [code for name, text in DOCS.items() for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
)
def test_what_a_snippet_of_the_docs_takes_from_us_exists(code):
    """Such a snippet names models and servers that nobody has here, so that it is read and not run."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aligngraph"):
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, alias.name) for alias in node.names), code


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines()])
def test_every_command_runs(line, settings, tmp_path):
    folder = str(Path(sys.executable).parent)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line],
        check=False,
        capture_output=True,
        text=True,
        env={**settings, "PATH": path},
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_every_example_runs(example, settings, tmp_path):
    done = subprocess.run(
        [sys.executable, example], check=False, capture_output=True, text=True, env=settings, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_example_of_many_tasks_shows_each_ranking(settings, tmp_path):
    example = [sys.executable, ROOT / "examples" / "many_tasks.py"]
    done = subprocess.run(example, check=True, capture_output=True, text=True, env=settings, cwd=tmp_path, timeout=60)
    assert "  ranking [['42'], ['41']]" in done.stdout.splitlines()


def test_extras_are_installed_from_a_clone():
    pages = "".join([README, *DOCS.values()])
    assert 'pip install ".[bench]"' in pages
    assert re.findall(r"pip install \"?aligngraph\b", pages) == []


def test_the_team_of_the_readme_is_valid():
    (text,) = blocks("toml")
    team = Team.parse(text, "README.md")
    assert [agent.name for agent in team.agents] == ["gpt", "llama", "qwen", "here"]


@pytest.mark.parametrize("text", [block for text in DOCS.values() for block in blocks("toml", text)])
def test_what_the_docs_add_to_a_team_is_valid(text):
    agents = '[[agents]]\nname = "a"\nmodel = "openai:gpt-4.1-mini"\n'
    assert Team.parse(agents + text, "docs").principal.ranker


def test_the_docs_name_every_ranker_with_its_settings():
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", DOCS["rankers.md"], re.MULTILINE)
    named = {name: set(re.findall(r"`(\w+)`", settings)) for name, settings in rows}
    specs = {spec.model_fields["name"].default: spec for spec in get_args(Spec)}
    assert set(named) == set(specs)
    assert all(set(specs[name].model_fields) - {"name", "score"} <= settings for name, settings in named.items())


def test_the_readme_names_every_key_that_limits_a_run():
    _, _, table = README.partition("| table | keys | what they say |")
    cells = [row.split("|")[2] for row in table.partition("\n\n")[0].splitlines()[2:]]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    tables = (Budget, Learning, Privacy, RetrySettings, CircuitSettings, Cache, Price)
    known = {name for table in tables for name in table.model_fields}
    assert known <= named
    assert named - known <= set(Agent.model_fields) | set(ModelSpec.model_fields)


def test_the_defaults_that_the_readme_tells_are_true():
    [retry, circuit] = [line for line in README.splitlines() if line.startswith(("| `[retry]`", "| `[circuit]`"))]
    said = RetrySettings()
    assert f"{said.attempts} times in all, after a random wait of at most {said.first_wait_s:g} s" in retry
    assert f"a bound that doubles each time up to {said.longest_wait_s:g} s |" in retry
    rule = CircuitSettings()
    assert f"failed {rule.failures} times in a row, for {rule.rest_s:g} s up to an hour" in circuit
    assert rule.longest_rest_s == 3600
    assert f"({Budget().threshold:g} sure)" in README


def test_every_source_that_the_code_cites_is_in_the_bibliography():
    code = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    cited = set(re.findall(r"\[([A-Z]\w+[12]\d{3})\]", code))
    assert cited
    assert cited - set(re.findall(r"\[([A-Z]\w+[12]\d{3})\]", DOCS["bibliography.md"])) == set()


def test_the_picture_is_the_graph():
    (picture,) = blocks("mermaid")
    drawn = {tuple(re.findall(r"^\s*(\w+) .* (\w+)$", line)[0]) for line in picture.splitlines()[1:]}
    assert drawn == {(edge.source, edge.target) for edge in build_delegation(Team.load()).get_graph().edges}


def test_the_make_targets_that_it_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    spans = [
        *re.findall(r"`make ([a-z -]+)`", README),
        *re.findall(r"^make ([a-z -]+?) *(?:#|$)", README, re.MULTILINE),
    ]
    named = {target for span in spans for target in span.split()}
    assert {"run", "test"} <= named
    assert named - set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)) == set()


def links(text):
    """Return the files and headings of the repository that a page leads to."""
    return re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text)


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_what_a_page_links_to_exists(page):
    for path, heading in links(page.read_text()):
        target = (page.parent / path) if path else page
        assert target.exists(), path
        assert not heading or heading in anchors(target), f"{path}#{heading}"


def test_every_page_of_the_docs_is_linked_from_another():
    linked = {
        name: [Path(path).name for path, _ in links(text)] for name, text in {"README.md": README, **DOCS}.items()
    }
    assert [page for page in DOCS if not any(page in names for name, names in linked.items() if name != page)] == []


def test_the_transcript_looks_like_what_the_command_prints(settings, tmp_path):
    (transcript,) = [block for block in blocks("") if block.startswith("$ aligngraph ask")]
    command = [Path(sys.executable).with_name("aligngraph"), "ask", "What is 6 * 7?"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings, cwd=tmp_path, timeout=60)
    headings = r"answer +┃ votes ┃ principal's rank ┃ posterior|arm +┃ before ┃ +┃ +after|weights in domain general|^Answer: |usage: |principal -> "
    shown = [
        set(re.findall(headings, re.sub(" +", " ", text), re.MULTILINE))
        for text in (transcript, done.stderr + done.stdout)
    ]
    assert shown[0] == shown[1]
    assert len(shown[0]) >= 5
