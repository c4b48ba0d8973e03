"""A team for a faulty server, the sums it is asked, and what its models say: mostly right, and the same each time."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from aligngraph.bench.faulty_server import Reply
from aligngraph.randomness import generator

RIGHT: Mapping[str, float] = MappingProxyType({"ada": 0.85, "ben": 0.75, "cleo": 0.65, "dan": 0.55})
SAMPLES = 2
JUDGE, JUDGE_RIGHT = "judge", 0.85
_MISTAKES = (-10, -1, 1, 10)
_SUM = re.compile(r"Sum (\d+): what is (\d+) \+ (\d+)\?")
_SOLUTION = re.compile(r"^Solution (\w+)\n--- (\w+) ---\n.*?^Answer: (\S+)\n--- \2 ---", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Sum:
    """A task whose right answer is known; no two of a benchmark have the same `number`."""

    number: int
    one: int
    other: int

    @classmethod
    def draw(cls, seed: int, number: int) -> Self:
        """Return the task of this number."""
        one, other = generator(seed, "sum", number).integers(100, 1000, size=2)
        return cls(number, int(one), int(other))

    @classmethod
    def among(cls, messages: Sequence[Mapping[str, Any]]) -> Self:
        """Return the task that the messages of a request are about.

        Raises:
            ValueError: they are about none.
        """
        for message in messages:
            if message["role"] == "user" and (found := _SUM.search(str(message["content"]))):
                return cls(*map(int, found.groups()))
        raise ValueError(f"{messages!r} hold no task of this benchmark")

    @property
    def text(self) -> str:
        """The task as it is asked."""
        return f"Sum {self.number}: what is {self.one} + {self.other}?"

    @property
    def right(self) -> str:
        """The right answer."""
        return str(self.one + self.other)


def replies(seed: int) -> dict[str, Reply]:
    """Return what every model of the team says, by name."""
    proposers: dict[str, Reply] = {name: Proposer(seed, name, share) for name, share in RIGHT.items()}
    return {**proposers, JUDGE: Ranker(seed, JUDGE_RIGHT)}


@dataclass(frozen=True)
class Proposer:
    """Solves the share `right` of all sums, and is wrong on the others in one of four ways."""

    seed: int
    name: str
    right: float

    def __call__(self, messages: Sequence[Mapping[str, Any]], sample: int) -> str:
        """Return the solution of this sample."""
        task = Sum.among(messages)
        rng = generator(self.seed, "proposer", self.name, task.number, sample)
        mistake = 0 if rng.random() < self.right else int(rng.choice(_MISTAKES))
        answer = int(task.right) + mistake
        return f"I add {task.one} and {task.other}, digit by digit, and get {answer}.\nAnswer: {answer}"


@dataclass(frozen=True)
class Ranker:
    """Puts the right answer first in the share `right` of all sums, and the others in any order."""

    seed: int
    right: float

    def __call__(self, messages: Sequence[Mapping[str, Any]], _sample: int) -> str:
        """Return the ranking of the solutions shown."""
        task = Sum.among(messages)
        shown = {found[1]: found[3] for message in messages for found in _SOLUTION.finditer(str(message["content"]))}
        rng = generator(self.seed, "ranker", task.number)
        sees_it = rng.random() < self.right
        labels = [str(label) for label in rng.permutation(sorted(shown))]
        if sees_it:
            labels.sort(key=lambda label: shown[label] != task.right)
        return json.dumps({"order": ">".join(labels)})


@dataclass(frozen=True)
class FaultyTeam:
    """The team of these models at a server.

    Attributes:
        base_url: of the server.
        timeout_s: of a call.
        longest_wait_s: before a call is made again.
    """

    base_url: str
    timeout_s: float
    longest_wait_s: float

    def write(self, folder: Path) -> Path:
        """Write the team file into `folder` and return it."""
        path = folder / "team.toml"
        path.write_text("\n".join(self._lines()), encoding="utf-8")
        return path

    def _lines(self) -> Iterator[str]:
        for name in RIGHT:
            yield f'[[agents]]\nname = "{name}"\nsamples = {SAMPLES}'
            yield self._model(name)
        yield "[principal]"
        yield self._model(JUDGE)
        yield f'[answers]\nkind = "number"\n[retry]\nfirst_wait_s = 0.05\nlongest_wait_s = {self.longest_wait_s:g}'

    def _model(self, name: str) -> str:
        table = f'{{ provider = "openai", name = "{name}", base_url = "{self.base_url}" }}'
        return f"model = {table}\ntimeout_s = {self.timeout_s:g}"
