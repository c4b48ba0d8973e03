"""What the README says is run: its Python, its commands, its team file, its picture."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aligngraph import Team, build_delegation

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


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


def test_the_team_of_the_readme_is_valid():
    (text,) = blocks("toml")
    team = Team.parse(text, "README.md")
    assert [agent.name for agent in team.agents] == ["gpt", "llama", "qwen", "here"]


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


def test_files_that_the_readme_links_to_exist():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert all((ROOT / link).exists() for link in links)


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
