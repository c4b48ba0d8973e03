"""The cold start, on a repository whose `make run` only says what it would have taken."""

import os
import subprocess

import pytest

from aligngraph.bench.cold_start import measure_cold_start
from aligngraph.errors import UsageError

RECIPE = """\
run:
\t@echo "setup: 3 s"
\t@echo "model: 4 s"
\t@test -n "$$XDG_CACHE_HOME" && test -z "$$ALIGNGRAPH_TEAM"
"""


@pytest.fixture
def repository(tmp_path):
    """Return a function that commits a Makefile to a new repository."""

    def commit(recipe):
        folder = tmp_path / "repository"
        folder.mkdir()
        (folder / "Makefile").write_text(recipe)
        identity = {f"GIT_{role}_{key}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            subprocess.run(["git", *words], check=True, cwd=folder, env={**os.environ, **identity})
        (folder / "Makefile").write_text("run: ; false")  # not committed, so not cloned
        return folder

    return commit


def test_the_steps_of_make_run_are_rows(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("ALIGNGRAPH_TEAM", "mine.toml")
    whole, setup, model = measure_cold_start(tmp_path, repository(RECIPE))
    assert (whole.limit, whole.verdict) == (240, "ok")
    assert [(row.name, row.values) for row in (setup, model)] == [
        ("cold make run, setup", (3.0,)),
        ("cold make run, model", (4.0,)),
    ]


def test_a_start_that_fails_is_told_with_its_cause(repository, tmp_path):
    with pytest.raises(UsageError, match=r"make .* failed: .*Error"):
        measure_cold_start(tmp_path, repository("run:\n\t@exit 3\n"))


def test_without_a_repository_there_is_no_cold_start(tmp_path):
    with pytest.raises(UsageError, match=r"git clone .* failed"):
        measure_cold_start(tmp_path, tmp_path / "absent")
