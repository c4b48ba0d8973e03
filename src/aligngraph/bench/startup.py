"""How long a person waits before anything happens; every value is of a process of its own."""

import subprocess
import sys
import time

from aligngraph.bench.measurement import Measurement

HELP_S = 0.5
IMPORT_S = 0.3
_COMMAND = "from aligngraph.cli.app import main; main()"


def measure_startup(repeats: int) -> list[Measurement]:
    """Return the wall time of `--help` and of two imports; the bare interpreter's is measured in turn with them."""
    bare, imported, used, helped = ([] for _ in range(4))
    _run("import aligngraph.session")  # reads the files once
    for _ in range(repeats):
        bare.append(_run("pass"))
        imported.append(_run("import aligngraph"))
        used.append(_run("from aligngraph import ask"))
        helped.append(_run(_COMMAND, "--help"))
    beyond = tuple(total - alone for total, alone in zip(imported, bare, strict=True))
    return [
        Measurement("aligngraph --help", "s", tuple(helped), HELP_S),
        Measurement("import aligngraph", "s", tuple(imported), IMPORT_S),
        Measurement("import aligngraph, beyond the interpreter", "s", beyond, IMPORT_S),
        Measurement("from aligngraph import ask (loads LangGraph)", "s", tuple(used)),
    ]


def _run(code: str, *arguments: str) -> float:
    """Return the seconds that a process of `code` takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    return time.perf_counter() - start
