"""The port of run fences over PostgreSQL: every write names the fence under which it is made."""

from __future__ import annotations

from typing import Any

from gristmill.adapters.postgres.server import PostgresServer
from gristmill.domain.errors import StaleRead
from gristmill.ports.clock import Clock
from gristmill.ports.fencing import Ended, Held, RunEnding, RunName, StartAnswer, Started

__all__ = ["PostgresRuns"]

NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

# The last line takes up a run that somebody holds for review, and one that has failed if it comes in a new generation.
START = """
INSERT INTO run AS r(plan, key, owner, epoch, lease_until_ms, attempts, generation, position)
VALUES($1, $2, $3, 1, {now} + $4::bigint, 1, $5, $6)
ON CONFLICT(plan, key) DO UPDATE SET
    owner = excluded.owner, epoch = r.epoch + 1, lease_until_ms = excluded.lease_until_ms,
    attempts = CASE WHEN excluded.generation > r.generation THEN 1 ELSE r.attempts + 1 END,
    generation = greatest(r.generation, excluded.generation), position = greatest(r.position, excluded.position),
    status = '', result = NULL
WHERE (r.lease_until_ms <= {now} OR r.owner = excluded.owner)
    AND (r.status IN ('', 'held') OR r.status = 'failed' AND excluded.generation > r.generation)
RETURNING epoch, attempts
"""
LOOK = "SELECT status, lease_until_ms FROM run WHERE plan = $1 AND key = $2"
OURS = "plan = $1 AND key = $2 AND epoch = $3 AND status = '' AND owner <> ''"
RENEW = f"UPDATE run SET lease_until_ms = {{now}} + $4::bigint WHERE {OURS} RETURNING epoch"
STORE = f"UPDATE run SET status = $4, result = $5, lease_until_ms = 0 WHERE {OURS} RETURNING epoch"
FREE = f"UPDATE run SET owner = '', lease_until_ms = 0, attempts = attempts - $4 WHERE {OURS} RETURNING epoch"
RESULT = "SELECT status, result FROM run WHERE plan = $1 AND key = $2 AND status <> ''"


class PostgresRuns:
    """See `ports.fencing.RunFences`.

    Args:
        clock: decides over leases instead of the server's own; for tests.
    """

    def __init__(self, server: PostgresServer, *, clock: Clock | None = None) -> None:
        self._server = server
        self._clock = clock

    async def start(
        self, run: RunName, *, owner: str, lease_ms: int, position: int = 0, generation: int = 0
    ) -> StartAnswer:
        """Take a run whose lease is over, or that is ours already, in one statement."""
        async with self._server.writing() as connection:
            while True:
                taken = await connection.fetchrow(
                    self._timed(START), run.plan, run.key, owner, lease_ms, generation, position
                )
                if taken is not None:
                    return Started(taken["epoch"], taken["attempts"])
                found = await connection.fetchrow(LOOK, run.plan, run.key)
                if found is not None:
                    return Ended(found["status"]) if found["status"] else Held(found["lease_until_ms"])

    async def renew(self, run: RunName, *, epoch: int, lease_ms: int) -> bool:
        """Extend the lease to `lease_ms` from now; False where the run is not ours any more."""
        return await self._write(self._timed(RENEW), run, epoch, lease_ms)

    async def store(self, run: RunName, *, epoch: int, status: RunEnding, result: bytes) -> None:
        """End a run and write what it has found."""
        if not await self._write(STORE, run, epoch, status, result):
            raise StaleRead(
                f"run of plan {run.plan!r} over {run.key}",
                value=epoch,
                advice="it is not ours any more: accept nothing",
            )

    async def free(self, run: RunName, *, epoch: int, is_counted: bool = True) -> bool:
        """Give a run back before the end of its lease."""
        return await self._write(FREE, run, epoch, 0 if is_counted else 1)

    async def result(self, run: RunName) -> tuple[RunEnding, bytes] | None:
        """Return how a run ended and what it has found; None while it has not ended."""
        async with self._server.reading() as connection:
            found = await connection.fetchrow(RESULT, run.plan, run.key)
        return None if found is None else (found["status"], found["result"])

    async def _write(self, statement: str, run: RunName, epoch: int, *values: Any) -> bool:
        """Run a statement that changes a row only under its fence; False where it changed none."""
        async with self._server.writing() as connection:
            return await connection.fetchval(statement, run.plan, run.key, epoch, *values) is not None

    def _timed(self, statement: str) -> str:
        return statement.format(now=NOW if self._clock is None else f"{self._clock.now_ms()}::bigint")
