"""The outbox port over one SQLite file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from gristmill.adapters.checks import check_limit
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.log import SqliteLog
from gristmill.adapters.sqlite.outbox import rows as table
from gristmill.domain.outbox import LOST_AFTER_MS, NewOutboxRow, OutboxRow, OutboxStanding
from gristmill.ports.clock import Clock
from gristmill.ports.faults import fault
from gristmill.ports.outbox import ROWS_PER_PASS_MAX, UNSETTLED_PER_CALL_MAX, Send

__all__ = ["OUTBOX_BELL", "SqliteOutbox"]

OUTBOX_BELL = "~outbox"
"""Rung on the doorbell of the store like a topic; no topic begins like this."""

ROW_US = 8
"""Work of one row inside a turn, generously."""


class SqliteOutbox:
    """See `ports.outbox.Outbox`. Of all processes that open a file one sends at a time; the others find nothing to do.

    Args:
        log: the log of the same store, for its doorbell alone.
    """

    def __init__(self, writer: Writer, reader: Reader, log: SqliteLog, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._log = log
        self._clock = clock
        self._turn_path = f"{writer.file.path}.outbox"

    async def add(self, rows: Sequence[NewOutboxRow]) -> list[str]:
        """Add rows in a turn of their own and return their ids."""
        now_ms = self._clock.now_ms()
        job = Job(lambda turn: table.add_rows(turn, rows, now_ms=now_ms), ROW_US * len(rows), is_awaited=True)
        ids = await self._writer.do(job)
        self.ring()
        return ids

    def ring(self) -> None:
        """Wake whoever waits for rows, here and in other processes."""
        self._log.announce([OUTBOX_BELL])

    async def dispatch(self, send: Send, *, limit: int = ROWS_PER_PASS_MAX) -> int:
        """Hand due rows to `send` and write down what became of them; none while somebody else is sending."""
        check_limit(limit)
        with _try_lock(self._turn_path) as is_ours:
            if not is_ours:
                return 0
            self._log.look(OUTBOX_BELL)
            now_ms = self._clock.now_ms()
            due = await self._reader.do(partial(table.read_due, now_ms=now_ms, limit=limit))
            if not due:
                return 0
            outcomes = await send(due)
            fault("outbox.sent")
            run = partial(table.confirm, rows=due, outcomes=outcomes, now_ms=self._clock.now_ms())
            handled = await self._writer.do(Job(run, ROW_US * len(due)))
            fault("outbox.confirmed")
            return handled

    async def clean_up(
        self, forget: Callable[[Sequence[OutboxRow]], Awaitable[None]], *, limit: int = ROWS_PER_PASS_MAX
    ) -> int:
        """Have rows that are confirmed forgotten, then let go of them."""
        check_limit(limit)
        with _try_lock(self._turn_path) as is_ours:
            confirmed = await self._reader.do(partial(table.read_confirmed, limit=limit)) if is_ours else []
            if not confirmed:
                return 0
            await forget(confirmed)
            fault("outbox.forgotten")
            run = partial(table.watch, rows=confirmed, now_ms=self._clock.now_ms())
            await self._writer.do(Job(run, ROW_US * len(confirmed)))
            return len(confirmed)

    async def unsettled(self, *, limit: int = UNSETTLED_PER_CALL_MAX) -> tuple[list[OutboxRow], int]:
        """Look at publications that were sent; let go of those that came to something."""
        check_limit(limit)
        now_ms = self._clock.now_ms()
        settled, others = await self._reader.do(partial(table.read_unsettled, now_ms=now_ms, limit=limit))
        if not settled and not others:
            return [], 0

        def write(turn: Turn) -> None:
            table.delete(turn, settled)
            table.watch(turn, others, now_ms=now_ms)

        await self._writer.do(Job(write, ROW_US * (len(settled) + len(others))))
        return [row for row in others if now_ms - row.created_at_ms > LOST_AFTER_MS], len(settled) + len(others)

    async def send_again(self, rows: Sequence[OutboxRow]) -> int:
        """Replace rows by new ones of the next generation."""
        now_ms = self._clock.now_ms()

        def write(turn: Turn) -> int:
            there = [row for row in rows if table.delete(turn, [row])]
            new = [NewOutboxRow(row.topic, row.record, row.item_id) for row in there]
            return len(table.add_rows(turn, new, now_ms=now_ms, generations=[row.generation + 1 for row in there]))

        count = await self._writer.do(Job(write, ROW_US * len(rows)))
        self.ring()
        return count

    async def drop(self, rows: Sequence[OutboxRow]) -> None:
        """Let go of rows."""
        await self._writer.do(Job(lambda turn: table.delete(turn, rows), ROW_US * len(rows)))

    async def standing(self) -> OutboxStanding:
        """Return how much waits to be sent."""
        return await self._reader.do(table.read_standing)

    async def wait(self, *, timeout_ms: int) -> None:
        """Return when rows may have been added, or after `timeout_ms`."""
        await self._log.wait([OUTBOX_BELL], timeout_ms=timeout_ms)


@contextmanager
def _try_lock(path: str) -> Iterator[bool]:
    """Hold the lock of a file, or say that somebody else does; the kernel frees it when its holder dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)
