import asyncio
import itertools

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence.group_transaction import GroupTransaction


class Disk:
    """Says in `began` what it is asked to write, and writes once for each permit; fails the first `failures` times."""

    def __init__(self, failures=0):
        self.batches, self.began, self.permits, self.failures = [], asyncio.Queue(), asyncio.Semaphore(0), failures

    async def write(self, items):
        self.began.put_nowait(list(items))
        await self.permits.acquire()
        if self.failures:
            self.failures -= 1
            raise StoreError("disk full")
        self.batches.append(list(items))
        return len(items)

    def permit(self, transactions):
        for _ in range(transactions):
            self.permits.release()


def begin(group, *items):
    return [asyncio.create_task(group.add(item)) for item in items]


async def begin_one_by_one(disk, group, first, *others):
    """Begin the transaction of `first`, then ask for the others."""
    calls = begin(group, first)
    assert await disk.began.get() == [first]
    calls += begin(group, *others)
    await asyncio.sleep(0)
    return calls


async def test_what_is_asked_for_at_the_same_time_shares_a_transaction_and_its_result():
    disk = Disk()
    calls = begin(GroupTransaction(disk.write), *range(8))
    disk.permit(9)
    assert await asyncio.gather(*calls) == [8] * 8
    assert disk.batches == [list(range(8))]


async def test_what_arrives_during_a_transaction_shares_the_next():
    disk = Disk()
    calls = await begin_one_by_one(disk, GroupTransaction(disk.write), *range(32))
    disk.permit(9)
    assert await asyncio.gather(*calls) == [1, *[31] * 31]
    assert disk.batches == [[0], list(range(1, 32))]


async def test_no_call_returns_before_its_item_is_written():
    disk = Disk()
    calls = begin(GroupTransaction(disk.write), *"abc")
    await disk.began.get()
    assert not any(call.done() for call in calls)
    disk.permit(9)
    await asyncio.gather(*calls)
    assert sorted(itertools.chain(*disk.batches)) == ["a", "b", "c"]


async def test_a_failed_transaction_raises_in_every_call_that_shared_it_and_in_no_other():
    disk = Disk(failures=2)
    group = GroupTransaction(disk.write)
    calls = await begin_one_by_one(disk, group, *"abcd")
    disk.permit(9)
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [str(result) for result in results] == ["disk full"] * 4
    assert len({id(result) for result in results}) == 4
    assert await group.add("e") == 1
    assert disk.batches == [["e"]]


async def test_a_cancelled_call_takes_no_other_with_it():
    disk = Disk()
    first, second, third = await begin_one_by_one(disk, GroupTransaction(disk.write), *"abc")
    second.cancel()
    first.cancel()
    disk.permit(9)
    await third
    assert disk.batches[-1] == ["b", "c"]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_call_cancelled_before_its_transaction_begins_takes_no_other_with_it():
    disk = Disk()
    first, second = begin(GroupTransaction(disk.write), *"ab")
    await asyncio.sleep(0)
    first.cancel()
    disk.permit(1)
    assert await second == 2
    assert disk.batches == [["a", "b"]]


async def test_a_call_cancelled_while_writing_lets_its_batch_be_written_by_the_next():
    disk = Disk()
    first, second, third = await begin_one_by_one(disk, GroupTransaction(disk.write), *"abc")
    disk.permit(1)
    await first
    assert await disk.began.get() == ["b", "c"]
    second.cancel()
    assert await disk.began.get() == ["b", "c"]
    disk.permit(1)
    await third
    assert disk.batches == [["a"], ["b", "c"]]
