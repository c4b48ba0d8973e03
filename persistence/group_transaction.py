"""Group transactions: what is asked for at the same time, or while a transaction is under way, shares the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from aligngraph.errors import StoreError

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class _Batch(Generic[Item, Result]):
    items: list[Item] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)  # one, once it ended well
    error: StoreError | None = None

    @property
    def ended(self) -> bool:
        return bool(self.results or self.error)


class GroupTransaction(Generic[Item, Result]):
    """Reads or writes items, as many as have gathered, in one call of `transact`.

    A call sees all that was written before it was made: it never joins a transaction that has begun.

    Args:
        transact: reads or writes all items it is given or none; the same item may come twice.
    """

    def __init__(self, transact: Callable[[Sequence[Item]], Awaitable[Result]]) -> None:
        self._transact = transact
        self._turn = asyncio.Lock()
        self._gathering: _Batch[Item, Result] = _Batch()

    async def add(self, item: Item) -> Result:
        """Return what the transaction of `item` returned, to every call that shared it.

        Raises:
            StoreError: it failed; every call that shared it raises.
        """
        batch = self._gathering
        batch.items.append(item)
        async with self._turn:
            if not batch.ended:  # else a call that shared the batch has done it
                await self._run(batch)
        if batch.error:
            raise StoreError(*batch.error.args) from batch.error
        return batch.results[0]

    async def _run(self, batch: _Batch[Item, Result]) -> None:
        await asyncio.sleep(0)  # lets in who asks in the same turn of the event loop
        if batch is self._gathering:
            self._gathering = _Batch()
        try:
            batch.results.append(await self._transact(batch.items))
        except StoreError as error:
            batch.error = error
        # A cancelled call ends neither way: the next of its batch transacts for all.
