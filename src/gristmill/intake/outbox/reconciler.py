"""Finds publications that were confirmed and then lost, and has them sent again."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from gristmill.domain.outbox import OutboxRow
from gristmill.intake.outbox.core import GENERATIONS_MAX, by_topic
from gristmill.intake.outbox.metrics import OutboxMetrics
from gristmill.ports.log import Log
from gristmill.ports.outbox import UNSETTLED_PER_CALL_MAX, Outbox, Outlet

__all__ = ["Reconciler"]

LETTERS_PER_READ = 10_000

_log = structlog.get_logger()


class Reconciler:
    """Looks at publications until they came to something.

    One that left no run for ten minutes, is no record of the log any more and no dead letter either was lost there:
    by a server that forgot, or by somebody who deleted it. It is published again, as the next generation.
    """

    def __init__(self, outbox: Outbox, outlet: Outlet, log: Log, metrics: OutboxMetrics) -> None:
        self._outbox = outbox
        self._outlet = outlet
        self._log = log
        self._metrics = metrics

    async def run_once(self) -> int:
        """Look at all that is due; return how many were sent again.

        Raises:
            Unavailable: state or log cannot be reached; what was not looked at stays.
        """
        again = 0
        while True:
            late, looked_count = await self._outbox.unsettled(limit=UNSETTLED_PER_CALL_MAX)
            for topic, indexes in by_topic(late).items():
                again += await self._judge(topic, [late[index] for index in indexes])
            if looked_count < UNSETTLED_PER_CALL_MAX or again >= UNSETTLED_PER_CALL_MAX:
                return again

    async def _judge(self, topic: str, rows: Sequence[OutboxRow]) -> int:
        offsets = {row.position for row in rows if row.position is not None}
        present = await self._outlet.present(topic, offsets)
        gone = [row for row in rows if row.position not in present]
        if not gone:
            return 0
        dead = await self._dead_of(topic)
        lost = [row for row in gone if row.position not in dead]
        given_up = [row for row in lost if row.generation >= GENERATIONS_MAX]
        for row in given_up:
            _log.error("publication leaves no trace", topic=topic, item_id=row.item_id, generation=row.generation)
        await self._outbox.drop([*(row for row in gone if row.position in dead), *given_up])
        count = await self._outbox.send_again([row for row in lost if row.generation < GENERATIONS_MAX])
        if count:
            self._metrics.reconciled.inc(count)
            _log.warning("publications were lost in the log and are sent again", topic=topic, count=count)
        return count

    async def _dead_of(self, topic: str) -> set[int]:
        """Return the offsets of all open dead letters of a topic."""
        offsets: set[int] = set()
        after = 0
        while True:
            page = await self._log.dead_letters(topic=topic, after=after, limit=LETTERS_PER_READ, has_values=False)
            offsets.update(letter.offset for letter in page)
            if len(page) < LETTERS_PER_READ:
                return offsets
            after = page[-1].dead_letter_id
