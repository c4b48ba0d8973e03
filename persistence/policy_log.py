"""The log of a policy store: every change of its sums in order, and what is made of it."""

import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, exists, or_, select

from aligngraph.errors import StoreError
from aligngraph.persistence.arm_sums import read_arms, sums_of
from aligngraph.persistence.database import Database
from aligngraph.persistence.exports import Difference, Export, compare
from aligngraph.persistence.learned_records import Arms, Counted, DomainState, Learned, RunRecord, Update, UpdateKind
from aligngraph.persistence.location import shown
from aligngraph.persistence.quarantine import set_aside_locked
from aligngraph.persistence.replay import Aftermath, Turn, turn_of
from aligngraph.persistence.rolling_back import Place, find_place, replay_until
from aligngraph.persistence.stored_runs import lock_run
from aligngraph.persistence.tables import DOMAINS, RUNS, UPDATES, storable
from aligngraph.persistence.update_writer import UpdateWriter, read_row, read_updates

Correction = Callable[[RunRecord], Update | None]
DomainChange = Callable[[DomainState], Sequence[Update]]

_CHUNK = 500

# Built once: building a statement costs more than SQLite needs to run it.
_AFTER = (UPDATES.c.domain == bindparam("domain"), UPDATES.c.sequence > bindparam("after"))
_NEXT = select(UPDATES).where(*_AFTER).order_by(UPDATES.c.sequence).limit(_CHUNK)
_EARLIER = UPDATES.alias()
_NEXT_RUNS = (
    select(UPDATES.c.run_id, UPDATES.c.sequence, UPDATES.c.at, RUNS.c.evidence)
    .join_from(UPDATES, RUNS, UPDATES.c.run_id == RUNS.c.run_id)
    .where(
        *_AFTER,
        RUNS.c.evidence.is_not(None),
        ~exists().where(_EARLIER.c.run_id == UPDATES.c.run_id, _EARLIER.c.round < UPDATES.c.round),
    )
    .order_by(UPDATES.c.sequence)
    .limit(_CHUNK)
)
_OF_RUNS = select(UPDATES).where(UPDATES.c.run_id.in_(bindparam("run_ids", expanding=True))).order_by(UPDATES.c.round)
_DOMAINS = select(DOMAINS.c.domain)
_TURNS = select(UPDATES).where(
    *_AFTER, or_(UPDATES.c.decay != 1, UPDATES.c.cleared.is_not(None), UPDATES.c.kind == "rollback")
)


class PolicyLog:
    """The log and the sums that it makes; its methods are short transactions of the store's database."""

    def __init__(self, database: Database, writer: UpdateWriter) -> None:
        self._database = database
        self._writer = writer

    async def correct(self, run_id: str, change: Correction) -> Update | None:
        """Return the update of a run that `change` makes of all that is known of it, stored; None if it makes none.

        Nobody comes between: of two that give the same feedback at once the second sees what the first has written.

        Args:
            run_id: of a run that was started.
            change: a pure function: it runs in a thread, and again where the transaction is tried again. What it
                returns is stored under the run's id and next round, whatever it says itself.

        Raises:
            StoreError: there is no such run.
        """

        def work(connection: Connection) -> Update | None:
            run = lock_run(connection, run_id)
            if run is None:
                raise StoreError(f"no run {run_id!r} in {shown(self._database.address)}: name one that was asked there")
            last = self._lock(connection, run.domain)
            updates = read_updates(connection, run_id)
            next_round = max((update.round for update in updates), default=0) + 1
            counted = count_updates(connection, run.domain, updates)
            update = change(RunRecord(run, counted, sums_of(read_arms(connection), run.domain), next_round))
            if update is None:
                return None
            own = replace(update, run_id=run_id, round=next_round, domain=run.domain)
            return self._writer.append(connection, own, last)

        return await self._database.write(work)

    async def change_domain(self, domain: str, change: DomainChange) -> tuple[Update, ...]:
        """Return the updates that `change` makes of the sums of a domain, as they were stored; nobody comes between.

        Args:
            domain: need not be known yet.
            change: as for `correct`; of updates whose (run_id, round) was stored before, all but the first are left out.
        """
        return await self._database.write(partial(self._change, domain=storable(domain), change=change))

    async def read(self, domain: str, *, after: int = 0) -> AsyncIterator[Update]:
        """Yield the updates of a domain in order of sequence, from the one that follows `after`."""
        place, chunk = {"domain": domain, "after": after}, _CHUNK
        while chunk == _CHUNK:
            updates = await self._database.read(partial(_read_next, place=place))
            for update in updates:
                yield update
            place["after"], chunk = (updates[-1].sequence or 0 if updates else after), len(updates)

    async def read_latest(self, domain: str, number: int) -> list[Update]:
        """Return the latest updates of a domain, at most `number`, in order of sequence."""
        latest = select(UPDATES).where(UPDATES.c.domain == domain).order_by(UPDATES.c.sequence.desc()).limit(number)

        def work(connection: Connection) -> list[Update]:
            return [read_row(row) for row in connection.execute(latest).mappings()][::-1]

        return await self._database.read(work)

    async def read_learned(self, domain: str) -> AsyncIterator[Learned]:
        """Yield the runs of a domain with evidence that taught it something, in order of their first update."""
        turns = await self._database.read(lambda connection: read_turns(connection, domain))
        aftermath, after, chunk = Aftermath(turns), 0, _CHUNK
        while chunk == _CHUNK:
            place = {"domain": domain, "after": after}
            records = await self._database.read(partial(_read_runs, place=place, aftermath=aftermath))
            for record in records:
                yield record
            after, chunk = (records[-1].sequence if records else after), len(records)

    async def reset(self, domain: str) -> Update | None:
        """Forget all that the domain has learned, and return the update that says so; None if there was nothing."""

        def forget(state: DomainState) -> Sequence[Update]:
            return [_event("reset", state, {})] if state.arms else []

        return next(iter(await self.change_domain(domain, forget)), None)

    async def rollback(self, to: int | str, domain: str | None = None) -> tuple[Update, ...]:
        """Give one domain or all the sums that they had, and return the updates that say so, of domains that differ.

        Args:
            to: a sequence of the domain; a run, whose own update stays and all after it is undone; or a time, ISO 8601,
                UTC unless it says otherwise.
            domain: all if it is None; a run then names the time of its update in the other domains.

        Raises:
            StoreError: `to` is none of these, or names no update of that domain.
        """
        name = None if domain is None else storable(domain)

        def work(connection: Connection) -> tuple[Update, ...]:
            place = find_place(connection, to, name)
            domains = [name] if name is not None else sorted(connection.scalars(_DOMAINS))
            found = (self._roll_back(connection, place, one) for one in domains)
            return tuple(update for updates in found for update in updates)

        return await self._database.write(work)

    async def preview_rollback(self, to: int | str, domain: str | None = None) -> tuple[Difference, ...]:
        """Return what `rollback` with the same arguments would change.

        Raises:
            StoreError: as for `rollback`.
        """
        name = None if domain is None else storable(domain)

        def work(connection: Connection) -> tuple[Difference, ...]:
            place, now = find_place(connection, to, name), read_arms(connection).sound
            domains = [name] if name is not None else sorted(connection.scalars(_DOMAINS))
            then = {one: replay_until(connection, one, place.find(connection, one)) for one in domains}
            return compare({one: now.get(one, {}) for one in domains}, then)

        return await self._database.read(work)

    async def export(self) -> Export:
        """Return the sums of every domain; rows that make no sense are left out."""
        return await self._database.read(lambda connection: Export(read_arms(connection).sound))

    async def import_policy(
        self, export: Export, *, add: bool = False, dry_run: bool = False
    ) -> tuple[Difference, ...]:
        """Take over the sums of an export, all of its domains or none, and return what that changes.

        Args:
            export: other domains than its own stay as they are.
            add: adds them to what is there; replaces that by default.
            dry_run: changes nothing.
        """

        def work(connection: Connection) -> tuple[Difference, ...]:
            found = (
                self._import(connection, export, name, add=add, dry_run=dry_run) for name in sorted(export.domains)
            )
            return tuple(difference for differences in found for difference in differences)

        return await (self._database.read if dry_run else self._database.write)(work)

    def _import(
        self, connection: Connection, export: Export, name: str, *, add: bool, dry_run: bool
    ) -> tuple[Difference, ...]:
        domain, given = storable(name), export.domains[name]
        if not dry_run:
            self._lock(connection, domain)
        before = read_arms(connection, domain).sound.get(domain, {})
        after = {**before, **{key: before[key] + given[key] if key in before else given[key] for key in given}}
        found = compare({domain: before}, {domain: after if add else given})
        if found and not dry_run:
            event = partial(
                _event, "import", arms=given, keep=add, result={"exported_at": export.exported_at, "added": add}
            )
            self._change(connection, domain, lambda state: [event(state)])
        return found

    def _roll_back(self, connection: Connection, place: Place, domain: str) -> tuple[Update, ...]:
        last = self._lock(connection, domain)
        sequence = place.find(connection, domain)
        if sequence >= last:
            return ()
        arms = replay_until(connection, domain, sequence)
        return self._change(connection, domain, lambda state: [_event("rollback", state, arms, {"to": int(sequence)})])

    def _change(self, connection: Connection, domain: str, change: DomainChange) -> tuple[Update, ...]:
        last = self._lock(connection, domain)
        arms = read_arms(connection, domain).sound.get(domain, {})
        stored: list[Update] = []
        for update in change(DomainState(domain, last, arms)):
            written = self._writer.append(connection, replace(update, domain=domain), last + len(stored))
            stored += [written] if written else []
        return tuple(stored)

    def _lock(self, connection: Connection, domain: str) -> int:
        return set_aside_locked(connection, self._writer, domain, self._writer.lock(connection, domain))


def count_updates(connection: Connection, domain: str, updates: Sequence[Update]) -> tuple[Counted, ...]:
    """Return what is left of these updates of a domain."""
    after = min((update.sequence or 0 for update in updates), default=0)
    aftermath = Aftermath(read_turns(connection, domain, after))
    return tuple(aftermath.count(update) for update in updates)


def read_turns(connection: Connection, domain: str, after: int = 0) -> list[Turn]:
    """Return the updates after a sequence that did anything to earlier sums."""
    rows = connection.execute(_TURNS, {"domain": domain, "after": after}).mappings()
    return [turn_of(read_row(row)) for row in rows]


def _event(
    kind: UpdateKind, state: DomainState, arms: Arms, result: Mapping[str, Any] | None = None, *, keep: bool = False
) -> Update:
    """Return the update that gives a domain these sums, beside those it has if `keep`."""
    return Update(
        run_id=f"{kind}-{secrets.token_hex(8)}",
        round=1,
        domain=state.domain,
        increments=tuple(arms[key].as_increment(key) for key in sorted(arms)),
        result=result or {},
        kind=kind,
        cleared=() if keep else tuple(sorted(state.arms)),
    )


def _read_next(connection: Connection, place: Mapping[str, Any]) -> list[Update]:
    return [read_row(row) for row in connection.execute(_NEXT, place).mappings()]


def _read_runs(connection: Connection, place: Mapping[str, Any], aftermath: Aftermath) -> list[Learned]:
    """Return the next runs with evidence, with all their updates."""
    runs = {row.run_id: row for row in connection.execute(_NEXT_RUNS, place)}
    updates = defaultdict(list)
    for row in connection.execute(_OF_RUNS, {"run_ids": list(runs)}).mappings():
        updates[row["run_id"]].append(aftermath.count(read_row(row)))
    return [Learned(run_id, row.sequence, row.at, row.evidence, tuple(updates[run_id])) for run_id, row in runs.items()]
