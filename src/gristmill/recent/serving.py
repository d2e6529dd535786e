"""Keeps a store of recent items filled from the topic of frames, and answers once it has caught up.

Every instance reads the whole topic by itself, from its oldest record and without a group, so each holds everything.
One loop reads, writes and answers: no two writes at once, and no answer in the middle of one. Writes are cut into
slices, and queries get their turn between two of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import structlog

from gristmill.domain.errors import DataError, Unavailable
from gristmill.domain.log import StoredRecord
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.recent.core.answer import Answer
from gristmill.recent.core.bad import BadRecords
from gristmill.recent.core.event import EventRows
from gristmill.recent.core.frames import check_frame, read_records
from gristmill.recent.core.gate import Gate
from gristmill.recent.core.request import LatestRequest
from gristmill.recent.ending import end_tasks
from gristmill.recent.metrics import ServingMetrics
from gristmill.recent.store import RecentStore

__all__ = ["RecentServing"]

ROWS_PER_SLICE_CATCHING_UP = 10_000
ROWS_PER_SLICE = 1_000
LOOK_MS = 1_000
RETRY_MS = 100
QUIET_MS = 60_000
"""Reading that failed longer ago has gone well since, whether or not anything came in."""

SWEEP_EVERY_MS = 120_000
EXPIRE_EVERY_MS = 1_000
CATCH_UP_ALARM_MS = 900_000
GIVE_UP_MS = 600_000
"""A log that cannot be read for so long: another start may find a better one."""

US_PER_MS = 1_000
US_PER_S = 1_000_000

_log = structlog.get_logger()


class RecentServing:
    """One instance; `run` it once.

    Args:
        topic: of frames.
    """

    def __init__(
        self, store: RecentStore, log: Log, clock: Clock, *, topic: str, gate: Gate, metrics: ServingMetrics
    ) -> None:
        self.store = store
        self.gate = gate
        self.bad = BadRecords()
        self.init_ms = 0
        """How long it took to catch up; 0 until then."""
        self._log = log
        self._clock = clock
        self._topic = topic
        self._metrics = metrics
        self._failing_since_us: int | None = None
        self._failed_at_us = 0

    async def run(self) -> None:
        """Catch up, then follow the log for ever.

        Raises:
            Unavailable: the log cannot be read at the start, or has not been for ten minutes.
        """
        self.gate.on_start(end=await self._log.end(self._topic))
        tasks = [asyncio.create_task(work()) for work in (self._read, self._look, self._expire, self._sweep)]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks(tasks)
        for task in ended:
            # One of them has ended: without it what is served would grow old in silence.
            _log.error("recent items are no longer kept", topic=self._topic, error=str(task.exception()))
            task.result()

    def latest(self, request: LatestRequest, *, timeout_ms: int = 0) -> Answer:
        """Return the newest items of authors.

        Args:
            timeout_ms: then the answer is partial; 0 for none.
        Raises:
            Unavailable: not everything has been read yet, so items would be missing.
            UsageError: an algorithm that does not exist.
        """
        self.require_open()
        began_us = self._clock.monotonic_us()
        until_us = began_us + timeout_ms * US_PER_MS
        answer = self.store.latest(
            request,
            now_ms=self._clock.now_ms(),
            is_over=lambda: bool(timeout_ms) and self._clock.monotonic_us() >= until_us,
            stale=self.gate.state == "stale",
        )
        self._metrics.queries.labels(request.mode, "partial" if answer.partial else "whole").inc()
        self._metrics.query_seconds.observe((self._clock.monotonic_us() - began_us) / US_PER_S)
        self._metrics.returned.observe(len(answer.rows))
        self._metrics.visited.observe(answer.visited)
        return answer

    def require_open(self) -> None:
        """Refuse while an answer would not be whole.

        Raises:
            Unavailable: it has not caught up.
        """
        if not self.gate.is_open:
            advice = f"{self.gate.read} of {self.gate.target} records are read; ask again when /readyz says 200"
            raise Unavailable("store of recent items is not ready", value=self.gate.state, advice=advice)

    def drain(self) -> None:
        """Ask for no further query; those that come are answered."""
        self.gate.on_drain()

    async def _read(self) -> None:
        began_us = self._clock.monotonic_us()
        place = await self._catch_up()
        self.store.finalise(now_ms=self._clock.now_ms())
        self.init_ms = (self._clock.monotonic_us() - began_us) // US_PER_MS
        self.gate.on_caught_up()
        _log.info("recent items are ready", topic=self._topic, read=self.gate.read, took_ms=self.init_ms)
        await self._follow(place)

    async def _catch_up(self) -> int:
        """Read all that the log holds; return the offset after which to go on."""
        place, has_read = 0, False
        while True:
            try:
                async for records in self._log.read_all(self._topic, after=place):
                    await self._apply(records)
                    place, has_read = self._place_after(records), True
                return place
            except Unavailable as error:
                if not has_read:
                    raise
                await self._wait_out(error)
                self._begin_again()

    async def _follow(self, place: int) -> None:
        # Over partitions an offset does not say where to go on: everything is read again, which changes nothing.
        self._begin_again()
        while True:
            try:
                async for records in self._log.read_all(self._topic, after=place, until_end=False):
                    await self._apply(records)
                    place = self._place_after(records)
            except Unavailable as error:
                await self._wait_out(error)
                self._begin_again()

    def _place_after(self, records: Sequence[StoredRecord]) -> int:
        return 0 if self._is_partitioned else records[-1].offset

    @property
    def _is_partitioned(self) -> bool:
        return "partitioned" in self._log.capabilities

    def _begin_again(self) -> None:
        if self._is_partitioned:
            self.gate.on_new_pass()

    async def _wait_out(self, error: Unavailable) -> None:
        now_us = self._clock.monotonic_us()
        if self._failing_since_us is None or now_us - self._failed_at_us > QUIET_MS * US_PER_MS:
            self._failing_since_us = now_us
        self._failed_at_us = now_us
        if now_us - self._failing_since_us > GIVE_UP_MS * US_PER_MS:
            raise error
        self._metrics.poll_errors.inc()
        _log.warning("recent items cannot be read on", topic=self._topic, error=str(error))
        await self._clock.sleep_ms(RETRY_MS)

    async def _apply(self, records: Sequence[StoredRecord]) -> None:
        self._failing_since_us = None
        every = self._decode(records)
        step = ROWS_PER_SLICE if self.gate.is_open else ROWS_PER_SLICE_CATCHING_UP
        for start in range(0, len(every), step):
            began_us = self._clock.monotonic_us()
            self.store.apply(every[start : start + step], now_ms=self._clock.now_ms())
            self._metrics.slice_seconds.observe((self._clock.monotonic_us() - began_us) / US_PER_S)
            await asyncio.sleep(0)
        self.bad.on_read(len(records))
        self.gate.on_records(len(records), appended_at_ms=max(record.appended_at_ms for record in records))

    def _decode(self, records: Sequence[StoredRecord]) -> EventRows:
        """Return the events of all records; what cannot be used is counted and kept for people to look at."""
        contents: list[memoryview] = []
        for record in records:
            if not record.value:
                self.store.note_faults(empty=1)
                continue
            try:
                content = check_frame(record.value)
            except DataError as error:
                self.store.note_faults(decode_failed=1)
                self.bad.note(record.offset, str(error), record.value)
                continue
            contents.append(content)
        decoded = read_records(b"".join(contents))
        if decoded.unknown:
            self.store.note_faults(unknown_kind=decoded.unknown)
            reason = f"{decoded.unknown} events up to here are of kinds that this version does not know"
            self.bad.note(records[-1].offset, reason, records[-1].value)
        return decoded.rows

    async def _look(self) -> None:
        began_us, has_alarmed = self._clock.monotonic_us(), False
        while True:
            await self._clock.sleep_ms(LOOK_MS)
            try:
                self.gate.on_look(end=await self._log.end(self._topic), now_ms=self._clock.now_ms())
            except Unavailable as error:
                _log.warning("lag of recent items cannot be looked at", topic=self._topic, error=str(error))
            is_late = self._clock.monotonic_us() - began_us > CATCH_UP_ALARM_MS * US_PER_MS
            if is_late and not has_alarmed and self.gate.state == "catching_up":
                has_alarmed = True
                _log.error("recent items have not caught up", read=self.gate.read, target=self.gate.target)

    async def _expire(self) -> None:
        async for _ in _ticks(self._clock, EXPIRE_EVERY_MS):
            is_more = True
            while is_more:
                is_more = self.store.expire(now_ms=self._clock.now_ms())
                await asyncio.sleep(0)

    async def _sweep(self) -> None:
        async for _ in _ticks(self._clock, SWEEP_EVERY_MS):
            self.store.sweep()


async def _ticks(clock: Clock, every_ms: int) -> AsyncIterator[None]:
    """Yield once every so often, the first time after one interval; what was missed is not made up for."""
    while True:
        await clock.sleep_ms(every_ms)
        yield
