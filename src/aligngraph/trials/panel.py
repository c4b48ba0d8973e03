"""Recorded panels as votes: for each task what every agent once answered, which answers are right, and what they cost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from aligngraph.answers import AnswerForm, AnswerKind
from aligngraph.errors import UsageError

Row = Mapping[str, Any]
SAMPLES = "samples.jsonl"


@dataclass(frozen=True)
class RecordedSample:
    """One recorded call.

    Attributes:
        answer: the number of its answer among those of the task, None where nothing could be read.
        tokens: of prompt and completion together, 0 where they were not recorded.
    """

    answer: int | None
    tokens: int = 0


@dataclass(frozen=True)
class RecordedTask:
    """The samples of every agent for one task.

    Attributes:
        domain: the kind of task, where the panel tells it.
        samples: one tuple for each agent of the panel; an empty one where it was not asked.
        right: of each answer, whether it is right.
    """

    id: str
    domain: str
    samples: tuple[tuple[RecordedSample, ...], ...]
    right: tuple[bool, ...]


@dataclass(frozen=True)
class Panel:
    """All tasks of a recorded panel; every task has a tuple of samples for each agent."""

    name: str
    agents: tuple[str, ...]
    tasks: tuple[RecordedTask, ...]


def read_panel(folder: Path, kind: AnswerKind | Literal["auto"]) -> Panel:
    """Return the panel in `folder`.

    Sources of one model and strategy are one agent with several samples; where sources are not named, all samples are of
    one agent. A file of samples has a row for each task and kind of prompt, which is an agent.

    Raises:
        UsageError: a file is missing or is not what it should be.
    """
    try:
        if (folder / SAMPLES).exists():
            return _panel_of_samples(folder.name, _lines(folder / SAMPLES), kind)
        return _panel_of_sources(folder, kind)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error}; --data names the folder of the recorded panels") from error
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise UsageError(f"{folder} is no recorded panel: {error!r}; --data names the folder of them") from error


def _panel_of_sources(folder: Path, kind: AnswerKind | Literal["auto"]) -> Panel:
    rows = _lines(folder / "panel.jsonl")
    names, sources = _agents(folder, rows)
    tokens = _tokens(folder, [name for name, _ in sources])
    agents = [[number for number, (_, agent) in enumerate(sources) if agent == name] for name in names]
    tasks = []
    for row in rows:
        costs = tokens.get(row["id"], [0] * len(sources))
        tasks.append(_task(row, row["question"], _Recorded(row["answers"], row["ok"], costs), agents, kind))
    return Panel(folder.name, names, tuple(tasks))


def _panel_of_samples(name: str, rows: Sequence[Row], kind: AnswerKind | Literal["auto"]) -> Panel:
    prompts = tuple(dict.fromkeys(str(row["kind"]) for row in rows))
    by_task: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_task.setdefault(row["id"], {})[row["kind"]] = row
    tasks = []
    for its in by_task.values():
        known = [its.get(prompt, {"answers": [], "ok": []}) for prompt in prompts]
        recorded = _Recorded(*([entry for row in known for entry in row[field]] for field in ("answers", "ok")))
        bounds = [sum(len(row["answers"]) for row in known[:number]) for number in range(len(known) + 1)]
        agents = [list(range(*span)) for span in pairwise(bounds)]
        row = next(iter(its.values()))
        tasks.append(_task({"id": row["id"]}, row["numbers"], recorded, agents, kind))
    return Panel(name, prompts, tuple(tasks))


@dataclass(frozen=True)
class _Recorded:
    answers: Sequence[Any]
    ok: Sequence[int | None]
    tokens: Sequence[int] = ()


def _task(
    row: Row, question: str, recorded: _Recorded, agents: list[list[int]], kind: AnswerKind | Literal["auto"]
) -> RecordedTask:
    groups = AnswerForm.of(question, kind).group([a if a is None else str(a) for a in recorded.answers])
    number_of = {member: number for number, group in enumerate(groups) for member in group.members}
    tokens = recorded.tokens or [0] * len(recorded.answers)
    samples = tuple(
        tuple(RecordedSample(number_of.get(place), tokens[place]) for place in its if recorded.ok[place] is not None)
        for its in agents
    )
    right = tuple(bool(recorded.ok[group.members[0]]) for group in groups)
    return RecordedTask(str(row["id"]), str(row.get("task", "general")), samples, right)


def _agents(folder: Path, rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Return the names of the agents, and of each source its own name and that of its agent."""
    if not (folder / "sources.json").exists():
        return ("agent",), [(str(number), "agent") for number in range(len(rows[0]["answers"]))]
    entries = json.loads((folder / "sources.json").read_text(encoding="utf-8"))
    sources = [(str(entry["name"]), f"{entry['model']}/{entry.get('strategy', '')}") for entry in entries]
    return tuple(dict.fromkeys(agent for _, agent in sources)), sources


def _tokens(folder: Path, sources: Sequence[str]) -> dict[str, list[int]]:
    """Return the tokens of each task's samples, in the order of the sources; nothing where none were kept."""
    found: dict[str, list[int]] = {}
    texts = folder / "texts.jsonl"
    for row in _lines(texts) if texts.exists() else ():
        its = found.setdefault(row["id"], [0] * len(sources))
        its[sources.index(row["source"])] = row["prompt_tokens"] + row["tokens"]
    return found


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
