"""Checkpoints in a SQLite file. Imported only when they are needed: LangGraph's saver takes half a second."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from typing_extensions import override

from aligngraph.persistence.serializer import strict_serializer
from aligngraph.persistence.sqlite_file import BUSY_TIMEOUT_S, SYNCHRONOUS, claim
from aligngraph.persistence.store_errors import reported

_KEEP_LATEST = (
    # A namespace with ":" is one call of a subgraph, over when the run is.
    (
        "DELETE FROM checkpoints WHERE thread_id = :thread AND (instr(checkpoint_ns, ':') > 0 OR checkpoint_id < ("
        "SELECT max(checkpoint_id) FROM checkpoints AS other"
        " WHERE other.thread_id = :thread AND other.checkpoint_ns = checkpoints.checkpoint_ns))"
    ),
    "UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = :thread",
    (
        "DELETE FROM writes WHERE thread_id = :thread AND NOT EXISTS (SELECT 1 FROM checkpoints AS kept"
        " WHERE kept.thread_id = :thread AND kept.checkpoint_ns = writes.checkpoint_ns"
        " AND kept.checkpoint_id = writes.checkpoint_id)"
    ),
)


class PrunableSqliteSaver(AsyncSqliteSaver):
    """LangGraph's saver, reading strictly, with the pruning that it lacks; what fails is a StoreError that names the file.

    Args:
        connection: to `file`, in sqlite3's default transaction mode.
        file: where it keeps checkpoints.
        seals: whether it encrypts them.
    """

    def __init__(self, connection: aiosqlite.Connection, file: Path, *, seals: bool = False) -> None:
        super().__init__(connection, serde=strict_serializer(seals=seals))
        self.file = file

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with reported(self.file):
            return await super().aget_tuple(config)

    @override
    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        with reported(self.file):
            async for found in super().alist(config, filter=filter, before=before, limit=limit):
                yield found

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with reported(self.file):
            return await super().aput(config, checkpoint, metadata, new_versions)

    @override
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with reported(self.file):
            await super().aput_writes(config, writes, task_id, task_path)

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        with reported(self.file):
            await super().adelete_thread(thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the last checkpoint of threads whose runs are over, with what belonged to the deleted ones.

        Raises:
            StoreError: the file fails; nothing was deleted.
            NotImplementedError: a strategy other than "keep_latest".
        """
        if strategy != "keep_latest":
            raise NotImplementedError(f"strategy {strategy!r}: only 'keep_latest', or adelete_thread")
        with reported(self.file):
            async with self.lock, AsyncExitStack() as on_failure:
                on_failure.push_async_callback(self.conn.rollback)
                for statement in _KEEP_LATEST:
                    await self.conn.executemany(statement, [{"thread": str(thread_id)} for thread_id in thread_ids])
                await self.conn.commit()
                on_failure.pop_all()


@asynccontextmanager
async def open_sqlite_saver(file: Path, *, seals: bool = False) -> AsyncIterator[PrunableSqliteSaver]:
    """Yield the saver of `file`, made if there is none.

    Raises:
        StoreError: it cannot be read or written, or is not ours.
    """
    await asyncio.to_thread(claim, file, "checkpoints")
    async with AsyncExitStack() as stack:
        with reported(file):  # opening only: what fails inside the context is not all the file's fault
            connection = await stack.enter_async_context(aiosqlite.connect(file, timeout=BUSY_TIMEOUT_S))
            await connection.execute_fetchall(SYNCHRONOUS)
            saver = PrunableSqliteSaver(connection, file, seals=seals)
            await saver.setup()
        yield saver
