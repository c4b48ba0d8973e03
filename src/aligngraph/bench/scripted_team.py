"""A team whose models take a known time: what is measured beyond it is the product's own."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ANSWERS = ("41", "42", "43", "44")
_USAGE = {"prompt": 200, "completion": 60}


@dataclass(frozen=True)
class ScriptedTeam:
    """Agents that disagree, so that there is something to rank, and a principal; every call takes `latency_s`."""

    agents: int
    samples: int
    latency_s: float

    @property
    def calls(self) -> int:
        """Model calls of one round: every sample and one ranking."""
        return self.agents * self.samples + 1

    @property
    def critical_path_s(self) -> float:
        """What a round lasts where nothing but the models takes time: all agents at once, then the principal."""
        return 2 * self.latency_s

    def write(self, folder: Path) -> Path:
        """Write script and team file into `folder`; return the team file."""
        rows = (json.dumps({"latency_s": self.latency_s, "usage": _USAGE, **row}) for row in self._rows())
        (folder / "script.jsonl").write_text("\n".join(rows), encoding="utf-8")
        model = 'model = "scripted:script.jsonl"\n'
        tables = [f'[[agents]]\nname = "agent{i}"\nsamples = {self.samples}\n{model}' for i in range(self.agents)]
        team = folder / "team.toml"
        team.write_text("".join([*tables, "[principal]\n", model]), encoding="utf-8")
        return team

    def _rows(self) -> Iterator[dict[str, Any]]:
        given = []
        for agent in range(self.agents):
            for sample in range(self.samples):
                given.append(ANSWERS[(agent + sample) % len(ANSWERS)])
                solution = f"Step by step, {'so it goes on, ' * 20}and thus:\nAnswer: {given[-1]}"
                yield {"agent": f"agent{agent}", "sample": sample, "text": solution}
        order = ">".join(f"{{label:{answer}}}" for answer in dict.fromkeys(given))
        yield {"agent": "principal", "text": json.dumps({"order": order})}
