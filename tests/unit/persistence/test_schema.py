import asyncio
import re
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from aligngraph.persistence import Increment, Location, PolicyStore, Update
from aligngraph.persistence.database import Database
from aligngraph.persistence.schema import REVISIONS, VERSION_TABLE, bring_up_to_date, read_revision, upgrade
from aligngraph.persistence.tables import METADATA


@pytest.fixture
async def database(tmp_path):
    database = await Database.open(tmp_path / "policy.sqlite", VERSION_TABLE)
    yield database
    await database.close()


def differences(connection):
    options = {"compare_type": True, "version_table": VERSION_TABLE}
    return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)


def scripts():
    config = Config()
    config.set_main_option("script_location", "aligngraph.persistence:migrations")
    return ScriptDirectory.from_config(config)


def test_the_revisions_are_those_of_the_migrations():
    assert tuple(script.revision for script in scripts().walk_revisions())[::-1] == REVISIONS


def test_the_files_are_numbered_in_order():
    names = [Path(script.path).name for script in scripts().walk_revisions()][::-1]
    assert [int(re.match(r"(\d{4})_\w+\.py", name)[1]) for name in names] == list(range(1, len(REVISIONS) + 1))


async def migrate(database, revision=REVISIONS[-1]):
    await database.write(lambda connection: upgrade(connection, database.address, revision))


async def test_all_migrations_together_make_the_tables_of_the_code(database):
    await migrate(database)
    assert await database.read(differences) == []


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_store_of_any_revision_opens(tmp_path, database, revision):
    await migrate(database, revision)
    assert await database.read(read_revision) == revision
    async with await PolicyStore.open(Location(tmp_path)) as store:
        assert (await store.apply_update(Update("r", 0, "d", (Increment("a/x", "agent", 1.0),)))).applied
    assert await database.read(read_revision) == REVISIONS[-1]


async def test_upgrading_twice_is_harmless(database):
    await migrate(database)
    await migrate(database)
    assert await database.read(read_revision) == REVISIONS[-1]


async def test_a_migration_that_fails_leaves_nothing(database, monkeypatch):
    def fail(*_):
        raise RuntimeError("power cut")

    with monkeypatch.context() as broken:
        broken.setattr("alembic.runtime.migration.HeadMaintainer.update_to_step", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            await migrate(database)
    assert await database.read(read_revision) is None
    await migrate(database)
    assert await database.read(differences) == []


async def test_databases_migrated_at_the_same_time_in_one_process(tmp_path):
    databases = [await Database.open(tmp_path / f"{i}.sqlite", VERSION_TABLE) for i in range(3)]
    await asyncio.gather(*(bring_up_to_date(database) for database in databases))
    for database in databases:
        assert await database.read(differences) == []
        await database.close()
