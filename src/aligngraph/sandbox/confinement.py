"""Whether programs can be confined here, found out by trying."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from aligngraph.sandbox.running import run_program

# Knocks at the walls from within. Only the filter says EPERM (1); a limit would say something else.
_KNOCK = """
import random
ctypes = random._os.sys.modules["ctypes"]
system = ctypes.CDLL(None, use_errno=True)
def refused(call, *arguments):
    return call(*arguments) == -1 and ctypes.get_errno() == 1
print(refused(system.open, b"/", 0), refused(system.socket, 2, 1, 0), refused(system.kill, 0, 0))
"""


@cache
def missing_confinement() -> str | None:
    """Return None where programs can be confined, else why not and which setting runs them all the same, in one line.

    The first call in a process starts a confined program that tries to open a file and a socket and to send a signal, and
    waits for it: a tenth of a second in which an event loop would stand still. Call it in a thread from there.
    """
    with ThreadPoolExecutor(1) as pool:  # the caller's thread may be running an event loop
        outcome = pool.submit(lambda: asyncio.run(run_program(_KNOCK))).result()
    if outcome.value == "True True True":
        return None
    found = outcome.reason or f"a confined program could open a file, a socket or send a signal ({outcome.value})"
    return f"{found}; `allow_unsafe_programs = true` runs programs without confinement, with limits of time and memory"
