"""Processes at work on a store.

`store_worker.py PLACE learn WORKER WORKERS UPDATES` sends updates, with a line for each that was acknowledged. Every
tenth it sends its neighbour's as well, so that some are sent twice, by two processes, and looks at the sums.

`store_worker.py PLACE fork WORKERS UPDATES` is all the workers, each a process that need not load anything first.

`store_worker.py PLACE read` reads until its input ends; then it says how often, and the slowest in seconds.
"""

import asyncio
import os
import sys
import time

from aligngraph.persistence import Increment, Location, PolicyStore, Update


def an_update(owner, number):
    """Return the update that a worker sends; all payoffs are such as rounding could lose."""
    increments = (
        Increment("careful/plain", "agent", payoff=number % 7 / 7, made_of="m", gradient=-number / 3, loss=owner / 9),
        Increment("principal", "principal", payoff=1.0),
    )
    return Update(f"run-{owner}-{number}", 1, "maths", increments)


async def learn(store, worker, workers, updates):
    for number in range(updates):
        often = number % 10 == 0
        for owner in {worker, (worker + often) % workers}:
            await store.apply_update(an_update(owner, number))
        if often:
            await look(store)
        print(number, flush=True)  # noqa: T201 - what the test reads


async def look(store):
    sums = await store.read_sums("maths")
    known = [sums.find("careful/plain", "m").count, sums.find("principal").count]
    assert known[0] == known[1], f"half an update was seen: {known}"


async def read(store):
    stop = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    durations = []
    while not stop.done() or not durations:
        start = time.perf_counter()
        await look(store)
        durations.append(time.perf_counter() - start)
    print(len(durations), max(durations))  # noqa: T201 - what the test reads


async def main(place, command, *numbers):
    async with await PolicyStore.open(Location.parse(place)) as store:
        await {"learn": learn, "read": read}[command](store, *map(int, numbers))


def fork(place, workers, updates):
    """End as badly as the worst of the workers."""
    children = []
    for worker in range(workers):
        child = os.fork()
        if child == 0:
            asyncio.run(main(place, "learn", worker, workers, updates))
            return
        children.append(child)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children))


if __name__ == "__main__":
    place, command, *numbers = sys.argv[1:]
    if command == "fork":
        fork(place, *map(int, numbers))
    else:
        asyncio.run(main(place, command, *numbers))
