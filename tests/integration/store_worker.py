"""A process that learns: `store_worker.py FOLDER WORKER WORKERS UPDATES`, a line for each update acknowledged.

It sends its own updates and its neighbour's, so that each is sent twice, by two processes.
"""

import asyncio
import sys

from aligngraph.persistence import Increment, Location, PolicyStore, Update


async def learn(folder, worker, workers, updates):
    async with await PolicyStore.open(Location.parse(folder)) as store:
        for number in range(updates):
            for owner in {worker, (worker + 1) % workers}:
                increments = (
                    Increment("careful", "agent", payoff=0.5),
                    Increment("principal", "principal", payoff=1.0),
                )
                await store.apply_update(Update(f"run-{owner}-{number}", 0, "maths", increments))
            print(number, flush=True)  # noqa: T201 - what the test reads


if __name__ == "__main__":
    asyncio.run(learn(sys.argv[1], *map(int, sys.argv[2:])))
