"""Group commit: rows that arrive while a transaction is under way share the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from aligngraph.errors import StoreError

Row = TypeVar("Row")


@dataclass
class _Batch(Generic[Row]):
    rows: list[Row] = field(default_factory=list)
    written: bool = False
    error: StoreError | None = None


class GroupCommit(Generic[Row]):
    """Writes rows, as many as have gathered, in one call of `write`.

    Args:
        write: commits all rows it is given or none; the same row may come twice.
    """

    def __init__(self, write: Callable[[Sequence[Row]], Awaitable[None]]) -> None:
        self._write = write
        self._turn = asyncio.Lock()
        self._gathering: _Batch[Row] = _Batch()

    async def add(self, row: Row) -> None:
        """Return once `row` is committed.

        Raises:
            StoreError: its transaction failed; every call that shared it raises.
        """
        batch = self._gathering
        batch.rows.append(row)
        async with self._turn:
            if not batch.written:  # else a call that shared the batch has done it
                await self._commit(batch)
        if batch.error:
            raise StoreError(*batch.error.args) from batch.error

    async def _commit(self, batch: _Batch[Row]) -> None:
        if batch is self._gathering:
            self._gathering = _Batch()
        try:
            await self._write(batch.rows)
        except StoreError as error:
            batch.error = error
        batch.written = True  # a cancelled call does not come here: the next of its batch writes for all
