"""How much memory one `aligngraph ask` takes at its peak."""

import subprocess
import sys
from pathlib import Path

from aligngraph.bench.measurement import Measurement
from aligngraph.bench.scripted_team import ScriptedTeam

PEAK_MB = 220
TEAM = ScriptedTeam(agents=8, samples=4, latency_s=0.0)

_COMMAND = "from aligngraph.cli.app import main; main()"
# A process counts the memory of the one that started it into its own peak: a small one starts it, and asks.
_WATCHER = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measure_memory(folder: Path, repeats: int, team: ScriptedTeam = TEAM) -> list[Measurement]:
    """Return the peak resident memory of asking a scripted team, the database new each time."""
    path = str(team.write(folder))
    peaks = tuple(_peak_mb(path, str(folder / f"db{number}")) for number in range(repeats))
    return [Measurement("peak memory of aligngraph ask, scripted models", "MB", peaks, PEAK_MB)]


def _peak_mb(team: str, db: str) -> float:
    asked = ["-c", _COMMAND, "ask", "What is 17 + 25?", "--json", "--team", team, "--db", db]
    done = subprocess.run([sys.executable, "-c", _WATCHER, *asked], check=True, capture_output=True, text=True)  # noqa: S603 - our own
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return int(done.stdout) * unit_bytes / 2**20
