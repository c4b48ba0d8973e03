"""Where what lasts is kept: a folder of SQLite files, or one PostgreSQL database."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from aligngraph.errors import StoreError

ENVIRONMENT_VARIABLE = "ALIGNGRAPH_DB"

Address = Path | URL
"""One database: a SQLite file, or a PostgreSQL server's."""

_ALLOWED = "a folder, postgresql://... and postgresql+psycopg://... are allowed"
_DRIVER = "postgresql+psycopg"


@dataclass(frozen=True)
class Location:
    """Where the policy and the checkpoints are kept.

    Attributes:
        place: a folder, which need not exist yet, or the URL of a PostgreSQL database.
    """

    place: Address

    @classmethod
    def parse(cls, text: str) -> "Location":
        """Return the location that the text of `--db` names; nothing is opened.

        Raises:
            StoreError: `text` is empty, a folder of an unknown user, or a URL of another kind or not well formed.
        """
        scheme, is_url, _ = text.partition("://")
        if not text.strip():
            raise StoreError(f"--db is {text!r}: {_ALLOWED}")
        if not is_url:
            return cls(_folder(text))
        if scheme not in ("postgresql", _DRIVER):
            raise StoreError(f"--db begins with {scheme + '://'!r}: {_ALLOWED}")
        try:
            return cls(_with_sign_in(make_url(text).set(drivername=_DRIVER)))
        except (ArgumentError, ValueError) as error:
            raise StoreError(f"--db is not a well-formed {scheme}:// URL: user:password@host:port/database") from error

    @classmethod
    def find(cls, text: str | None = None) -> "Location":
        """Return the location that `text` names; without one that of ALIGNGRAPH_DB, else the user's data folder.

        Raises:
            StoreError: as for `parse`.
        """
        return cls.parse(text or os.environ.get(ENVIRONMENT_VARIABLE) or platformdirs.user_data_dir("aligngraph"))

    def is_new(self) -> bool:
        """Return whether no store was ever made here, as where a folder is mistyped. It blocks: call it in a thread."""
        return isinstance(self.policy, Path) and not self.policy.exists()

    def __str__(self) -> str:
        return shown(self.place)

    @property
    def policy(self) -> Address:
        """The database of the policy store."""
        return self.place / "policy.sqlite" if isinstance(self.place, Path) else self.place

    @property
    def checkpoints(self) -> Address:
        """The database of LangGraph's checkpoints."""
        return self.place / "checkpoints.sqlite" if isinstance(self.place, Path) else self.place


def _folder(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise StoreError(f"--db is {text!r}: there is no such user; ./~name is a folder of that name") from error


def _with_sign_in(url: URL) -> URL:
    """Return `url` with a password in its query moved to where it is masked; a user beside it goes along."""
    query = url.normalized_query
    if "password" not in query:
        return url
    user = query.get("user", (url.username or "",))[-1]  # without any, a password would not be rendered at all
    moved = url.difference_update_query(["user", "password"])
    return moved.set(username=user, password=query["password"][-1])


def shown(address: Address) -> str:
    """Return `address` as it may appear in a message: without its password."""
    return str(address) if isinstance(address, Path) else address.render_as_string(hide_password=True)
