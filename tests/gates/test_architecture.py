"""The arrows of the architecture, and the sizes of the house style."""

import ast
import re
import statistics
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE_DIR = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
MODULES = {
    ".".join([package, *path.relative_to(ROOT / folder).with_suffix("").parts]).removesuffix(".__init__"): path
    for package, folder in PACKAGE_DIR.items()
    for path in (ROOT / folder).rglob("*.py")
}

FOUNDATION = {"errors", "randomness", "isolation", "spelling"}
CORE = {"policy", "answers", "prompts", "models"}
SHARED = {"team", "roles", "settings", "strategies", "state", "context", "decision"}
# What each room may import of ours.
ALLOWED = {
    "policy": set(),
    "answers": set(),
    "prompts": set(),
    "models": FOUNDATION,
    "persistence": FOUNDATION,
    "calling": FOUNDATION | {"models"},
    "ranking": FOUNDATION | {"answers", "models", "prompts"},
    "strategies": FOUNDATION | {"prompts"},
    "roles": FOUNDATION | {"models", "ranking", "strategies"},
    "settings": {"answers", "calling", "roles"},
    "team": FOUNDATION | {"answers", "calling", "models", "ranking", "roles", "settings"},
    "state": {"answers"},
    "decision": set(),
    "context": FOUNDATION | {"settings", "team", "roles"},
    "sandbox": set(),
    "learning": FOUNDATION | {"answers", "persistence", "policy", "roles", "state", "sync_door"},
    "nodes": FOUNDATION | CORE | SHARED | {"calling", "learning", "ranking", "persistence", "sandbox"},
    "graphs": {"errors", "nodes", "persistence", "models"} | SHARED,
    "known_runs": FOUNDATION | SHARED | {"nodes", "persistence"},
    "cancellation": {"errors", "persistence"},
    "session": FOUNDATION
    | SHARED
    | {"cancellation", "graphs", "known_runs", "learning", "nodes", "persistence", "policy", "sync_door"},
    "estimation": FOUNDATION | SHARED | {"answers", "calling", "models", "nodes", "persistence", "prompts", "ranking"},
    "chat_model": SHARED | {"session", "sync_door"},
    "bench": FOUNDATION | {"decision", "persistence", "policy", "session", "state"},
    "report": FOUNDATION | {"decision", "learning", "persistence", "policy", "state"},
    "trials": FOUNDATION | {"answers", "models", "policy", "prompts", "ranking"},
    "cli": FOUNDATION
    | SHARED
    | {
        "answers",
        "bench",
        "calling",
        "cancellation",
        "estimation",
        "learning",
        "models",
        "nodes",
        "persistence",
        "policy",
        "ranking",
        "report",
        "session",
        "trials",
    },
    "aligngraph": {
        "errors",
        "chat_model",
        "context",
        "decision",
        "graphs",
        "learning",
        "roles",
        "session",
        "settings",
        "state",
        "team",
    },
    "errors": set(),
    "randomness": set(),
    "isolation": {"errors"},
    "spelling": set(),
    "sync_door": set(),
}


def room_of(module):
    return module.split(".")[1] if "." in module else module


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_follow_the_arrows(module):
    room = room_of(module)
    used = {room_of(name) for name in imports_of(MODULES[module]) if name.startswith("aligngraph.")}
    assert used - {room} <= ALLOWED[room]


def test_the_policy_imports_numpy_and_the_standard_library_only():
    names = {
        name.split(".")[0]
        for module, path in MODULES.items()
        if room_of(module) == "policy"
        for name in imports_of(path)
    }
    assert names <= {"aligngraph", "numpy", "collections", "dataclasses", "math", "typing", "functools", "statistics"}


def functions():
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(ROOT)}:{node.name}", node.end_lineno - node.lineno + 1


def test_no_function_is_over_fifty_lines_and_the_median_is_small():
    sizes = dict(functions())
    assert {name: size for name, size in sizes.items() if size > 50} == {}
    assert statistics.median(sizes.values()) <= 10


def test_no_file_is_over_three_hundred_lines():
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES.values()}
    assert {name: size for name, size in sizes.items() if size > 300} == {}


def test_every_package_is_listed_for_the_wheel():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    assert {module for module, path in MODULES.items() if path.name == "__init__.py"} == listed


def test_exceptions_are_swallowed_in_one_place_only():
    places = [
        str(path.relative_to(ROOT))
        for path in MODULES.values()
        if re.search(r"except (Base)?Exception\b(?! as \w+:\n\s+raise)", path.read_text())
    ]
    assert places == ["src/aligngraph/isolation.py"]


def test_no_path_of_a_machine_stands_in_the_repository():
    pattern = re.compile(r"(^|[^A-Za-z0-9_.])/(work|farm|root|home|tmp)/[A-Za-z]")
    texts = [path for path in ROOT.rglob("*") if path.suffix in {".py", ".md", ".toml", ".json", ".cff", ".yml"}]
    ours = [
        path
        for path in texts
        if not {".venv", "build", ".typecheck", "tests", ".git"} & set(path.relative_to(ROOT).parts)
    ]
    assert [str(path) for path in ours if pattern.search(path.read_text())] == []
