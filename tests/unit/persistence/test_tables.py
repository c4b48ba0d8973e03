import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.persistence.tables import Json, PlainText, storable

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(ANY_TEXT)
def test_stored_text_is_always_storable(text):
    stored = storable(text)
    assert "\0" not in stored
    assert stored.encode().decode() == stored
    assert storable(stored) == stored


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_well_formed_text_is_kept_as_it_is(text):
    assert storable(text) == text


@given(ANY_JSON)
def test_json_comes_back_equal(value):
    column = Json()
    text = column.process_bind_param(value, None)
    assert column.process_result_value(text, None) == value


@given(ANY_TEXT)
def test_json_of_any_text_is_valid_and_storable(text):
    stored = Json().process_bind_param({"key": text}, None)
    assert storable(stored) == stored
    assert list(json.loads(stored)) == ["key"]


@pytest.mark.parametrize(("value", "error"), [({"x": float("inf")}, ValueError), ({"x": {1}}, TypeError)])
def test_what_is_no_json_is_refused(value, error):
    with pytest.raises(error):
        Json().process_bind_param(value, None)


def test_nothing_stays_nothing():
    assert PlainText().process_bind_param(None, None) is None
    assert Json().process_bind_param(None, None) is None
    assert Json().process_result_value(None, None) is None
