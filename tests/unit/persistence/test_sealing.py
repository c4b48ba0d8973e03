"""Sealed texts: what is stored, what comes back, and what happens without the right key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.errors import StoreError
from aligngraph.persistence.sealing import KEY_VARIABLE, leave_open, seal, unseal

KEY, OTHER_KEY = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_sealed_text_comes_back_and_does_not_stand_in_what_is_stored(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, KEY)
        stored = seal(text)
        assert unseal(stored) == text
        assert len(text) < 4 or text not in stored


def test_the_same_text_is_never_sealed_alike():
    assert seal("forty-two") != seal("forty-two")


@pytest.mark.parametrize("text", ["", "42", "\x01aligngraph:aes:AAAA", "\x01aligngraph:plain:x", "\x01"])
def test_a_text_in_clear_comes_back_even_if_it_looks_like_a_sealed_one(text):
    """Candidates are hostile: one that begins with our mark must not make its run unreadable."""
    assert unseal(leave_open(text)) == text


def test_an_ordinary_text_in_clear_is_stored_as_it_is():
    assert leave_open("Answer: 42") == "Answer: 42"


def test_another_key_and_a_changed_text_are_refused(monkeypatch):
    stored = seal("forty-two")
    with pytest.raises(StoreError, match="cannot be decrypted"):
        unseal(stored[:-8] + "AAAAAAA=")
    monkeypatch.setenv(KEY_VARIABLE, OTHER_KEY)
    with pytest.raises(StoreError, match=KEY_VARIABLE):
        unseal(stored)


@pytest.mark.parametrize("value", ["", "short", "x" * 33])
def test_a_key_of_another_length_is_refused_without_showing_it(monkeypatch, value):
    monkeypatch.setenv(KEY_VARIABLE, value)
    with pytest.raises(StoreError, match="16, 24 or 32 bytes") as caught:
        seal("forty-two")
    assert not value or value not in str(caught.value)
