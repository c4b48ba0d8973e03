"""Stores that earlier versions wrote, with what they had learned, on every database."""

import json

import pytest
from sqlalchemy import text

from aligngraph.persistence import ArmKey, ArmSums, Increment, PolicyStore, Update, replayed
from aligngraph.persistence.database import Database
from aligngraph.persistence.schema import REVISIONS, VERSION_TABLE, read_revision, upgrade

OLD = ("policy_0001", "policy_0002")
UPDATES = (  # (run, domain, time, payoff of careful/plain), not in the order of their times
    ("r2", "maths", "2026-01-02T00:00:00.000+00:00", 0.5),
    ("r1", "maths", "2026-01-01T00:00:00.000+00:00", 0.1),
    ("r4", "law", "2026-01-04T00:00:00.000+00:00", 1.0),
    ("r3", "maths", "2026-01-02T00:00:00.000+00:00", 0.3),
)
SUMS = (
    ("maths", "careful/plain", "agent", 0.1 + 0.5 + 0.3, 3.0, 3),
    ("maths", "principal", "principal", 1.5, 3.0, 0),
    ("law", "careful/plain", "agent", 1.0, 1.0, 1),
    ("law", "principal", "principal", 0.5, 1.0, 0),
    ("law", "lent/plain", "agent", 2.5, 4.0, 1),  # of which no update is left
    ("art", "lent/plain", "agent", 0.25, 1.0, 0),
)


def increments(payoff):
    careful = {"arm": "careful/plain", "kind": "agent", "payoff": payoff, "count": 1.0, "failures": 1}
    return json.dumps([careful, {"arm": "principal", "kind": "principal", "payoff": 0.5, "count": 1.0, "failures": 0}])


def write_old_rows(connection, sums=SUMS):
    insert = text("INSERT INTO updates VALUES (:run, 1, :domain, :increments, '{\"w\": 1}', :at)")
    for run, domain, at, payoff in UPDATES:
        connection.execute(insert, {"run": run, "domain": domain, "at": at, "increments": increments(payoff)})
    insert = text("INSERT INTO competence VALUES (:domain, :arm, :kind, :total, :count, :failures)")
    for row in sums:
        connection.execute(insert, dict(zip(("domain", "arm", "kind", "total", "count", "failures"), row, strict=True)))


async def write_old_store(location, revision, sums=SUMS):
    database = await Database.open(location.policy, VERSION_TABLE)
    await database.write(lambda connection: upgrade(connection, database.address, revision))
    await database.write(lambda connection: write_old_rows(connection, sums))
    assert await database.read(read_revision) == revision
    await database.close()


@pytest.fixture(params=OLD)
async def store(request, location):
    await write_old_store(location, request.param)
    async with await PolicyStore.open(location) as store:
        yield store


async def log_of(store, domain):
    return [update async for update in store.log.read(domain)]


async def test_it_has_the_newest_schema_and_the_same_sums(store):
    assert await store._database.read(read_revision) == REVISIONS[-1]
    for domain in ("maths", "law", "art"):
        sums = await store.read_sums(domain)
        assert sums.here == {ArmKey(arm): ArmSums(*rest) for of, arm, *rest in SUMS if of == domain}
        assert sums.quarantined == ()


async def test_the_sums_count_for_whoever_bears_the_name(store):
    assert (await store.read_sums("law")).find("lent/plain", "m1").total == 2.5
    assert (await store.read_sums("maths")).lent("lent/plain", "m1").total == 2.75


async def test_updates_are_numbered_by_their_times(store):
    log = await log_of(store, "maths")
    assert [(one.run_id, one.sequence, one.kind) for one in log] == [
        ("r1", 1, "task"),
        ("r2", 2, "task"),
        ("r3", 3, "task"),
    ]
    assert log[1].increments[0] == Increment("careful/plain", "agent", 0.5, 1.0, 1)
    assert (log[1].result, log[1].at, log[1].decay, log[1].cleared) == ({"w": 1}, UPDATES[0][2], 1.0, ())
    [law] = [one for one in await store.summary() if one.domain == "law"]
    assert law.tasks == 1


async def test_what_no_update_explains_is_logged_as_imported_before_all(store):
    first, second = await log_of(store, "law")
    assert (first.kind, first.increments) == ("import", (Increment("lent/plain", "agent", 2.5, 4.0, 1),))
    assert second.run_id == "r4"
    for domain in ("maths", "law", "art"):
        made, stored = replayed(await log_of(store, domain)), (await store.read_sums(domain)).here
        assert made.keys() == stored.keys()
        assert [sums.total for sums in made.values()] == pytest.approx([stored[key].total for key in made], abs=1e-9)
        assert [sums.failures for sums in made.values()] == [stored[key].failures for key in made]


async def test_it_goes_on_learning_and_can_be_rolled_back(store):
    new = Increment("careful/plain", "agent", 1.0, made_of="m1")
    await store.apply_update(Update("r9", 1, "maths", (new,)))
    assert (await log_of(store, "maths"))[-1].sequence == 4
    assert (await store.read_sums("maths")).find("careful/plain", "m1").count == 4.0
    await store.log.rollback("r2", "maths")
    assert (await store.read_sums("maths")).find("careful/plain", "m1").total == pytest.approx(0.6)


@pytest.mark.parametrize("revision", OLD)
async def test_rows_that_make_no_sense_are_set_aside_afterwards(location, revision):
    """F18: what an old store has wrong stops no upgrade."""
    wrong = [(*row[:3], float("inf"), *row[4:]) if row[1] == "careful/plain" else row for row in SUMS]
    await write_old_store(location, revision, wrong)
    async with await PolicyStore.open(location) as store:
        assert len((await store.read_sums("maths")).quarantined) == 2
        assert sorted((await store.read_sums("law")).here) == [ArmKey("lent/plain"), ArmKey("principal")]
        assert [one.kind for one in await log_of(store, "law")] == ["import", "task", "quarantine"]


@pytest.mark.parametrize("revision", OLD)
async def test_an_empty_old_store_is_an_empty_new_one(location, revision):
    database = await Database.open(location.policy, VERSION_TABLE)
    await database.write(lambda connection: upgrade(connection, database.address, revision))
    await database.close()
    async with await PolicyStore.open(location) as store:
        assert await store.summary() == []
