"""The tables of the policy store.

No foreign keys: workers write in any order, and a missing parent must never lose a paid candidate.
"""

import json

from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

METADATA = MetaData()


def storable(text: str) -> str:
    """Return `text` without what a database refuses: NUL and lone surrogates become U+FFFD.

    Models do emit them, when a stream is cut inside a character.
    """
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class PlainText(TypeDecorator[str]):
    """Any text a model may write."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the text as stored."""
        return None if value is None else storable(value)


class Json(TypeDecorator[object]):
    """Plain JSON values, kept as text: what is read equals what was written on every database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the JSON text.

        Raises:
            ValueError: a number is not finite, which is no JSON.
            TypeError: a value is not a plain JSON type.
        """
        return None if value is None else storable(json.dumps(value, ensure_ascii=False, allow_nan=False))

    def process_result_value(self, value: str | None, dialect: Dialect) -> object:  # noqa: ARG002
        """Return the value that the text stands for."""
        return None if value is None else json.loads(value)


RUNS = Table(
    "runs",
    METADATA,
    Column("run_id", String, primary_key=True),
    Column("domain", PlainText, nullable=False),
    Column("task", PlainText, nullable=False),
    Column("task_id", PlainText),
    Column("seed", BigInteger, nullable=False),
    Column("status", String, nullable=False),
    Column("started_at", String, nullable=False),
    Column("finished_at", String),
    Column("team", Json, nullable=False),
    Column("team_digest", String, nullable=False),
    Column("decision", Json),
)

CANDIDATES = Table(
    "candidates",
    METADATA,
    Column("run_id", String, primary_key=True),
    Column("candidate_id", String, primary_key=True),
    Column("agent", String, nullable=False),
    Column("strategy", String, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("answer", PlainText),
    Column("text", PlainText, nullable=False),
    Column("error", PlainText),
    Column("usage", Json, nullable=False),
    Column("failure", PlainText),
    Column("model", PlainText),
    Column("detour", PlainText),
)

RANKINGS = Table(
    "rankings",
    METADATA,
    Column("run_id", String, primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("ranking", Json, nullable=False),
)

UPDATES = Table(
    "updates",
    METADATA,
    Column("run_id", String, primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("domain", PlainText, nullable=False),
    Column("increments", Json, nullable=False),
    Column("result", Json, nullable=False),
    Column("at", String, nullable=False),
    Index("updates_by_domain", "domain", "run_id"),
)

COMPETENCE = Table(
    "competence",
    METADATA,
    Column("domain", PlainText, primary_key=True),
    Column("arm", PlainText, primary_key=True),
    Column("kind", String, nullable=False),
    Column("total", Double, nullable=False),
    Column("count", Double, nullable=False),
    Column("failures", BigInteger, nullable=False),
)

CIRCUITS = Table(
    "circuits",
    METADATA,
    Column("model", PlainText, primary_key=True),
    Column("circuit", Json, nullable=False),
    Column("changed_at", String, nullable=False),
)

RESPONSES = Table(
    "responses",
    METADATA,
    Column("key", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("model", PlainText, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("reply", Json, nullable=False),
    Column("usage", Json, nullable=False),
    Column("at", String, nullable=False),
    Index("responses_by_age", "at"),
    Index("responses_by_run", "run_id"),
)
