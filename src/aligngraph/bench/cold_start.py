"""What a newcomer waits for: the last commit, cloned, with nothing cached, until `make run` has answered."""

import os
import re
import subprocess
import time
from pathlib import Path

from aligngraph.bench.measurement import Measurement
from aligngraph.errors import UsageError

WHOLE_S = 240
_OURS = ("ALIGNGRAPH_", "MAKE", "MFLAGS")  # what the caller set for itself, `make` included
_STEP = re.compile(r"^(setup|model): (\d+) s$", re.MULTILINE)


def measure_cold_start(folder: Path, repository: Path) -> list[Measurement]:
    """Return the seconds of `make run` on a clone of the repository's last commit, and of two steps that it reports.

    Raises:
        UsageError: there is no repository, or `make run` fails there; carries the last line that it printed.
    """
    clone, kept = folder / "clone", {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    fresh = {"XDG_CACHE_HOME": f"{folder}/cache", "PIP_NO_CACHE_DIR": "1", "ALIGNGRAPH_DB": f"{folder}/db"}
    _run(["git", "clone", "--quiet", str(repository), str(clone)], kept)
    start = time.perf_counter()
    printed = _run(["make", "-C", str(clone), "run"], {**kept, **fresh})
    whole = time.perf_counter() - start
    steps = {name: float(seconds) for name, seconds in _STEP.findall(printed)}
    return [
        Measurement("cold make run", "s", (whole,), WHOLE_S),
        *(Measurement(f"cold make run, {name}", "s", (seconds,)) for name, seconds in steps.items()),
    ]


def _run(command: list[str], environment: dict[str, str]) -> str:
    """Return what the command prints."""
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)  # noqa: S603 - our own
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise UsageError(f"{' '.join(command)} failed: {''.join(last)}; start it in a clone of the repository")
    return done.stdout
