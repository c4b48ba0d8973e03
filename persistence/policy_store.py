"""The policy store: runs, their candidates and rankings, and the sums that last across tasks."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, bindparam, select

from aligngraph.errors import StoreError
from aligngraph.persistence.arm_sums import read_arms, summarise, sums_of
from aligngraph.persistence.call_records import CallRecords
from aligngraph.persistence.database import Database
from aligngraph.persistence.group_transaction import GroupTransaction
from aligngraph.persistence.learned_records import AppliedUpdate, DomainSummary, Sums, Update
from aligngraph.persistence.location import Location, shown
from aligngraph.persistence.policy_log import PolicyLog
from aligngraph.persistence.pruning import find_prunable, prune_runs
from aligngraph.persistence.quarantine import set_aside, set_aside_locked
from aligngraph.persistence.records import Candidate, FinalStatus, Run, days_ago, utc_now
from aligngraph.persistence.schema import VERSION_TABLE, bring_up_to_date
from aligngraph.persistence.sealing import find_cipher
from aligngraph.persistence.stored_runs import find_run
from aligngraph.persistence.tables import CANDIDATES, RANKINGS, RUNS, storable
from aligngraph.persistence.update_writer import UpdateWriter, find_update

# Built once: building a statement costs more than SQLite needs to run it.
_FIND_TEXTS = select(CANDIDATES.c.candidate_id, CANDIDATES.c.text).where(CANDIDATES.c.run_id == bindparam("run_id"))
_FIND_CANDIDATES = (
    select(CANDIDATES)
    .where(CANDIDATES.c.run_id.in_(bindparam("run_ids", expanding=True)))
    .order_by(CANDIDATES.c.position, CANDIDATES.c.candidate_id)
)

_PRUNED_AT_ONCE = 200  # others wait for that long to write
_UNDER_WAY = ("running", "cancelling")
_RESUMABLE = ("interrupted", "cancelling")


class PolicyStore:
    """What lasts, safe for any number of processes. Made by `open`; use it in `async with`, or `close` it.

    Every method is one short transaction and raises StoreError when the database fails. Writing the same thing twice
    changes nothing, so that a node may run again after a crash.

    Attributes:
        calls: what calls leave behind beside their run.
        log: every change of the sums, and what is made of it: feedback, resets, rollbacks, exports.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.calls = CallRecords(database)
        self._writer = UpdateWriter(database)
        self.log = PolicyLog(database, self._writer)
        self._candidate_writes = GroupTransaction(self._write_candidates)
        self._candidate_reads = GroupTransaction(self._read_candidates)
        self._insert_run = database.insert(RUNS).on_conflict_do_nothing()
        self._insert_candidate = database.insert(CANDIDATES).on_conflict_do_nothing()
        self._insert_ranking = database.insert(RANKINGS).on_conflict_do_nothing()

    @classmethod
    async def open(cls, location: Location, *arguments: Any, seals: bool = False) -> Self:
        """Return the store at `location`, made or brought to this version's schema if need be.

        Args:
            location: where it is kept.
            arguments: of a subclass, beside the database.
            seals: whether texts are encrypted that are written from now on.

        Raises:
            StoreError: it cannot be read or written, is not ours, or is newer than this version; or there is no key.
            MissingExtraError: a PostgreSQL URL without psycopg installed, or encryption without pycryptodome.
        """
        if seals:
            await asyncio.to_thread(find_cipher)  # which may import a cipher
        async with AsyncExitStack() as on_failure:
            database = await Database.open(location.policy, owned_table=VERSION_TABLE, seals=seals)
            on_failure.push_async_callback(database.close)
            await bring_up_to_date(database)
            on_failure.pop_all()
        return cls(database, *arguments)

    async def close(self) -> None:
        """Close every connection; a second time is a no-op."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def start_run(self, run: Run) -> Run:
        """Record that `run` started; return it as it is stored, which may be from an earlier start.

        Raises:
            StoreError: its id was used for another task, domain or team, or the run has been pruned.
        """

        def work(connection: Connection) -> Run | None:
            connection.execute(self._insert_run, vars(run))
            return find_run(connection, run.run_id)

        stored = await self._database.write(work)
        if stored is not None and stored.pruned:
            raise StoreError(
                f"run {run.run_id!r} was pruned at {stored.pruned_at}: its texts are gone, leave the run id out to ask again"
            )
        asked = (storable(run.domain), storable(run.task), run.team_digest)
        if stored is None or (stored.domain, stored.task, stored.team_digest) != asked:
            raise StoreError(
                f"run id {run.run_id!r} was used for another task, domain or team: choose another, or none to get a new one"
            )
        return stored

    async def read_run(self, run_id: str) -> Run | None:
        """Return the run, None if there is none."""
        return await self._database.read(lambda connection: find_run(connection, run_id))

    async def finish_run(
        self,
        run_id: str,
        status: FinalStatus,
        decision: Mapping[str, Any] | None,
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        """Record how the run ended, all at once: whoever finds the decision finds the evidence.

        Args:
            run_id: of a run that was started.
            status: as in `ask --json`.
            decision: the audit, plain JSON; None if there was nothing to decide.
            evidence: what can be learned of the run without its texts, plain JSON; None keeps what there is.

        Raises:
            StoreError: the run was never started.
        """
        end = {"status": status, "decision": decision, "finished_at": utc_now()}
        end |= {} if evidence is None else {"evidence": evidence}
        statement = RUNS.update().where(RUNS.c.run_id == run_id).values(end)
        if not await self._database.write(lambda connection: connection.execute(statement).rowcount):
            raise StoreError(f"no run {run_id!r} in {shown(self._database.address)}: start it first")

    async def mark_interrupted(self, run_id: str) -> None:
        """Record that the run was stopped, unless it has ended."""
        end = {"status": "interrupted", "finished_at": utc_now()}
        statement = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.status.in_(_UNDER_WAY)).values(end)
        await self._database.write(lambda connection: connection.execute(statement))

    async def mark_resumed(self, run_id: str) -> None:
        """Record that somebody works on the run again, unless it has ended; what was asked of others is forgotten."""
        again = {"status": "running", "finished_at": None}
        statement = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.status.in_(_RESUMABLE)).values(again)
        await self._database.write(lambda connection: connection.execute(statement))

    async def request_cancel(self, run_id: str) -> Run | None:
        """Ask whoever works on the run to stop it, if it is under way; return it as it is then, None if there is none."""
        statement = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.status == "running").values(status="cancelling")

        def work(connection: Connection) -> Run | None:
            connection.execute(statement)
            return find_run(connection, run_id)

        return await self._database.write(work)

    async def read_stopped(self, run_ids: Collection[str]) -> set[str]:
        """Return those of the runs that nobody is to work on any more: somebody wants them stopped, or stopped them."""
        query = select(RUNS.c.run_id).where(RUNS.c.run_id.in_(run_ids), RUNS.c.status.in_(_RESUMABLE))
        return await self._database.read(lambda connection: set(connection.scalars(query)))

    async def record_candidate(self, run_id: str, candidate: Candidate) -> None:
        """Keep `candidate` unless it is known; return once it is safe. Calls at the same time share a transaction."""
        await self._candidate_writes.add({"run_id": run_id, **vars(candidate)})

    async def read_candidates(self, run_id: str) -> list[Candidate]:
        """Return the candidates of the run in seed order. Calls at the same time share a transaction."""
        return (await self._candidate_reads.add(run_id)).get(run_id, [])

    async def read_texts(self, run_id: str) -> dict[str, str]:
        """Return the whole texts of the run's candidates, by candidate id."""

        def work(connection: Connection) -> dict[str, str]:
            return {row[0]: row[1] for row in connection.execute(_FIND_TEXTS, {"run_id": run_id})}

        return await self._database.read(work)

    async def record_ranking(self, run_id: str, round_number: int, ranking: Mapping[str, Any]) -> None:
        """Keep the principal's verdict, plain JSON, unless the round has one."""
        row = {"run_id": run_id, "round": round_number, "ranking": ranking}
        await self._database.write(lambda connection: connection.execute(self._insert_ranking, row))

    async def read_ranking(self, run_id: str, round_number: int) -> dict[str, Any] | None:
        """Return the principal's verdict of the round, None if there is none."""
        query = select(RANKINGS.c.ranking).where(RANKINGS.c.run_id == run_id, RANKINGS.c.round == round_number)
        ranking: dict[str, Any] | None = await self._database.read(lambda connection: connection.scalar(query))
        return ranking

    async def read_sums(self, domain: str) -> Sums:
        """Return the sums of `domain` and of all others, in time that does not depend on how many tasks they saw.

        Rows that make no sense are set aside, and said by the one read that did it; by every read where nothing can
        be written.
        """
        name = storable(domain)
        sums = await self._database.read(lambda connection: sums_of(read_arms(connection), name))
        if not sums.quarantined:
            return sums
        with suppress(StoreError):  # what can be read is enough for a run to go on
            moved = await self._database.write(lambda connection: set_aside(connection, self._writer))
            return replace(sums, quarantined=tuple(map(str, moved)))
        return sums

    async def apply_update(self, update: Update) -> AppliedUpdate:
        """Write the update into the log and change the sums by it, once per (run_id, round) however often it is asked for.

        Sums commute, so updates that only add may come from any number of processes in any order.

        Raises:
            ValueError: an increment's arm has a name that none of its kind can have.
        """

        def work(connection: Connection) -> AppliedUpdate:
            last = self._writer.lock(connection, update.domain)
            last = set_aside_locked(connection, self._writer, update.domain, last)
            stored = self._writer.append(connection, update, last)
            first = stored or find_update(connection, update.run_id, update.round)
            return AppliedUpdate(applied=stored is not None, result=first.result if first else {})

        return await self._database.write(work)

    async def read_update(self, run_id: str, round_number: int) -> Update | None:
        """Return the update that was applied, None if there is none."""
        return await self._database.read(lambda connection: find_update(connection, run_id, round_number))

    async def summary(self) -> list[DomainSummary]:
        """Return what each domain has learned, in alphabetical order."""
        return await self._database.read(summarise)

    async def find_prunable(self, *, keep_days: float) -> Sequence[str]:
        """Return the runs that `prune` would drop the texts of, sorted."""
        before = days_ago(keep_days)
        return await self._database.read(lambda connection: find_prunable(connection, before))

    async def prune(self, *, keep_days: float) -> int:
        """Drop the texts of runs that ended more than `keep_days` ago, and return of how many; what they taught stays.

        A SQLite file then shrinks; others may use it meanwhile.
        """
        before = days_ago(keep_days)
        run_ids = await self._database.read(lambda connection: find_prunable(connection, before))
        pruned = 0
        for first in range(0, len(run_ids), _PRUNED_AT_ONCE):
            chunk = run_ids[first : first + _PRUNED_AT_ONCE]
            pruned += await self._database.write(partial(prune_runs, run_ids=chunk))
        await self._database.shrink()
        return pruned

    async def _read_candidates(self, run_ids: Sequence[str]) -> dict[str, list[Candidate]]:
        def work(connection: Connection) -> dict[str, list[Candidate]]:
            found = defaultdict(list)
            for row in connection.execute(_FIND_CANDIDATES, {"run_ids": list(set(run_ids))}):
                values = row._asdict()
                found[values.pop("run_id")].append(Candidate(**values))
            return found

        return await self._database.read(work)

    async def _write_candidates(self, rows: Sequence[dict[str, Any]]) -> None:
        await self._database.write(lambda connection: connection.execute(self._insert_candidate, rows))
