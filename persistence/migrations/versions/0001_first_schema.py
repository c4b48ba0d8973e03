"""The first schema: runs, candidates, rankings, updates, competence."""

import sqlalchemy as sa
from alembic import op

revision = "policy_0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    create_run_tables()
    create_learning_tables()


def create_run_tables() -> None:
    """Create what records a run."""
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text()),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("started_at", sa.String(), nullable=False),
        sa.Column("finished_at", sa.String()),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("team_digest", sa.String(), nullable=False),
        sa.Column("decision", sa.Text()),
    )
    op.create_table(
        "candidates",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("candidate_id", sa.String(), primary_key=True),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("strategy", sa.String(), nullable=False),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text()),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("usage", sa.Text(), nullable=False),
    )
    op.create_table(
        "rankings",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("round", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("ranking", sa.Text(), nullable=False),
    )


def create_learning_tables() -> None:
    """Create what lasts of a run."""
    op.create_table(
        "updates",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("round", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("increments", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
    )
    op.create_index("updates_by_domain", "updates", ["domain", "run_id"])
    op.create_table(
        "competence",
        sa.Column("domain", sa.Text(), primary_key=True),
        sa.Column("arm", sa.Text(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.Column("count", sa.Double(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
    )
