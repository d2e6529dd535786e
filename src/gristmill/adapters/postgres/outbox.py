"""The outbox port over PostgreSQL: any number of processes send, each holding the rows it sends by their locks."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog

from gristmill.adapters.checks import check_limit
from gristmill.adapters.postgres import rows as table
from gristmill.adapters.postgres.server import PostgresServer
from gristmill.adapters.waiting import TopicBells
from gristmill.domain.errors import Unavailable
from gristmill.domain.outbox import (
    LOST_AFTER_MS,
    NOISE_BYTES,
    NewOutboxRow,
    OutboxRow,
    OutboxStanding,
    Refused,
    Sent,
    compute_outbox_id,
    decide_look_ms,
)
from gristmill.ports.clock import Clock
from gristmill.ports.faults import fault
from gristmill.ports.outbox import ROWS_PER_PASS_MAX, UNSETTLED_PER_CALL_MAX, Send

__all__ = ["PostgresOutbox"]

COLUMN_COUNT = 12
BELL = "outbox"

_log = structlog.get_logger()


class PostgresOutbox:
    """See `ports.outbox.Outbox`. Times of rows are those of `clock`."""

    def __init__(self, server: PostgresServer, clock: Clock) -> None:
        self.server = server
        self._clock = clock
        self._bells = TopicBells(clock)
        self._channel = f"{server.target.schema}_outbox"
        self._listening: Any = None

    async def add(self, rows: Sequence[NewOutboxRow]) -> list[str]:
        """Add rows in a transaction of their own and return their ids."""
        async with self.server.writing() as connection:
            return await self.add_in(connection, rows)

    async def add_in(
        self, connection: Any, rows: Sequence[NewOutboxRow], *, generations: Sequence[int] = ()
    ) -> list[str]:
        """Add rows in a transaction that is open on a connection; whoever waits is woken when it is committed."""
        now_ms = self._clock.now_ms()
        ids = [compute_outbox_id(now_ms, os.urandom(NOISE_BYTES)) for _ in rows]
        numbers = generations or [0] * len(rows)
        packed = [
            table.pack_row(row, outbox_id, now_ms=now_ms, generation=generation)
            for row, outbox_id, generation in zip(rows, ids, numbers, strict=True)
        ]
        await connection.executemany(table.INSERT, packed)
        await connection.execute("SELECT pg_notify($1, '')", self._channel)
        return ids

    async def dispatch(self, send: Send, *, limit: int = ROWS_PER_PASS_MAX) -> int:
        """Lock due rows in one statement, hand them to `send`, and write down what became of them."""
        check_limit(limit)
        async with self.server.writing() as connection:
            found = await connection.fetch(table.DUE, self._clock.now_ms(), limit)
            due = [table.unpack_row(row) for row in found]
            if not due:
                return 0
            outcomes = await send(due)
            fault("outbox.sent")
            now_ms = self._clock.now_ms()
            pairs = list(zip(due, outcomes, strict=True))
            sent = [(now_ms, one.position, row.outbox_id) for row, one in pairs if isinstance(one, Sent)]
            refused = [(one.next_at_ms, one.error, row.outbox_id) for row, one in pairs if isinstance(one, Refused)]
            await connection.executemany(table.CONFIRM, sent)
            await connection.executemany(table.REFUSE, refused)
        fault("outbox.confirmed")
        return len(sent) + len(refused)

    async def clean_up(
        self, forget: Callable[[Sequence[OutboxRow]], Awaitable[None]], *, limit: int = ROWS_PER_PASS_MAX
    ) -> int:
        """Have rows that are confirmed forgotten, then let go of them."""
        check_limit(limit)
        async with self.server.writing() as connection:
            confirmed = [table.unpack_row(row) for row in await connection.fetch(table.CONFIRMED, limit)]
            if confirmed:
                await forget(confirmed)
                fault("outbox.forgotten")
                await _delete(connection, [row for row in confirmed if row.item_id is None])
                await _watch(connection, [row for row in confirmed if row.item_id is not None], self._clock.now_ms())
        return len(confirmed)

    async def unsettled(self, *, limit: int = UNSETTLED_PER_CALL_MAX) -> tuple[list[OutboxRow], int]:
        """Look at publications that were sent; let go of those that came to something."""
        check_limit(limit)
        now_ms = self._clock.now_ms()
        async with self.server.writing() as connection:
            found = await connection.fetch(table.UNSETTLED, now_ms, limit)
            looked = [(table.unpack_row(row[:COLUMN_COUNT]), row["is_settled"], row["is_live"]) for row in found]
            await _delete(connection, [row for row, is_settled, _ in looked if is_settled])
            await _watch(connection, [row for row, is_settled, _ in looked if not is_settled], now_ms)
        late = [row for row, is_settled, is_live in looked if not is_settled and not is_live]
        return [row for row in late if now_ms - row.created_at_ms > LOST_AFTER_MS], len(looked)

    async def send_again(self, rows: Sequence[OutboxRow]) -> int:
        """Replace rows by new ones of the next generation."""
        async with self.server.writing() as connection:
            gone = await _delete(connection, rows)
            there = [row for row in rows if row.outbox_id in gone]
            new = [NewOutboxRow(row.topic, row.record, row.item_id) for row in there]
            await self.add_in(connection, new, generations=[row.generation + 1 for row in there])
        return len(there)

    async def drop(self, rows: Sequence[OutboxRow]) -> None:
        """Let go of rows."""
        async with self.server.writing() as connection:
            await _delete(connection, rows)

    async def standing(self) -> OutboxStanding:
        """Return how much waits to be sent."""
        async with self.server.reading() as connection:
            row = await connection.fetchrow(table.STANDING)
        return OutboxStanding(row["pending"], row["oldest_at_ms"], row["last_error"] or "")

    async def wait(self, *, timeout_ms: int) -> None:
        """Return when rows may have been added, or after `timeout_ms`; a cut connection only costs the waking."""
        try:
            await self._listen()
        except Unavailable as error:
            _log.debug("outbox hears no bell", error=str(error))
        await self._bells.wait([BELL], timeout_ms=timeout_ms)

    async def close(self) -> None:
        """Stop to listen; the server is closed by whoever opened it."""
        listening, self._listening = self._listening, None
        if listening is not None and not listening.is_closed():
            await listening.close()

    async def _listen(self) -> None:
        if self._listening is None or self._listening.is_closed():
            self._listening = await self.server.listen(self._channel, self._on_notice)

    def _on_notice(self, *_: object) -> None:
        self._bells.ring([BELL])


async def _delete(connection: Any, rows: Sequence[OutboxRow]) -> set[str]:
    """Delete rows and return the ids of those that were there."""
    ids = [row.outbox_id for row in rows]
    gone = await connection.fetch("DELETE FROM outbox WHERE outbox_id = ANY($1) RETURNING outbox_id", ids)
    return {row["outbox_id"] for row in gone}


async def _watch(connection: Any, rows: Sequence[OutboxRow], now_ms: int) -> None:
    due = [(now_ms + decide_look_ms(max(0, now_ms - row.created_at_ms)), row.outbox_id) for row in rows]
    await connection.executemany("UPDATE outbox SET stage = 2, next_at_ms = $1 WHERE outbox_id = $2", due)
