"""What one task costs beyond its model calls, everything that lasts written to SQLite."""

import time
from dataclasses import dataclass
from pathlib import Path

from aligngraph.bench.measurement import Measurement
from aligngraph.bench.scripted_team import ScriptedTeam
from aligngraph.session import Session, open_session

OVER_CRITICAL_PATH = 1.10
TEAM = ScriptedTeam(agents=8, samples=4, latency_s=0.2)


@dataclass(frozen=True)
class _Spent:
    wall_s: float
    cpu_s: float


async def measure_round(folder: Path, repeats: int, team: ScriptedTeam = TEAM) -> list[Measurement]:
    """Return the wall time of a task over the time its models take, and the processor time of each call.

    The session is open and has answered one task before.
    """
    async with open_session(team.write(folder), db=str(folder / "db")) as session:
        await session.ask("warm up")
        spent = [await _ask(session, f"task {number}", team) for number in range(repeats)]
    what = f"{team.agents} agents x {team.samples} samples, {team.latency_s * 1000:g} ms a call"
    ratios = tuple(one.wall_s / team.critical_path_s for one in spent)
    per_call = tuple(one.cpu_s * 1000 / team.calls for one in spent)
    return [
        Measurement(f"task over its critical path: {what}", "times", ratios, OVER_CRITICAL_PATH),
        Measurement(f"processor time of a model call: {what}", "ms", per_call),
    ]


async def _ask(session: Session, task: str, team: ScriptedTeam) -> _Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    decision = await session.ask(task)
    spent = _Spent(time.perf_counter() - wall, time.process_time() - cpu)
    if (decision.status, decision.usage.total.calls) != ("ok", team.calls):
        raise RuntimeError(f"measured something else: {decision.status}, {decision.problems}, {decision.usage.total}")
    return spent
