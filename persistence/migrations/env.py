"""Executed by alembic, in the transaction of `aligngraph.persistence.schema.upgrade`."""

from alembic import context

from aligngraph.persistence.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    target_metadata=METADATA,
)
with context.begin_transaction():
    context.run_migrations()
