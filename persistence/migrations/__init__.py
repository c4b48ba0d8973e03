"""Alembic migrations of the policy store: append-only, run by `aligngraph.persistence.schema`."""
