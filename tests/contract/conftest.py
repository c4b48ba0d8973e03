import os
import secrets

import psycopg
import pytest
from sqlalchemy.engine import make_url

from aligngraph.persistence import Location

POSTGRES = os.environ.get("ALIGNGRAPH_TEST_POSTGRES")


@pytest.fixture(params=["sqlite", "postgres"] if POSTGRES else ["sqlite"])
def location(request, tmp_path):
    """Empty, once for each kind of database that this machine has."""
    if request.param == "sqlite":
        yield Location.parse(str(tmp_path / "not" / "there" / "yet"))
        return
    schema = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        url = make_url(POSTGRES).update_query_dict({"options": f"-csearch_path={schema}"})
        yield Location.parse(url.render_as_string(hide_password=False))
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
