"""Item ids in this process: issued from memory and fetched ahead in segments, not while a record waits."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import structlog

from gristmill.domain.errors import IdUnavailable, Unavailable
from gristmill.domain.ids import ItemId, Segment, SegmentBuffer
from gristmill.engine.core.backoff import Backoff
from gristmill.engine.wake import Wake, wait_first
from gristmill.ports.clock import Clock
from gristmill.ports.state import State

__all__ = ["ItemIds"]

NAMESPACE = "items"
STEP_MIN = 1_000
STEP_MAX = 1_000_000
STEP_USE_MS = 600_000
"""A segment should last ten minutes: seldom enough for the store, short enough that a restart wastes little."""

REFILL_BELOW = 0.2
"""Share of a segment that is left when the next one is fetched."""

DRY_WAIT_MS = 50
"""How long a caller waits when there is no id; then it may acknowledge nothing."""

_log = structlog.get_logger()


class ItemIds:
    """Issues ids; `run` must run beside it and fetches segments."""

    def __init__(self, state: State, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._buffer = SegmentBuffer()
        self._spare: Segment | None = None
        self._step = STEP_MIN
        self._fetched_at_ms: int | None = None
        self._wanted = Wake()
        self._fetched = asyncio.Event()

    async def run(self) -> None:
        """Fetch the next segment whenever it is wanted, for ever."""
        backoff = Backoff()
        while True:
            try:
                if self._is_low():
                    await self._fetch()
                backoff.on_success()
                await self._wanted.wait()
            except Unavailable as error:
                pause_ms = backoff.on_failure(now_ms=self._clock.now_ms())
                _log.warning("no segment of item ids", error=str(error), retry_in_ms=pause_ms)
                await self._clock.sleep_ms(pause_ms)

    async def issue(self, count: int) -> list[ItemId]:
        """Return `count` new ids.

        Raises:
            IdUnavailable: there is none and none came within 50 ms. Ids drawn until then become gaps.
        """
        issued: list[ItemId] = []
        if self._spare is not None and self._spare.day > self._buffer.day:
            self._go_over(self._spare)
        while len(issued) < count:
            item_id = self._buffer.try_issue()
            if item_id is not None:
                issued.append(item_id)
            elif self._spare is not None:
                self._go_over(self._spare)
            else:
                await self._wait_for_segment()
        if self._is_low():
            self._wanted.set()
        return issued

    def _is_low(self) -> bool:
        if self._spare is not None:
            return False
        return self._buffer.left < self._step * REFILL_BELOW or self._buffer.day < self._today()

    def _go_over(self, segment: Segment) -> None:
        self._buffer.fill(segment)
        self._spare = None

    async def _wait_for_segment(self) -> None:
        self._fetched.clear()
        self._wanted.set()
        await wait_first(self._fetched.wait(), self._clock.sleep_ms(DRY_WAIT_MS))
        if self._spare is None:
            raise IdUnavailable("no item id in time", value=NAMESPACE, advice="the record is delivered again later")

    async def _fetch(self) -> None:
        now_ms = self._clock.now_ms()
        if self._fetched_at_ms is not None:
            used = self._step * STEP_USE_MS // max(1, now_ms - self._fetched_at_ms)
            self._step = min(STEP_MAX, max(STEP_MIN, used))
        self._fetched_at_ms = now_ms
        self._spare = await self._state.take_segment(NAMESPACE, day=self._today(), step=self._step)
        self._fetched.set()

    def _today(self) -> int:
        moment = datetime.fromtimestamp(self._clock.now_ms() / 1_000, UTC)
        return moment.year * 10_000 + moment.month * 100 + moment.day
