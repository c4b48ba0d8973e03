"""Learning everything anew from the evidence of stored runs, as after a change of the algorithm.

Tasks are taken as if they had come one after the other, in the order of the logs. What is not of a run with evidence
(imports, recorded panels) stays as it is.
"""

import copy
import heapq
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace

from aligngraph.learning.evidence import Evidence
from aligngraph.learning.feedback import verdict_of
from aligngraph.learning.known import earned_anchor, read_learned
from aligngraph.learning.teaching import Verdict, add_up, after, judge_by, play_again, teach
from aligngraph.persistence import (
    ArmKey,
    Arms,
    ArmSums,
    Difference,
    Increment,
    Learned,
    PolicyStore,
    Sums,
    Update,
    advance,
    compare,
)
from aligngraph.state import LearnedState

Parts = tuple[Increment, ...]


@dataclass(frozen=True)
class Relearned:
    """What learning anew comes to.

    Attributes:
        differences: between the sums as they are and as they would be.
        corrections: by domain, an update of each run that taught something else; they make the difference.
        sequences: of each domain's log, when it was read.
    """

    differences: tuple[Difference, ...]
    corrections: dict[str, tuple[Update, ...]]
    sequences: dict[str, int]


async def relearn(store: PolicyStore, domain: str | None = None) -> Relearned:
    """Return what the stored runs teach by the present rules, those of one domain if it is named; nothing is changed."""
    stored = {entry.domain: entry.arms for entry in await store.summary()}  # those that were reset lent something too
    runs = {name: [run async for run in store.log.read_learned(name)] for name in stored}
    again = _Again({run.run_id: run for its in runs.values() for run in its})
    logs = [[update async for update in store.log.read(name)] for name in stored]
    rollbacks = {(u.domain, u.result["to"]) for log in logs for u in log if u.kind == "rollback" and "to" in u.result}
    for update in heapq.merge(*logs, key=lambda update: (update.at, update.domain, update.sequence)):
        again.take(update)
        if (update.domain, update.sequence) in rollbacks:
            again.remember(update)
    wanted = [name for name in sorted(runs) if domain in {None, name}]
    corrections = {name: tuple(again.corrections(runs[name])) for name in wanted}
    return Relearned(
        differences=compare(stored, {name: _corrected(stored[name], corrections.get(name, ())) for name in stored}),
        corrections={name: updates for name, updates in corrections.items() if updates},
        sequences={log[-1].domain: log[-1].sequence or 0 for log in logs if log},
    )


async def write_relearned(store: PolicyStore, relearned: Relearned) -> AsyncIterator[str]:
    """Write the corrections, and yield each domain that was corrected; one whose log has grown since is left out."""
    for domain, updates in relearned.corrections.items():
        last = relearned.sequences[domain]
        if await store.log.change_domain(domain, lambda state, u=updates, n=last: u if state.sequence == n else ()):  # type: ignore[misc]
            yield domain


@dataclass
class _Known:
    """What one domain has learned so far, which part of it each run has taught, and how far that is forgotten."""

    arms: dict[ArmKey, ArmSums] = field(default_factory=dict)
    taught: dict[str, Parts] = field(default_factory=dict)
    ages: dict[str, float] = field(default_factory=dict)


@dataclass
class _Again:
    """The learner on its way through the logs."""

    runs: dict[str, Learned]
    known: dict[str, _Known] = field(default_factory=dict)
    places: dict[tuple[str, int], _Known] = field(default_factory=dict)
    learned_from: set[str] = field(default_factory=set)

    def take(self, update: Update) -> None:
        """Learn what the update is about, or take it over as it is."""
        its = self.known.setdefault(update.domain, _Known())
        if update.kind == "rollback" and "to" in update.result:
            self.known[update.domain] = copy.deepcopy(self.places.get((update.domain, update.result["to"]), _Known()))
            return
        run = self.runs.get(update.run_id)
        if run is None or update.kind not in {"task", "feedback", "learn"}:
            advance(its.arms, update)
            _age(its, update)
            return
        if update.kind == "learn":  # it corrected what is learned anew here
            return
        evidence = Evidence.read(run.evidence)
        learned = self._read(update.domain, evidence)  # a task is decided by what is known before it shrinks that
        _age(its, update)
        advance(its.arms, replace(update, increments=()))
        if update.kind == "task":
            self.learned_from.add(update.run_id)
        if update.run_id in self.learned_from:  # feedback on a run that was asked frozen teaches nothing
            _teach(its, update, evidence, learned)

    def remember(self, update: Update) -> None:
        """Keep what is known after the update, to which a later one goes back."""
        self.places[update.domain, update.sequence or 0] = copy.deepcopy(self.known[update.domain])

    def corrections(self, runs: Iterable[Learned]) -> Iterable[Update]:
        """Yield what turns what is left of each run into what it taught here."""
        for run in runs:
            last = run.updates[-1].update
            taught = self.known[last.domain].taught.get(run.run_id, ())
            left = [part.scaled(-1) for counted in run.updates for part in counted.left]
            parts = tuple(part for part in add_up([*taught, *left]) if not _is_rounding(part))
            if parts:
                yield Update(run.run_id, last.round + 1, last.domain, parts, kind="learn")

    def _read(self, domain: str, evidence: Evidence) -> LearnedState:
        elsewhere: dict[ArmKey, ArmSums] = {}
        for name, known in self.known.items():
            for key, sums in known.arms.items():
                if name != domain:
                    elsewhere[key] = elsewhere[key] + sums if key in elsewhere else sums
        known_now = Sums(self.known[domain].arms, elsewhere)
        return read_learned(known_now, dict(zip(evidence.arms, evidence.made_of, strict=True)), evidence.principals)


def teach_again(evidence: Evidence, learned: LearnedState, verdict: Verdict | None) -> Parts:
    """Return what the task teaches if it is decided anew with what is `learned`, its answers and verdicts the same."""
    if verdict is not None or evidence.chosen is None:
        return teach(evidence, learned, verdict)
    if evidence.rules.trusted:
        players = [evidence.arms[player] for player in evidence.players]
        anchor = earned_anchor(learned, players, evidence.answers)
        evidence = replace(evidence, rules=replace(evidence.rules, anchor=anchor))
    played = play_again(evidence, learned)
    agreed = evidence.agreed
    if evidence.rounds == 1:
        agreed = judge_by(played.unranked_posterior.tolist(), evidence.judges, evidence.preference)
    return teach(replace(evidence, posterior=tuple(played.posterior.tolist()), agreed=agreed), learned)


def _teach(its: _Known, update: Update, evidence: Evidence, learned: LearnedState) -> None:
    before = its.taught.get(update.run_id, ())
    without = after(learned, [part.scaled(-1) for part in before])
    verdict = verdict_of(update) if update.kind == "feedback" else None
    age = its.ages.setdefault(update.run_id, 1.0)
    taught = tuple(part.scaled(age) for part in teach_again(evidence, without, verdict))
    parts = add_up([*taught, *(part.scaled(-1) for part in before)])
    advance(its.arms, replace(update, cleared=(), decay=1.0, increments=tuple(parts)))
    its.taught[update.run_id] = taught


def _age(its: _Known, update: Update) -> None:
    """Let what runs have taught shrink, or go, as the update does to all sums."""
    gone = set(update.cleared)
    if update.decay == 1 and not gone:
        return
    its.ages = {run_id: age * update.decay for run_id, age in its.ages.items()}
    its.taught = {
        run_id: tuple(part.scaled(update.decay) for part in parts if part.key not in gone)
        for run_id, parts in its.taught.items()
    }


def _corrected(arms: Arms, corrections: Iterable[Update]) -> Arms:
    changed = dict(arms)
    for update in corrections:
        advance(changed, update)
    return changed


def _is_rounding(part: Increment) -> bool:
    return max(map(abs, (part.payoff, part.count, part.gradient, part.loss))) < ROUNDING


ROUNDING = 1e-9
