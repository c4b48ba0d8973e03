"""Warm weights: what recorded tasks teach whose right answers are known, before the first task is asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aligngraph.learning.evidence import Evidence, Rules
from aligngraph.learning.known import read_learned
from aligngraph.learning.teaching import Verdict, after, play_again, teach
from aligngraph.persistence import DomainState, PolicyStore, Sums, Update
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


async def warm_up(
    store: PolicyStore, domain: str, source: str, tasks: Sequence[RecordedVotes], made_of: Mapping[str, str]
) -> int:
    """Learn from recorded tasks in their order, each once however often it is asked for; return how many were new.

    Args:
        store: where it is kept.
        domain: the kind of task.
        source: what the tasks are recorded in; with a task's name it makes up the name of the update.
        tasks: in the order in which they are learned from.
        made_of: by arm, the digest of what it is made of.
    """
    names = {f"panel:{source}:{task.task_id}": task for task in tasks}
    known = {update.run_id async for update in store.log.read(domain)}
    fresh = {name: task for name, task in names.items() if name not in known}

    def change(state: DomainState) -> Sequence[Update]:
        return list(_lessons(state, fresh, made_of))

    return len(await store.log.change_domain(domain, change))


def _lessons(state: DomainState, tasks: Mapping[str, RecordedVotes], made_of: Mapping[str, str]) -> Iterable[Update]:
    arms = dict.fromkeys(arm for task in tasks.values() for arm in task.asked)
    learned = read_learned(Sums(state.arms, {}), {arm: made_of.get(arm, "") for arm in arms}, {})
    for name, task in tasks.items():
        evidence = evidence_of(task, made_of)
        if not evidence.players:
            continue
        played = play_again(evidence, learned)
        evidence = evidence_of(task, made_of, tuple(played.posterior.tolist()), played.chosen)
        increments = teach(evidence, learned, Verdict(task.right))
        learned = after(learned, increments)
        yield Update(name, 1, state.domain, increments, kind="learn")


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
