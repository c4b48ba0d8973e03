"""Warm weights: what recorded tasks teach whose right answers are known, before the first task is asked."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from aligngraph.learning.evidence import Evidence, Rules
from aligngraph.learning.known import read_learned
from aligngraph.learning.teaching import Verdict, after, play_again, teach
from aligngraph.persistence import Difference, DomainState, PolicyStore, Sums, Update, advance, compare
from aligngraph.persistence.replay import Aftermath, turn_of
from aligngraph.policy import DEFAULT_SMOOTHING

ANY_ANCHOR: Final = 1.0  # nobody ranked: policies stay as they are
STEP_SIZE: Final = 1.0
STEPS: Final = 1


@dataclass(frozen=True)
class RecordedVotes:
    """One recorded task.

    Attributes:
        task_id: its name, unique in what it is recorded in.
        votes: by arm, its samples for each answer, `[K]`; arms that were not asked are left out.
        asked: by arm, its samples, those without an answer included.
        right: `[K]`, whether each answer is right.
    """

    task_id: str
    votes: Mapping[str, tuple[int, ...]]
    asked: Mapping[str, int]
    right: tuple[bool, ...]


@dataclass(frozen=True)
class Recording:
    """Recorded tasks of one domain.

    Attributes:
        source: what they are recorded in, a part of the names of updates.
        domain: the kind of task.
        tasks: in the order in which they are learned from.
    """

    source: str
    domain: str
    tasks: tuple[RecordedVotes, ...]

    def name_of(self, task: RecordedVotes) -> str:
        """Return the name of the update that the task makes; other votes or right answers make another one."""
        content = json.dumps([task.votes, task.asked, task.right], sort_keys=True)
        digest = blake2b(content.encode(), digest_size=4).hexdigest()
        return f"panel:{self.source}:{self.domain}:{task.task_id}:{digest}"


Place = tuple[str, int]  # run id and round


@dataclass(frozen=True)
class Warmed:
    """What became of recorded tasks.

    Attributes:
        taught: those that were learned from.
        known: those that had been before, and still count.
        differences: what that changes.
    """

    taught: int
    known: int
    differences: tuple[Difference, ...]


async def warm_up(
    store: PolicyStore,
    recording: Recording,
    made_of: Mapping[str, str],
    *,
    dry_run: bool = False,
) -> Warmed:
    """Learn from recorded tasks in their order, each once however often it is asked for; tasks without a vote teach nothing.

    Args:
        store: where it is kept.
        recording: what is learned from.
        made_of: by arm, the digest of what it is made of.
        dry_run: changes nothing.
    """
    fresh, states = await _find_new(store, recording), list[DomainState]()

    def change(state: DomainState) -> Sequence[Update]:
        states.append(state)
        return list(_lessons(state, fresh, made_of))

    if dry_run:
        known = (await store.log.export()).domains.get(recording.domain, {})
        taught = change(DomainState(recording.domain, 0, known))
    else:
        taught = await store.log.change_domain(recording.domain, change)
    before = states[-1].arms
    after_it = dict(before)
    for update in taught:
        advance(after_it, update)
    differences = compare({recording.domain: before}, {recording.domain: after_it})
    return Warmed(len(taught), len(recording.tasks) - len(fresh), differences)


async def _find_new(store: PolicyStore, recording: Recording) -> dict[Place, RecordedVotes]:
    """Return the tasks that are not in the sums, by the place in the log that each will take."""
    turns, own = [], []
    async for update in store.log.read(recording.domain):
        turns.append(turn_of(update))
        own += [update] if update.kind == "learn" else []
    aftermath = Aftermath(turns)
    rounds = {update.run_id: update.round for update in own}
    known = {update.run_id for update in own if aftermath.count(update).left}
    names = {recording.name_of(task): task for task in recording.tasks}
    return {(name, rounds.get(name, 0) + 1): task for name, task in names.items() if name not in known}


def _lessons(state: DomainState, tasks: Mapping[Place, RecordedVotes], made_of: Mapping[str, str]) -> Iterable[Update]:
    arms = dict.fromkeys(arm for task in tasks.values() for arm in task.asked)
    learned = read_learned(Sums(state.arms, {}), {arm: made_of.get(arm, "") for arm in arms}, {})
    for (name, round_), task in tasks.items():
        evidence = evidence_of(task, made_of)
        if not evidence.players:
            continue
        played = play_again(evidence, learned)
        evidence = evidence_of(task, made_of, tuple(played.posterior.tolist()), played.chosen)
        increments = teach(evidence, learned, Verdict(task.right))
        learned = after(learned, increments)
        yield Update(name, round_, state.domain, increments, kind="learn")


def evidence_of(
    task: RecordedVotes, made_of: Mapping[str, str], posterior: tuple[float, ...] = (), chosen: int = 0
) -> Evidence:
    """Return the evidence of a recorded task, as it was decided; by an even posterior before it is."""
    arms, answers = tuple(task.asked), len(task.right)
    counts = tuple(task.votes.get(arm, (0,) * answers) for arm in arms)
    return Evidence(
        arms=arms,
        made_of=tuple(made_of.get(arm, "") for arm in arms),
        asked=tuple(task.asked.values()),
        failed=(0,) * len(arms),
        first=tuple((*row, 0) for row in counts),
        counts=counts,
        rules=Rules(STEP_SIZE, ANY_ANCHOR, DEFAULT_SMOOTHING, STEPS, trusted=False),
        chosen=chosen,
        majority=None,
        posterior=posterior or (1 / answers,) * answers if answers else (),
        planned=max(1, sum(task.asked.values())),
    )
