"""SQLite files that something has damaged: said with both ways out, and never written to."""

import sqlite3
from contextlib import closing

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence import Increment, Location, PolicyStore, Update

PAGE_BYTES = 4096
WAYS_OUT = r"cannot use .*policy\.sqlite: .*; it is damaged and was left as it is: move it away .*, or name another folder with --db"


@pytest.fixture
def location(tmp_path):
    return Location(tmp_path)


@pytest.fixture
async def content(location):
    """The bytes of a store of many pages."""
    async with await PolicyStore.open(location) as store:
        updates = [Update(f"r{n}", 1, f"d{n % 40}", (Increment("a/x", "agent", 0.5),)) for n in range(400)]
        for domain in range(40):
            await store.log.change_domain(f"d{domain}", lambda _, domain=domain: updates[domain::40])
    return bytearray(location.policy.read_bytes())


async def use(location):
    async with await PolicyStore.open(location) as store:
        await store.read_sums("d1")
        await store.summary()
        await store.apply_update(Update("new", 1, "d1", (Increment("a/x", "agent", 0.5),)))


async def check_it_is_said_and_left(location, damaged):
    location.policy.write_bytes(damaged)
    with pytest.raises(StoreError, match=WAYS_OUT):
        await use(location)
    assert location.policy.read_bytes() == damaged


async def test_garbage(location):
    await check_it_is_said_and_left(location, b"hello, I am a text file" * 400)


@pytest.mark.parametrize("pages", [1, 2, 5])
async def test_a_file_that_was_cut_short(location, content, pages):
    await check_it_is_said_and_left(location, content[: pages * PAGE_BYTES])


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"\x0d"])
async def test_a_page_that_was_overwritten(location, content, filler):
    with closing(sqlite3.connect(location.policy)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'updates'"
        (page,) = connection.execute(query).fetchone()
    first = (page - 1) * PAGE_BYTES
    content[first : first + PAGE_BYTES] = filler * PAGE_BYTES
    await check_it_is_said_and_left(location, bytes(content))


async def test_a_copy_put_in_its_place_works_again(location, content):
    await check_it_is_said_and_left(location, content[: 2 * PAGE_BYTES])
    location.policy.unlink()
    location.policy.write_bytes(content)
    await use(location)
