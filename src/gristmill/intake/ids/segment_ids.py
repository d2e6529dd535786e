"""Item ids in this process: issued from memory and fetched ahead in segments, not while a record waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo

import structlog

from gristmill.domain.errors import IdUnavailable, Unavailable
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.intake.ids.recent import RecentIds
from gristmill.intake.ids.stock_core import IdStock, Moment, read_moment
from gristmill.ports.clock import Clock
from gristmill.ports.state import INPUT_IDS_PER_CALL_MAX, State

__all__ = ["NAMESPACE", "SegmentIds"]

NAMESPACE = "items"

DRY_WAIT_MS = 50
"""How long a caller waits when there is no id; then it may acknowledge nothing."""

RETRY_MS_MIN = 100
RETRY_MS_MAX = 2_000
"""Pauses between tries while the store gives no segment; the longest is how late its recovery is noticed."""

_log = structlog.get_logger()


class SegmentIds:
    """See `ports.ids.ItemIds`. Each process has one, of one event loop; the store keeps their segments apart.

    Args:
        zone: in which the days of ids begin.
    """

    def __init__(self, state: State, clock: Clock, *, zone: tzinfo = UTC) -> None:
        self._state = state
        self._clock = clock
        self._zone = zone
        self._stock = IdStock()
        self._recent = RecentIds()
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._arrived = asyncio.Event()

    async def run(self) -> None:
        """Fetch the next segment whenever it is wanted, for ever."""
        pause_ms = RETRY_MS_MIN
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                while self._stock.wants_segment(now=self._now()):
                    await self._fetch()
                pause_ms = RETRY_MS_MIN
            except Unavailable as error:
                _log.warning("no segment of item ids", error=str(error), retry_in_ms=pause_ms)
                await self._clock.sleep_ms(pause_ms)
                pause_ms = min(RETRY_MS_MAX, pause_ms * 2)
                self._wanted.set()

    async def issue(self, count: int) -> list[ItemId]:
        """Return `count` new ids, rising.

        Raises:
            IdUnavailable: there is none and none came within 50 ms. Ids drawn until then become gaps.
        """
        issued = self._draw(count)
        while len(issued) < count:
            await self._wait_for_segment()
            issued += self._draw(count - len(issued))
        return issued

    async def resolve(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return the item ids of those input ids that are known."""
        found = self._recent.find(tenant, source, input_ids)
        missing = [input_id for input_id in input_ids if input_id not in found] if found else input_ids
        for part in _parts(missing):
            answer = await self._state.resolve(source, part, tenant=tenant)
            self._recent.add(tenant, source, answer)
            found.update(answer)
        return found

    async def resolve_or_create(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return an item id for every input id, the same one for everybody who asks."""
        found = await self.resolve(source, input_ids, tenant=tenant)
        missing = list(dict.fromkeys(input_id for input_id in input_ids if input_id not in found))
        for part in _parts(missing):
            proposed = dict(zip(part, await self.issue(len(part)), strict=True))
            answer = await self._state.map_ids(source, proposed, tenant=tenant)
            self._recent.add(tenant, source, answer)
            found.update(answer)
        return found

    def _draw(self, count: int) -> list[ItemId]:
        now = self._now()
        issued = self._stock.draw(count, now=now)
        if self._stock.wants_segment(now=now):
            self._wanted.set()
        return issued

    async def _wait_for_segment(self) -> None:
        self._wanted.set()
        waits = [
            asyncio.ensure_future(self._arrived.wait()),
            asyncio.ensure_future(self._clock.sleep_ms(DRY_WAIT_MS)),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            has_arrived = waits[0].done()
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        if not has_arrived:
            raise IdUnavailable("no item id in time", value=NAMESPACE, advice="the record is delivered again later")

    async def _fetch(self) -> None:
        segment = await self._state.take_segment(NAMESPACE, day=self._now().day, step=self._stock.step)
        self._stock.on_fetched(segment)
        # Whoever waits now is told; whoever comes later waits for the next one.
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    def _now(self) -> Moment:
        return read_moment(self._clock.now_ms(), self._zone)


def _parts(input_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut a call into what the store takes at once."""
    for start in range(0, len(input_ids), INPUT_IDS_PER_CALL_MAX):
        yield input_ids[start : start + INPUT_IDS_PER_CALL_MAX]
