"""Claims what there is room for, by weight, and sends it to the engine with the most room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import structlog

from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import EngineHello, Frame, ToEngine
from gristmill.domain.log import Delivery
from gristmill.engine.core.draw import DrawRound
from gristmill.engine.core.recovery import diagnose_crash
from gristmill.engine.dispatch.desk import Desk
from gristmill.engine.dispatch.feed import Feed
from gristmill.engine.dispatch.settle import Settlement
from gristmill.engine.link import DispatcherLink
from gristmill.ports.clock import Random
from gristmill.ports.faults import fault

__all__ = ["Filler"]

IDLE_MS_MAX = 1_000
"""The safety net under all events: an idle dispatcher looks at its topics no less often."""

_log = structlog.get_logger()


class Filler:
    """The one loop that claims. It waits for records, for room, and for rates and back-offs to run out."""

    def __init__(
        self, desk: Desk, feeds: Sequence[Feed], link: DispatcherLink, random: Random, settlement: Settlement
    ) -> None:
        self._desk = desk
        self._feeds = {feed.generator.type: feed for feed in feeds}
        self._link = link
        self._random = random
        self._settlement = settlement
        self._capacities: dict[str, int] = {}
        self._frame_id = 0
        self.is_closed = False
        self.is_claiming = False

    def add_engine(self, hello: EngineHello) -> None:
        """Send frames to this engine too."""
        self._capacities[hello.owner] = hello.capacity
        self._desk.room.set()

    def remove_engine(self, engine: str) -> None:
        """Send nothing to this engine any more."""
        self._capacities.pop(engine, None)

    def close(self) -> None:
        """Claim no more, at once and for good."""
        self.is_closed = True
        self._desk.note_change()

    async def tell_all(self, message: ToEngine) -> None:
        """Send a message to every engine."""
        for engine in list(self._capacities):
            with suppress(Unavailable):
                await self._link.send(engine, message)

    async def run(self) -> None:
        """Claim until closed."""
        while not self.is_closed:
            self.is_claiming = True
            count = await self._fill()
            self.is_claiming = False
            if not count and not self.is_closed:
                await self._idle()
        self._desk.note_change()

    async def _fill(self) -> int:
        """Claim one round and return how many records that were."""
        room = self._room()
        if not room:
            return 0
        round_ = DrawRound(feed.candidate() for feed in self._feeds.values())
        total = 0
        while room > 0 and (shares := round_.share(room, self._random)):
            for name, count in shares.items():
                given = await self._claim_share(self._feeds[name], count)
                if given < count:
                    round_.leave(name)
                room -= given
                total += given
        return total

    async def _claim_share(self, feed: Feed, count: int) -> int:
        """Claim up to `count` records for the engines with the most room and return how many there were."""
        given = 0
        while given < count and not self.is_closed:
            room, engine = max(self._rooms(), default=(0, ""))
            wanted = min(room, count - given)
            if wanted == 0:
                break
            deliveries = await feed.claim(wanted, engine=engine)
            given += len(deliveries)
            await self._hand_out(feed, engine, deliveries)
            if len(deliveries) < wanted:
                break
        return given

    def _room(self) -> int:
        return min(self._desk.in_flight.free, sum(room for room, _ in self._rooms()))

    def _rooms(self) -> list[tuple[int, str]]:
        count_of = self._desk.in_flight.count_of_engine
        return [(max(0, capacity - count_of(engine)), engine) for engine, capacity in self._capacities.items()]

    async def _idle(self) -> None:
        """Wait for room when there is none; else for records of those that may give, or until others may."""
        desk = self._desk
        if not self._room():
            await desk.room.wait()
            return
        topics: list[str] = []
        pauses_ms = [IDLE_MS_MAX]
        for feed in self._feeds.values():
            if feed.candidate().room:
                topics += feed.topics
            elif pause_ms := feed.ready_in_ms():
                pauses_ms.append(pause_ms)
        timeout_ms = min(pauses_ms)
        try:
            if topics:
                await desk.room.wait_or(desk.log.wait(topics, timeout_ms=timeout_ms))
                return
        except Unavailable as error:
            _log.warning("log cannot be waited on", error=str(error))
        await desk.room.wait_for(desk.clock, timeout_ms=timeout_ms)

    async def _hand_out(self, feed: Feed, engine: str, deliveries: Sequence[Delivery]) -> None:
        healthy: list[Delivery] = []
        for delivery in deliveries:
            if delivery.attempt > self._desk.settings.deliveries_max:
                self._give_up(feed, delivery)
            else:
                healthy.append(delivery)
        for part in self._cut(healthy):
            await self._send(feed.generator.type, engine, part)

    def _give_up(self, feed: Feed, delivery: Delivery) -> None:
        """Whoever works on this record dies: it must not be handed out again."""
        desk, generator = self._desk, feed.generator.type
        desk.metrics.crashed.labels(generator).inc()
        sent = desk.in_flight.add_detached(delivery, generator=generator, now_ms=desk.now_ms())
        self._settlement.put_dead(sent, diagnose_crash(delivery, recovery_topic=feed.recovery_topic))

    def _cut(self, deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
        """Cut into frames by count and bytes."""
        settings = self._desk.settings
        part: list[Delivery] = []
        size = 0
        for delivery in deliveries:
            if part and (
                len(part) >= settings.frame_records_max or size + len(delivery.value) > settings.frame_bytes_max
            ):
                yield part
                part, size = [], 0
            part.append(delivery)
            size += len(delivery.value)
        if part:
            yield part

    async def _send(self, generator: str, engine: str, part: Sequence[Delivery]) -> None:
        desk = self._desk
        if self.is_closed or engine not in self._capacities:
            for delivery in part:
                desk.in_flight.add_detached(delivery, generator=generator, now_ms=desk.now_ms())
            self._settlement.put_return([delivery.lease for delivery in part])
            return
        self._frame_id += 1
        desk.in_flight.add(part, generator=generator, engine=engine, now_ms=desk.now_ms())
        desk.metrics.sent.labels(generator).inc(len(part))
        desk.metrics.in_flight.set(len(desk.in_flight))
        try:
            await self._link.send(engine, Frame(self._frame_id, generator, tuple(part)))
        except Unavailable:
            # Its end is on the way as an event of the link; what it holds is handed back then.
            _log.warning("engine cannot be reached", engine=engine)
        fault("frame.sent")
