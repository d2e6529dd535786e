"""State on PostgreSQL: the outbox and the fences of runs. Needs the extra `postgres`."""

from gristmill.adapters.postgres.outbox import PostgresOutbox
from gristmill.adapters.postgres.runs import PostgresRuns
from gristmill.adapters.postgres.server import PostgresServer, PostgresTarget

__all__ = ["PostgresOutbox", "PostgresRuns", "PostgresServer", "PostgresTarget"]
