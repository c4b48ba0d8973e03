import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.errors import StoreError
from aligngraph.persistence import ArmKey, ArmSums, Difference, Export, compare, read_export
from aligngraph.persistence.exports import checksum

KEY = ArmKey("a/x", "m1")
EXPORT = Export({"maths": {KEY: ArmSums("agent", 0.5, 1.0, 2, -0.25, 0.125)}}, "2026-01-01T00:00:00.000+00:00")
ROW = {
    "arm": "a/x",
    "made_of": "m1",
    "kind": "agent",
    "total": 0.5,
    "count": 1.0,
    "failures": 2,
    "gradient": -0.25,
    "loss": 0.125,
}


def document(**changes):
    """Return the text of a document that was changed by somebody who knows how the checksum is made."""
    plain = {name: value for name, value in EXPORT.as_json().items() if name != "checksum"} | changes
    return json.dumps({**plain, "checksum": checksum(plain)})


def test_it_is_plain_json_with_its_format_version_and_checksum():
    plain = EXPORT.as_json()
    assert plain.pop("checksum") == checksum(plain)
    assert plain == {
        "format": "aligngraph-policy",
        "version": 1,
        "exported_at": "2026-01-01T00:00:00.000+00:00",
        "domains": {"maths": [ROW]},
    }


def test_what_was_written_is_read_whatever_the_layout_and_order():
    plain = dict(reversed(EXPORT.as_json().items()))
    assert read_export(json.dumps(plain, indent=3, ensure_ascii=False)) == EXPORT


SUMS = st.builds(
    lambda count, share, gradient, loss: ArmSums("agent", count * share, count, 0, gradient, loss),
    st.floats(0, 1e9),
    st.floats(0, 1),
    st.floats(-1e9, 1e9),
    st.floats(0, 1e9),
)
NAMES = st.text(st.characters(exclude_categories=()), max_size=8)


@given(st.dictionaries(NAMES, st.dictionaries(st.builds(ArmKey, st.just("a/x"), NAMES), SUMS, max_size=3), max_size=3))
def test_all_that_can_be_learned_survives(domains):
    assert read_export(json.dumps(Export(domains).as_json())).domains == domains


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", "null", '{"format": "other"}'], ids=range(6))
def test_what_is_no_export_is_refused(text):
    with pytest.raises(StoreError, match=r"the document is no .*: name one that `policy export` has written"):
        read_export(text)


def test_a_newer_version_says_what_to_do():
    with pytest.raises(StoreError, match=r"newer aligngraph \(version 2, known up to 1\): upgrade aligngraph"):
        read_export(document(version=2, more="things"))


@pytest.mark.parametrize("version", [0, -1, "1", None])
def test_a_version_that_never_was_is_refused(version):
    with pytest.raises(StoreError, match="the document has version"):
        read_export(document(version=version))


@pytest.mark.parametrize("missing", ["exported_at", "domains", "checksum"])
def test_a_part_that_is_missing_is_an_error(missing):
    plain = EXPORT.as_json()
    del plain[missing]
    with pytest.raises(StoreError, match=r"the document has version 1 and .*: export it again"):
        read_export(json.dumps(plain))


@pytest.mark.parametrize(("before", "after"), [("0.125", "0.124"), ("maths", "Maths"), ("2026", "2027")])
def test_a_document_changed_by_hand_is_refused(before, after):
    text = json.dumps(EXPORT.as_json())
    with pytest.raises(StoreError, match=r"the document's checksum is .*: it was cut or changed"):
        read_export(text.replace(before, after, 1))


@pytest.mark.parametrize("domains", [[], {"maths": {}}, {"maths": None}, "maths"])
def test_domains_are_lists_by_name(domains):
    with pytest.raises(StoreError, match="a list of arms by domain is allowed"):
        read_export(document(domains=domains))


@pytest.mark.parametrize(
    "row", [{}, None, {**ROW, "more": 1}, {**ROW, "arm": 1}, {**ROW, "made_of": None}], ids=range(5)
)
def test_an_arm_has_its_columns_and_no_others(row):
    with pytest.raises(StoreError, match=r"domain 'maths' holds .*: an arm has the text arm, made_of, and kind, total"):
        read_export(document(domains={"maths": [row]}))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"total": 1.5}, "is more than its 1.0 tasks can pay"),
        ({"count": float("inf")}, "its count is inf"),
        ({"gradient": float("nan")}, "its gradient is nan"),
        ({"failures": 10**400}, "its failures is 1000"),
        ({"kind": "learner"}, "no learner can have that name"),
        ({"kind": ["agent"]}, "its kind is"),
    ],
)
def test_sums_that_make_no_sense_are_refused(changes, fault):
    """F18: what would be quarantined is not let in."""
    with pytest.raises(StoreError, match=f"arm 'a/x' in domain 'maths' cannot be taken over: .*{fault}"):
        read_export(document(domains={"maths": [{**ROW, **changes}]}))


def test_an_arm_that_is_there_twice_is_refused():
    with pytest.raises(StoreError, match="cannot be taken over: it is there twice"):
        read_export(document(domains={"maths": [ROW, ROW]}))


def test_differences_are_those_of_either_side_in_order():
    before = {"maths": {KEY: ArmSums("agent", 0.5, 1.0)}, "law": {KEY: ArmSums("agent", 0.5, 1.0)}}
    after = {"maths": {KEY: ArmSums("agent", 0.5, 1.0), ArmKey("b/x"): ArmSums("agent", 0.0, 1.0)}}
    assert compare(before, after) == (
        Difference("law", "a/x", "m1", ArmSums("agent", 0.5, 1.0), None),
        Difference("maths", "b/x", "", None, ArmSums("agent", 0.0, 1.0)),
    )
    assert compare(after, after) == ()
