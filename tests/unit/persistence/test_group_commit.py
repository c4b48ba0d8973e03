import asyncio
import itertools

import pytest

from aligngraph.errors import StoreError
from aligngraph.persistence.group_commit import GroupCommit


class Disk:
    """Says in `began` what it is asked to write, and writes once for each permit; fails the first `failures` times."""

    def __init__(self, failures=0):
        self.batches, self.began, self.permits, self.failures = [], asyncio.Queue(), asyncio.Semaphore(0), failures

    async def write(self, rows):
        self.began.put_nowait(list(rows))
        await self.permits.acquire()
        if self.failures:
            self.failures -= 1
            raise StoreError("disk full")
        self.batches.append(list(rows))

    def permit(self, commits):
        for _ in range(commits):
            self.permits.release()


async def begin(group, *rows):
    calls = [asyncio.create_task(group.add(row)) for row in rows]
    await asyncio.sleep(0)
    return calls


async def test_rows_that_arrive_during_a_commit_share_the_next():
    disk = Disk()
    calls = await begin(GroupCommit(disk.write), *range(32))
    disk.permit(9)
    await asyncio.gather(*calls)
    assert disk.batches == [[0], list(range(1, 32))]


async def test_no_call_returns_before_its_row_is_written():
    disk = Disk()
    calls = await begin(GroupCommit(disk.write), *"abc")
    await disk.began.get()
    assert not any(call.done() for call in calls)
    disk.permit(9)
    await asyncio.gather(*calls)
    assert sorted(itertools.chain(*disk.batches)) == ["a", "b", "c"]


async def test_a_failed_commit_raises_in_every_call_that_shared_it_and_in_no_other():
    disk = Disk(failures=2)
    group = GroupCommit(disk.write)
    calls = await begin(group, *"abcd")
    disk.permit(9)
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [str(result) for result in results] == ["disk full"] * 4
    assert len({id(result) for result in results}) == 4
    await group.add("e")
    assert disk.batches == [["e"]]


async def test_a_cancelled_call_takes_no_other_with_it():
    disk = Disk()
    group = GroupCommit(disk.write)
    first, second, third = await begin(group, *"abc")
    await disk.began.get()
    second.cancel()
    first.cancel()
    disk.permit(9)
    await third
    assert disk.batches[-1] == ["b", "c"]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_call_cancelled_while_writing_lets_its_batch_be_written_by_the_next():
    disk = Disk()
    group = GroupCommit(disk.write)
    first, second, third = await begin(group, *"abc")
    disk.permit(1)
    await first
    assert [await disk.began.get(), await disk.began.get()] == [["a"], ["b", "c"]]
    second.cancel()
    assert await disk.began.get() == ["b", "c"]
    disk.permit(1)
    await third
    assert disk.batches == [["a"], ["b", "c"]]
