"""What calls leave behind: the circuits of models that failed, and replies that need not be paid for again."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from operator import eq
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Table, Text, exists, select, type_coerce

from aligngraph.persistence.database import Database
from aligngraph.persistence.records import Response, days_ago, utc_now
from aligngraph.persistence.sealing import unseal
from aligngraph.persistence.tables import CANDIDATES, CIRCUITS, RESPONSES, RUNS, Json

CircuitRow = Mapping[str, Any]
_NONE_YET: CircuitRow = {}  # stands in a row from its insertion to the end of that transaction
RECENT_RUNS = 100
_SHOWN_CHARS = 80
_MOST = 10**15


class CallRecords:
    """The circuits and responses of a policy store; its methods are short transactions of the store's database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert_circuit = database.insert(CIRCUITS).on_conflict_do_nothing()
        self._keep_response = database.insert(RESPONSES).on_conflict_do_nothing()

    async def read_circuits(self) -> dict[str, CircuitRow]:
        """Return the circuit of every model that ever failed, plain JSON; one that cannot be read says so."""
        query = _select_unread(CIRCUITS)
        return await self._database.read(
            lambda connection: {row.model: _read(row.circuit) for row in connection.execute(query)}
        )

    async def change_circuit(self, model: str, change: Callable[[CircuitRow | None], CircuitRow]) -> CircuitRow:
        """Return the circuit of `model` after `change`, which is given the stored one or None; nobody comes between.

        `change` may be called in a thread, and again where a concurrent process was faster.
        """

        def work(connection: Connection) -> CircuitRow:
            # A row that is not there cannot be locked: two processes would both find none.
            connection.execute(self._insert_circuit, {"model": model, "circuit": _NONE_YET, "changed_at": utc_now()})
            own = CIRCUITS.c.model == model
            stored = _read(
                connection.scalar(select(type_coerce(CIRCUITS.c.circuit, Text)).where(own).with_for_update())
            )
            after = change(None if stored == _NONE_YET else stored)
            connection.execute(CIRCUITS.update().where(own).values(circuit=after, changed_at=utc_now()))
            return after

        return await self._database.write(work)

    async def find_response(self, key: str, *, keep_days: float) -> Response | None:
        """Return what was kept under `key` in the last `keep_days`, None if there is nothing that can be used."""
        query = _select_unread(RESPONSES).where(RESPONSES.c.key == key, RESPONSES.c.at >= days_ago(keep_days))
        row = await self._database.read(lambda connection: connection.execute(query).mappings().one_or_none())
        return None if row is None else _usable(row)

    async def keep_response(self, response: Response, *, keep_days: float) -> None:
        """Keep a reply unless its key has one that can be used; those that are older than `keep_days`, whosever they are, go."""

        def work(connection: Connection) -> None:
            connection.execute(RESPONSES.delete().where(RESPONSES.c.at < days_ago(keep_days)))
            own = RESPONSES.c.key == response.key
            stored = connection.execute(_select_unread(RESPONSES).where(own)).mappings().one_or_none()
            if stored is not None and _usable(stored) is None:
                connection.execute(RESPONSES.delete().where(own))
            connection.execute(self._keep_response, vars(response))

        await self._database.write(work)

    async def read_unfinished(self, run_id: str) -> list[Mapping[str, Any]]:
        """Return what the run paid for kept replies of samples that have no candidate yet, by sample and model."""
        same = (CANDIDATES.c.run_id, CANDIDATES.c.agent, CANDIDATES.c.sample)
        stored = exists().where(*map(eq, same, (RESPONSES.c.run_id, RESPONSES.c.agent, RESPONSES.c.sample)))
        query = _select_unread(RESPONSES).where(RESPONSES.c.run_id == run_id, ~stored)

        def work(connection: Connection) -> list[Mapping[str, Any]]:
            found: dict[tuple[str, int, str], Mapping[str, Any]] = {}
            usable = (one for row in connection.execute(query).mappings() if (one := _usable(row)) is not None)
            for row in sorted(usable, key=lambda row: int(row.usage.get("calls", 0))):
                found[row.agent, row.sample, row.model] = row.usage  # of several turns the last counts those before
            return list(found.values())

        return await self._database.read(work)

    async def read_usage(self, agents: Collection[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Return what the agents' candidates of the latest 100 runs used, by agent; those without a text are left out."""
        latest = select(RUNS.c.run_id).order_by(RUNS.c.started_at.desc()).limit(RECENT_RUNS)
        query = select(CANDIDATES.c.agent, CANDIDATES.c.usage).where(
            CANDIDATES.c.run_id.in_(latest), CANDIDATES.c.agent.in_(agents), CANDIDATES.c.text != ""
        )

        def work(connection: Connection) -> dict[str, list[Mapping[str, Any]]]:
            found = defaultdict(list)
            for row in connection.execute(query):
                found[row.agent].append(row.usage)
            return found

        return await self._database.read(work)


def _select_unread(table: Table) -> Select[Any]:
    """Return a query of all columns with JSON as text, so that a value that is none spoils its own row only."""
    return select(*(type_coerce(one, Text).label(one.name) if isinstance(one.type, Json) else one for one in table.c))


def _read(text: Any) -> Any:  # noqa: ANN401 - a database may hold anything
    """Return the JSON value, or an object that shows the beginning of what is none or is nested too deep."""
    try:
        return json.loads(unseal(text) if isinstance(text, str) else text)
    except (ValueError, RecursionError):
        return {"unreadable": str(text)[:_SHOWN_CHARS]}


def _usable(row: RowMapping) -> Response | None:
    """Return the response, None where its reply has no text or its usage makes no sense."""
    reply, usage = _read(row["reply"]), _read(row["usage"])
    if not isinstance(reply, Mapping) or not isinstance(reply.get("text"), str) or not isinstance(usage, Mapping):
        return None
    if not all(_fits(name, amount) for name, amount in usage.items()):
        return None
    return Response(**{**row, "reply": reply, "usage": usage})


def _fits(name: str, amount: object) -> bool:
    """Return whether a usage can have this amount: a count, or a cost that may be unknown."""
    if name == "cost" and amount is None:
        return True
    kind = int | float if name == "cost" else int
    return isinstance(amount, kind) and not isinstance(amount, bool) and 0 <= amount < _MOST
