"""What ships: one top-level name, every text file inside, and nothing that collides with other people's packages."""

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel of the source as it is now."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: what an earlier build left behind would be packed too
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "dist", "*.egg-info"))
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, source], check=True, capture_output=True
    )
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_has_one_top_level_name(wheel):
    names = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"aligngraph"}


def test_every_module_prompt_and_text_is_in_the_wheel(wheel):
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    expected = {
        "/".join([*package.split("."), *path.relative_to(ROOT / folder).parts])
        for package, folder in folders.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and path.suffix in {".py", ".md", ".toml", ".typed", ".mako"}
        and "__pycache__" not in path.parts
    }
    assert expected <= set(wheel.namelist())
    assert {
        "aligngraph/py.typed",
        "aligngraph/prompts/strategies/step_by_step.md",
        "aligngraph/default_team.toml",
    } <= expected


def test_no_test_and_no_repository_file_is_in_the_wheel(wheel):
    assert [name for name in wheel.namelist() if "test" in name or name.endswith("langgraph.json")] == []


def test_the_base_install_pulls_neither_torch_nor_another_provider():
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {requirement.split(">")[0].split("[")[0] for requirement in requirements}
    assert not names & {"torch", "transformers", "langchain-community", "langchain-anthropic", "xllamacpp"}
    assert {name for name in names if name.startswith("langchain-")} == {"langchain-core", "langchain-openai"}


def test_the_import_works_beside_packages_called_graphs_and_nodes(tmp_path):
    for name in ("graphs", "nodes", "prompts", "persistence"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('the wrong package')\n")
    code = "import aligngraph.graphs, aligngraph.nodes, aligngraph.prompts, aligngraph.persistence"
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": ""}
    )


def test_f46_import_and_help_need_no_key_no_network_and_no_langchain():
    code = "import aligngraph, aligngraph.cli.app, sys; print([m for m in ('langchain_core', 'langgraph', 'openai', 'numpy', 'sqlalchemy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PATH": ""})
    assert done.stdout == "[]\n"


def test_every_public_name_is_there_and_documented():
    import aligngraph

    for name in aligngraph.__all__:
        assert getattr(aligngraph, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        aligngraph.nothing  # noqa: B018


def test_f12_langgraph_json_names_the_graph_by_module_and_it_has_no_checkpointer():
    from aligngraph.graphs import make_graph

    path = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["delegation"]["path"]
    assert path == "aligngraph.graphs.delegation:make_graph"
    assert make_graph({"configurable": {}}).checkpointer is None
