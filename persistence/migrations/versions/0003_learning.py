"""What learning lasts on: sums of arms by what they are made of, a log in order, evidence of tasks, a quarantine."""

import json
from collections import defaultdict
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "policy_0003"
down_revision = "policy_0002"

_SUMMED = ("total", "count", "failures")
_SLACK = 1e-9
_INSERT = sa.text(
    "INSERT INTO updates (run_id, round, domain, increments, result, at, kind)"
    " VALUES ('policy_0003', :round, :domain, :increments, '{}', :at, 'import')"
)


def upgrade() -> None:
    """Create the tables, take the sums over, and put the updates of each domain in order."""
    op.add_column("runs", sa.Column("evidence", sa.Text()))
    op.add_column("runs", sa.Column("pruned_at", sa.String()))
    create_arms()
    create_quarantine()
    op.add_column("updates", sa.Column("kind", sa.String(), nullable=False, server_default="task"))
    op.add_column("updates", sa.Column("sequence", sa.BigInteger()))
    op.add_column("updates", sa.Column("decay", sa.Double(), nullable=False, server_default="1"))
    op.add_column("updates", sa.Column("cleared", sa.Text()))
    log_what_has_no_update()
    put_in_order()
    op.drop_table("competence")


def create_arms() -> None:
    """Create the sums, with all that is known of arms of which nobody noted what they were made of."""
    op.create_table(
        "arms",
        sa.Column("domain", sa.Text(), primary_key=True),
        sa.Column("arm", sa.Text(), primary_key=True),
        sa.Column("made_of", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.Column("count", sa.Double(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("gradient", sa.Double(), nullable=False, server_default="0"),
        sa.Column("loss", sa.Double(), nullable=False, server_default="0"),
        sa.Column("changed_at", sa.String()),
    )
    op.execute(
        "INSERT INTO arms (domain, arm, made_of, kind, total, count, failures)"
        " SELECT domain, arm, '', kind, total, count, failures FROM competence"
    )


def create_quarantine() -> None:
    """Create the place of rows that make no sense."""
    op.create_table(
        "quarantine",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("quarantined_at", sa.String(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("made_of", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("row", sa.Text(), nullable=False),
    )
    op.create_index("quarantine_by_domain", "quarantine", ["domain"])


def log_what_has_no_update() -> None:
    """Log, as imported, what the sums hold beyond the updates: from now on they are what a replay of the log gives.

    A row that once made no sense started again from zero, and its earlier updates are still there.
    """
    connection = op.get_bind()
    left = defaultdict(list)
    for (domain, arm), (kind, sums) in sorted(read_unexplained(connection).items()):
        left[domain].append({"arm": arm, "kind": kind, "payoff": sums[0], "count": sums[1], "failures": int(sums[2])})
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for number, (domain, increments) in enumerate(left.items(), start=1):
        row = {"round": number, "domain": domain, "increments": json.dumps(increments), "at": now}
        connection.execute(_INSERT, row)


def read_unexplained(connection: sa.Connection) -> dict[tuple[str, str], tuple[str, list[float]]]:
    """Return kind and sums beyond those of the updates, by domain and arm; a row that makes no sense is left out."""
    found = {}
    for row in connection.execute(sa.text("SELECT domain, arm, kind, total, count, failures FROM competence")):
        sums = [getattr(row, name) for name in _SUMMED]
        if all(isinstance(one, int | float) and abs(one) < float("inf") for one in sums):
            found[row.domain, row.arm] = (row.kind, sums)
    for domain, increments in connection.execute(sa.text("SELECT domain, increments FROM updates")):
        for one in json.loads(increments):
            _, sums = found.get((domain, one["arm"]), (None, [0.0, 0.0, 0.0]))
            for position, name in enumerate(("payoff", "count", "failures")):
                sums[position] -= one[name]
    return {key: known for key, known in found.items() if any(abs(one) > _SLACK for one in known[1])}


def put_in_order() -> None:
    """Number the updates of each domain by their time, and note how many it has."""
    op.execute(
        "UPDATE updates SET sequence = numbered.sequence FROM (SELECT run_id, round, row_number() OVER"
        " (PARTITION BY domain ORDER BY kind = 'import' DESC, at, run_id, round) AS sequence FROM updates) AS numbered"
        " WHERE updates.run_id = numbered.run_id AND updates.round = numbered.round"
    )
    op.create_index("updates_in_order", "updates", ["domain", "sequence"], unique=True)
    op.create_table(
        "domains",
        sa.Column("domain", sa.Text(), primary_key=True),
        sa.Column("updates", sa.BigInteger(), nullable=False),
    )
    op.execute("INSERT INTO domains (domain, updates) SELECT domain, count(*) FROM updates GROUP BY domain")
