from importlib.metadata import version

import pytest

from aligngraph.trials import edition
from aligngraph.trials.edition import Edition


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    """Return a function that gives the digest of the given prompts, by name."""

    def make(**prompts):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "strategies").mkdir()
        for name, text in prompts.items():
            (folder / f"{name}.md").write_text(text)
        (folder / "__init__.py").write_text(f"# {len(prompts)} {folder}")
        monkeypatch.setattr(edition, "files", lambda package: folder)
        return edition._digest_prompts.__wrapped__()

    return make


def test_an_edition_is_the_installed_version_with_a_short_digest():
    current = Edition.current()
    assert current.aligngraph == version("aligngraph")
    assert len(current.prompts) == 12
    assert int(current.prompts, 16) >= 0


def test_the_same_prompts_have_one_digest_wherever_they_lie(digest_of):
    assert digest_of(a="x", b="y") == digest_of(b="y", a="x")


OTHERS = [
    {"a": "x", "b": "z"},
    {"a": "x"},
    {"a": "x", "c": "y"},
    {"a": "y", "b": "x"},
    {"a": "x", "b": "y", "strategies/c": "z"},
    {"a": "x", "strategies/b": "y"},
]


@pytest.mark.parametrize("prompts", OTHERS)
def test_another_text_name_place_or_number_of_prompts_has_another_digest(digest_of, prompts):
    assert digest_of(a="x", b="y") != digest_of(**prompts)
