from pathlib import Path

import platformdirs
import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence import ENVIRONMENT_VARIABLE, Location
from aligngraph.persistence.location import shown


@pytest.mark.parametrize("text", ["here", "/srv/policies", "C:\\policies", "a:b", "with space/é"])
def test_anything_without_a_scheme_is_a_folder(text):
    location = Location.parse(text)
    assert location.policy == Path(text) / "policy.sqlite"
    assert location.checkpoints == Path(text) / "checkpoints.sqlite"


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert Location.parse("~/policies").place == Path("/home/someone/policies")


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_a_postgresql_url_serves_both(scheme):
    location = Location.parse(f"{scheme}://me:secret@db:5433/name?sslmode=require")
    assert location.policy == location.checkpoints
    assert location.policy.drivername == "postgresql+psycopg"
    assert (location.policy.host, location.policy.port, location.policy.password) == ("db", 5433, "secret")
    assert location.policy.query == {"sslmode": "require"}


@pytest.mark.parametrize(
    "text", ["sqlite:///file", "mysql://me:secret@db/name", "postgres://db/name", "://", "file://x"]
)
def test_any_other_url_is_refused(text):
    with pytest.raises(StoreError) as caught:
        Location.parse(text)
    assert "a folder, postgresql://... and postgresql+psycopg://... are allowed" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_is_refused(text):
    with pytest.raises(StoreError, match="--db is"):
        Location.parse(text)


def test_a_malformed_url_is_refused_without_showing_it():
    with pytest.raises(StoreError, match="not a well-formed postgresql:// URL") as caught:
        Location.parse("postgresql://me:secret@db:port/name")
    assert "secret" not in str(caught.value)


def test_a_password_is_never_shown():
    assert shown(Location.parse("postgresql://me:secret@db/name").policy) == "postgresql+psycopg://me:***@db/name"
    assert shown(Path("folder/policy.sqlite")) == "folder/policy.sqlite"


@pytest.mark.parametrize(
    ("text", "shown_as", "user"),
    [
        ("postgresql://me@db/name?password=secret", "postgresql+psycopg://me:***@db/name", "me"),
        ("postgresql://db/name?password=secret&user=me", "postgresql+psycopg://me:***@db/name", "me"),
        (
            "postgresql://db/name?password=secret&connect_timeout=3",
            "postgresql+psycopg://:***@db/name?connect_timeout=3",
            "",
        ),
    ],
)
def test_a_password_in_the_query_is_never_shown_and_not_lost(text, shown_as, user):
    address = Location.parse(text).policy
    assert shown(address) == shown_as
    assert (address.username, address.password) == (user, "secret")
    assert "secret" in address.render_as_string(hide_password=False)


def test_the_folder_of_an_unknown_user_is_refused():
    with pytest.raises(StoreError, match=r"--db is '~nosuchuser/x': there is no such user"):
        Location.parse("~nosuchuser/x")


def test_a_location_shows_its_place():
    assert str(Location.parse("postgresql://me:secret@db/name")) == "postgresql+psycopg://me:***@db/name"
    assert str(Location.parse("folder")) == "folder"


def test_explicit_beats_the_environment(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "elsewhere")
    assert Location.find("here") == Location(Path("here"))


def test_the_environment_beats_the_default(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "elsewhere")
    assert Location.find() == Location(Path("elsewhere"))


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_is_the_users_data_folder(monkeypatch, value):
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, value)
    assert Location.find() == Location(Path(platformdirs.user_data_dir("aligngraph")))
