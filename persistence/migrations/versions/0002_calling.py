"""What calls leave behind: circuits of models that failed, and replies that were paid for."""

import sqlalchemy as sa
from alembic import op

revision = "policy_0002"
down_revision = "policy_0001"


def upgrade() -> None:
    """Create the tables, and keep of a candidate why it has no answer and who was asked."""
    for name in ("failure", "model", "detour"):
        op.add_column("candidates", sa.Column(name, sa.Text()))
    op.create_table(
        "circuits",
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("circuit", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.String(), nullable=False),
    )
    op.create_table(
        "responses",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("usage", sa.Text(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
    )
    op.create_index("responses_by_age", "responses", ["at"])
    op.create_index("responses_by_run", "responses", ["run_id"])
