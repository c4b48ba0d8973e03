import sqlite3
from contextlib import closing

from aligngraph import aask
from aligngraph.bench.store_growth import CANDIDATES_A_TASK, Past, _do_task, _open_with, measure_store
from aligngraph.persistence import Location, PolicyStore

METHODS = [name for name in vars(PolicyStore) if name.split("_")[0] in {"read", "start", "record", "apply", "finish"}]


def counts(folder):
    with closing(sqlite3.connect(folder / "policy.sqlite")) as connection:
        query = "SELECT (SELECT count(*) FROM runs), count(*), (SELECT count(*) FROM rankings), (SELECT count(*) FROM updates) FROM candidates"
        return list(connection.execute(query).fetchone())


async def test_the_past_holds_all_that_tasks_leave_behind(tmp_path):
    store = await _open_with(tmp_path, 50)
    async with store:
        (domain,) = await store.summary()
        assert domain.tasks == 50
    assert counts(tmp_path) == [50, 50 * CANDIDATES_A_TASK, 50, 50]


async def test_a_past_of_one_task_is_one_task(tmp_path):
    async with await _open_with(tmp_path, 1):
        assert counts(tmp_path) == [1, CANDIDATES_A_TASK, 1, 1]


async def test_young_and_old_are_measured_in_pairs(tmp_path):
    young, old, growth = await measure_store(tmp_path, 2, Past(young=2, old=30))
    assert (young.name, old.name) == ("store, one task after 2", "store, one task after 30")
    assert growth.values == tuple(late / soon for soon, late in zip(young.values, old.values, strict=True))


async def test_a_task_asks_of_the_store_what_the_graph_asks(scripted_team, tmp_path, monkeypatch):
    asked = []

    def noted(name):
        original = getattr(PolicyStore, name)

        async def call(store, *arguments, **named):
            asked.append(name)
            return await original(store, *arguments, **named)

        return call

    for name in METHODS:
        monkeypatch.setattr(PolicyStore, name, noted(name))
    await aask("What is 6 * 7?", team=scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]), db=str(tmp_path))
    real = sorted(set(asked)), asked.count("read_texts")
    asked.clear()
    async with await PolicyStore.open(Location(tmp_path / "bench")) as store:
        await _do_task(store, "r1")
    assert (sorted(set(asked)), asked.count("read_texts")) == real
