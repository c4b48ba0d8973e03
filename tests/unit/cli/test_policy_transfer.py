"""`aligngraph policy export`, `import` and `diff`."""

import io
import json
from pathlib import Path

import pytest

from aligngraph.errors import StoreError, UsageError


@pytest.fixture
def document(policy, learned, tmp_path):
    """Return the file of an export of the store."""
    file = tmp_path / "export.json"
    policy("export", file)
    return file


@pytest.fixture
def elsewhere(tmp_path):
    return str(tmp_path / "elsewhere")


def test_an_export_is_one_json_document(policy, document):
    plain = json.loads(document.read_text())
    assert (plain["format"], plain["version"]) == ("aligngraph-policy", 1)
    assert set(plain["domains"]) == {"law", "maths"}
    assert len(plain["checksum"]) == 64


def test_without_a_file_it_goes_to_standard_output(policy, document):
    printed, written = json.loads(policy("export")), json.loads(document.read_text())
    assert printed["domains"] == written["domains"]


def test_a_file_that_cannot_be_written_is_an_error(policy, learned, tmp_path):
    with pytest.raises(UsageError, match=r"cannot write '.*missing/e.json': No such file or directory"):
        policy("export", tmp_path / "missing" / "e.json")


def test_nothing_is_exported_from_nowhere(policy, elsewhere):
    with pytest.raises(UsageError, match="nothing was learned at"):
        policy("export", place=elsewhere)
    assert not Path(elsewhere).exists()


def test_an_import_shows_what_it_changes_and_does_it(policy, document, elsewhere):
    told = policy("import", document, "--yes", place=elsewhere)
    assert "before -> after" in told
    assert "- -> 3" in told
    assert told.endswith("taken over\n")
    assert policy("diff", document, elsewhere, place=None) == "no difference\n"


def test_the_same_import_again_changes_nothing(policy, document, totals):
    before = totals()
    assert policy("import", document) == "no difference\n"
    assert totals() == before


def test_with_add_the_sums_are_added(policy, document, totals):
    told = policy("import", document, "--add", "--yes")
    assert "3 -> 6" in told
    assert totals()["a/direct"] == (4.5, 6)


def test_without_it_they_are_replaced(policy, document, totals, in_store):
    policy("reset", "--domain", "maths", "--yes")
    policy("import", document, "--yes")
    assert totals()["a/direct"] == (2.25, 3)


def test_a_dry_run_changes_nothing(policy, document, totals):
    before = totals()
    assert "3 -> 6" in policy("import", document, "--add", "--dry-run")
    assert totals() == before


def test_nor_does_it_make_a_store(policy, document, elsewhere):
    assert "- -> 3" in policy("import", document, "--dry-run", place=elsewhere)
    assert not Path(elsewhere).exists()


def test_nobody_to_ask_is_an_error_and_changes_nothing(policy, document, totals):
    before = totals()
    with pytest.raises(UsageError, match="nobody is there to be asked: nothing was changed; --yes"):
        policy("import", document, "--add")
    assert totals() == before


def test_it_can_come_through_standard_input(policy, document, elsewhere, monkeypatch):
    text = document.read_text()
    monkeypatch.setattr("aligngraph.cli.policy_transfer.sys.stdin", io.StringIO(text))
    from aligngraph.cli.policy_transfer import import_file

    import_file(Path("-"), elsewhere, add=False, dry_run=False, yes=True)
    assert policy("diff", document, elsewhere, place=None) == "no difference\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda plain: {**plain, "version": 99}, "99"),
        (lambda plain: {**plain, "format": "other"}, "no aligngraph-policy"),
        (lambda plain: {**plain, "checksum": "0" * 64}, "checksum|changed"),
        (lambda plain: {**plain, "domains": {}}, "checksum|changed"),
        (lambda plain: [plain], "no aligngraph-policy|no document"),
    ],
)
def test_a_document_that_was_changed_or_is_none_is_refused(policy, document, totals, change, said):
    before = totals()
    document.write_text(json.dumps(change(json.loads(document.read_text()))))
    with pytest.raises(StoreError, match=said):
        policy("import", document, "--yes")
    assert totals() == before


def test_a_file_that_cannot_be_read_is_an_error(policy, learned, tmp_path):
    with pytest.raises(UsageError, match=r"cannot read '.*none.json'"):
        policy("import", tmp_path / "none.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"cannot read '.*binary'"):
        policy("import", tmp_path / "binary")


def test_two_places_are_compared_row_by_row(policy, document, db, elsewhere):
    policy("import", document, "--yes", place=elsewhere)
    policy("reset", "--domain", "law", "--yes", place=elsewhere)
    told = json.loads(policy("diff", db, elsewhere, "--json", place=None))
    assert {(row["domain"], row["after"]) for row in told} == {("law", None)}
    (arm,) = [row for row in told if row["arm"] == "a/direct"]
    assert (arm["made_of"], arm["before"]["total"]) == ("m", 0.25)
    assert "1 -> -" in policy("diff", db, elsewhere, place=None)


def test_a_place_that_is_none_is_an_error(policy, document, elsewhere):
    with pytest.raises(UsageError, match="nothing was learned at"):
        policy("diff", document, elsewhere, place=None)
    assert not Path(elsewhere).exists()
