"""What `aligngraph policy learn` learns from: a recorded panel, or a file with one task a line."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aligngraph.answers import AnswerForm
from aligngraph.errors import UsageError
from aligngraph.learning.warming import RecordedVotes, Recording
from aligngraph.trials.panel import Panel, RecordedTask, read_panel

UNNAMED: Final = "general"
LINE: Final = '{"id": "1", "answers": {"agent/strategy": ["42", null]}, "gold": "42"}'


@dataclass(frozen=True)
class RecordedPanel:
    """A recorded panel.

    Attributes:
        place: a folder with `panel.jsonl`, or a JSONL file.
        domain: under which tasks are learned whose domain the record does not name.
        mapping: `source=arm`, for each source whose name is not that of its arm; where there is any, other sources are
            left out.
    """

    place: Path
    domain: str = UNNAMED
    mapping: Sequence[str] = ()

    def read(self) -> tuple[Recording, ...]:
        """Return its tasks by domain.

        Raises:
            UsageError: the record or a mapping cannot be used, or one task is in it twice.
        """
        renamed = dict(_pair(entry) for entry in self.mapping)
        tasks = self._read_folder() if self.place.is_dir() else self._read_file()
        by_domain: dict[str, dict[str, RecordedVotes]] = {}
        for domain, task in tasks:
            its = by_domain.setdefault(domain, {})
            if task.task_id in its:
                raise UsageError(f"{self.place}: task {task.task_id!r} is there twice: each needs an id of its own")
            its[task.task_id] = _rename(task, renamed)
        if renamed and not any(task.asked for its in by_domain.values() for task in its.values()):
            raise UsageError(
                f"{self.place} has no source of {sorted(renamed)!r}: --map names sources as they are recorded"
            )
        if not by_domain:
            raise UsageError(f"{self.place} holds no task; a line is {LINE}")
        source = self.place.resolve().name
        return tuple(Recording(source, domain, tuple(its.values())) for domain, its in by_domain.items())

    def _read_folder(self) -> Iterator[tuple[str, RecordedVotes]]:
        panel = read_panel(self.place, "auto")
        for task in panel.tasks:
            yield self.domain if task.domain == UNNAMED else task.domain, _votes_of(panel, task)

    def _read_file(self) -> Iterator[tuple[str, RecordedVotes]]:
        try:
            lines = self.place.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {str(self.place)!r}: {error}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = dict(json.loads(line))
                yield str(row.get("domain", self.domain)), _votes_of_row(row)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise UsageError(f"{self.place}, line {number}: {error!r}; a line is {LINE}") from error


def _pair(entry: str) -> tuple[str, str]:
    source, equals, arm = entry.partition("=")
    if not (source and equals and "/" in arm):
        raise UsageError(f"--map {entry!r}: SOURCE=AGENT/STRATEGY is allowed")
    return source, arm


def _votes_of(panel: Panel, task: RecordedTask) -> RecordedVotes:
    votes, asked = {}, {}
    for agent, samples in zip(panel.agents, task.samples, strict=True):
        if samples:
            counted = Counter(sample.answer for sample in samples)
            votes[agent] = tuple(counted[number] for number in range(len(task.right)))
            asked[agent] = len(samples)
    return RecordedVotes(task.id, votes, asked, task.right)


def _votes_of_row(row: Mapping[str, Any]) -> RecordedVotes:
    """Return one line's votes: `answers` by arm, `gold` the right one, or `right` several that are."""
    given = {
        str(arm): [None if one is None else str(one) for one in _listed(its)] for arm, its in row["answers"].items()
    }
    gold = _right_answers(row)
    flat = [one for its in given.values() for one in its]
    groups = AnswerForm.of(str(row.get("question", "")), row.get("kind", "auto")).group([*gold, *flat])
    own = [group for group in groups if any(member >= len(gold) for member in group.members)]
    number_of = {member - len(gold): number for number, group in enumerate(own) for member in group.members}
    right = tuple(any(member < len(gold) for member in group.members) for group in own)
    votes, place = {}, 0
    for arm, its in given.items():
        counted = Counter(number_of.get(place + offset) for offset in range(len(its)))
        votes[arm] = tuple(counted[number] for number in range(len(own)))
        place += len(its)
    return RecordedVotes(str(row["id"]), votes, {arm: len(its) for arm, its in given.items()}, right)


def _listed(answers: object) -> list[Any]:
    if not isinstance(answers, list):
        raise TypeError(f"answers {answers!r}: a list is allowed")
    return answers


def _right_answers(row: Mapping[str, Any]) -> list[str]:
    right = _listed(row["right"]) if "right" in row else [row["gold"]]
    if not right or any(one is None or not str(one).strip() for one in right):
        raise ValueError(f"right answers {right!r}: one or more that are not empty are allowed")
    return [str(one) for one in right]


def _rename(task: RecordedVotes, renamed: Mapping[str, str]) -> RecordedVotes:
    """Return the task with the arms of its sources; several sources of one arm are its samples together."""
    arms = {source: renamed[source] for source in task.asked if source in renamed}
    arms = arms if renamed else {source: source if "/" in source else f"{source}/recorded" for source in task.asked}
    votes: dict[str, tuple[int, ...]] = {}
    asked: Counter[str] = Counter()
    for source, arm in arms.items():
        known = votes.get(arm, (0,) * len(task.right))
        votes[arm] = tuple(one + more for one, more in zip(known, task.votes[source], strict=True))
        asked[arm] += task.asked[source]
    return RecordedVotes(task.task_id, votes, dict(asked), task.right)
