"""Sends rows of the outbox as soon as they are committed, and again and again while the log is away."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from gristmill.domain.errors import ConfigError, Unavailable, UsageError
from gristmill.domain.outbox import OutboxRow, Refused, SendOutcome, Sent, Unsent
from gristmill.intake.outbox.core import by_topic, decide_retry_ms, describe_overdue
from gristmill.intake.outbox.metrics import OutboxMetrics
from gristmill.ports.clock import Clock
from gristmill.ports.outbox import ROWS_PER_PASS_MAX, Outbox, Outlet

__all__ = ["OutboxPump"]

SCAN_MS = 1_000
"""Rows ring a bell; this is for rings that got lost, for rows that were refused, and while the log is away."""

ERROR_CHARS_MAX = 500
ALARM_AGAIN_MS = 60_000

_log = structlog.get_logger()


class OutboxPump:
    """One service. Several may run at once: each row is sent by one of them at a time.

    Attributes:
        alarm: what is wrong where rows wait for too long, empty where none does.
    """

    def __init__(self, outbox: Outbox, outlet: Outlet, clock: Clock, metrics: OutboxMetrics) -> None:
        self._outbox = outbox
        self._outlet = outlet
        self._clock = clock
        self._metrics = metrics
        self._problem = ""
        self._problem_now = ""
        self._has_more = False
        self._alarmed_at_us: int | None = None
        self.alarm = ""

    async def run(self) -> None:
        """Send for ever; whatever fails is tried again after SCAN_MS."""
        while True:
            try:
                await self.run_once()
                if not self._problem and not self._has_more:
                    await self._outbox.wait(timeout_ms=SCAN_MS)
            except Unavailable as error:
                self._note_problem(str(error))
            except Exception as error:
                # Nothing may end it: what is committed has to be sent one day.
                _log.exception("outbox pass failed")
                self._note_problem(repr(error))
            if self._problem:
                await self._clock.sleep_ms(SCAN_MS)

    async def run_once(self) -> int:
        """Send all that is due, let go of what is confirmed, and look how much is left; return how much was sent.

        Raises:
            Unavailable: the state cannot be reached; a log that cannot be is noted, and what is left stays.
        """
        handled = 0
        self._problem_now = ""
        while (count := await self._outbox.dispatch(self._send, limit=ROWS_PER_PASS_MAX)) and not self._problem_now:
            handled += count
        handled += count
        self._has_more = not self._problem_now and await self._clean_up()
        self._note_problem(self._problem_now)
        await self._measure()
        return handled

    async def _send(self, rows: Sequence[OutboxRow]) -> list[SendOutcome]:
        outcomes: list[SendOutcome] = [Unsent()] * len(rows)
        for topic, indexes in by_topic(rows).items():
            if self._problem_now:
                break
            found = await self._send_topic(topic, [rows[index] for index in indexes])
            for index, outcome in zip(indexes, found, strict=True):
                outcomes[index] = outcome
        for row, outcome in zip(rows, outcomes, strict=True):
            self._metrics.dispatches.labels(row.topic, type(outcome).__name__.lower()).inc()
        return outcomes

    async def _send_topic(self, topic: str, rows: Sequence[OutboxRow]) -> list[SendOutcome]:
        """Send rows in one call, or each alone where the log will not have one of them."""
        try:
            return [Sent(position) for position in await self._outlet.append(topic, rows)]
        except (Unavailable, ConfigError) as error:
            self._problem_now = str(error)
            return [Unsent()] * len(rows)
        except UsageError as error:
            if len(rows) == 1:
                return [self._refuse(rows[0], str(error))]
        outcomes: list[SendOutcome] = []
        for row in rows:
            outcomes += [Unsent()] if self._problem_now else await self._send_topic(topic, [row])
        return outcomes

    def _refuse(self, row: OutboxRow, error: str) -> Refused:
        pause_ms = decide_retry_ms(row.attempts)
        _log.warning("outbox row refused", topic=row.topic, outbox_id=row.outbox_id, error=error, again_in_ms=pause_ms)
        return Refused(error[:ERROR_CHARS_MAX], self._clock.now_ms() + pause_ms)

    async def _clean_up(self) -> bool:
        """Let go of some confirmed rows and return whether there may be more."""
        try:
            return await self._outbox.clean_up(self._outlet.forget, limit=ROWS_PER_PASS_MAX) == ROWS_PER_PASS_MAX
        except (Unavailable, ConfigError) as error:
            self._problem_now = str(error)
            return False

    def _note_problem(self, problem: str) -> None:
        """Tell once that the log cannot be reached, and once that it can again."""
        if bool(problem) != bool(self._problem):
            if problem:
                _log.warning("outbox waits", error=problem)
            else:
                _log.info("outbox is sent again")
        self._problem = problem

    async def _measure(self) -> None:
        now_ms = self._clock.now_ms()
        standing = await self._outbox.standing()
        self._metrics.pending.set(standing.pending)
        age_ms = 0 if standing.oldest_at_ms is None else max(0, now_ms - standing.oldest_at_ms)
        self._metrics.oldest_age.set(age_ms / 1_000)
        self.alarm = describe_overdue(standing, now_ms=now_ms, problem=self._problem)
        now_us = self._clock.monotonic_us()
        if not self.alarm:
            self._alarmed_at_us = None
        elif self._alarmed_at_us is None or now_us - self._alarmed_at_us >= ALARM_AGAIN_MS * 1_000:
            self._alarmed_at_us = now_us
            _log.error("outbox is overdue", what=self.alarm)
