"""Several tasks in one session, with progress as it comes; about a minute: `python examples/many_tasks.py`."""

import asyncio
from collections.abc import Mapping
from typing import Any

from aligngraph import open_session

TASKS = ("What is 7 + 5?", "What is 9 - 4?", "What is 3 * 6?")


def show(event: Mapping[str, Any]) -> None:
    """Print a candidate, a ranking or a round as it comes."""
    print(" ", *(event[key] for key in ("event", "id", "answer", "tiers", "posterior") if key in event))


async def main() -> None:
    """Ask one task after the other, so that each is decided with what the earlier ones taught."""
    async with open_session() as session:
        for task in TASKS:
            decision = await session.ask(task, domain="arithmetic", on_event=show)
            print(f"{task} -> {decision.answer} ({decision.status})")
            for arm, weight in decision.weights.after.items():
                print(f"  {arm}: {decision.weights.before[arm]:.3f} -> {weight:.3f}")


asyncio.run(main())
