"""Checkpoints in memory, for runs whose texts nobody keeps."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from langgraph.checkpoint.memory import InMemorySaver

from aligngraph.persistence.serializer import strict_serializer


class ForgettingSaver(InMemorySaver):
    """LangGraph's saver in memory, which forgets a thread whose run is over."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:  # noqa: ARG002
        """Delete the threads; nobody can ask for what their runs left."""
        for thread_id in thread_ids:
            await self.adelete_thread(thread_id)


@asynccontextmanager
async def open_memory_saver() -> AsyncIterator[ForgettingSaver]:
    """Yield a saver that ends with its context."""
    yield ForgettingSaver(serde=strict_serializer())
