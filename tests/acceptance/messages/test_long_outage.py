"""An hour in which a receiver is down: a thousand records by their waits alone, 200 through the whole service."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SeededRandom
from gristmill.adapters.memory import MemoryStore
from gristmill.engine.core.cycle import Cycle
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Jumped
from gristmill.engine.messages.sending import MessageSender
from gristmill.engine.messages.service import MessageService
from gristmill.engine.messages.settings import MessageSettings
from gristmill.engine.runner import RunnerMetrics
from gristmill.testing.clock import FakeClock
from tests.messages.consumers import fresh_metrics, route, table_of

COUNT = 1_000
SERVED_COUNT = 200
"""Each is tried some seventy times, and each try is one of the service."""

OUTAGE_MS = 3_600_000
DONE_WITHIN_MS = 310_000
STEPS_MS = [1_000 << step for step in range(9)]
LATE_MS = 5
"""The clock jumps from wait to wait; where many end together, some begin a little later."""


def test_AC_MS_004_a_thousand_waits_grow_and_start_again_and_do_not_fall_together() -> None:
    cycle, random = Cycle(), SeededRandom(4)
    tries: list[list[int]] = []
    for _ in range(COUNT):
        times = [0]
        while times[-1] < OUTAGE_MS:
            times.append(times[-1] + cycle.compute_delay_ms(len(times), draw=random.uniform()))
        tries.append(times)
    check_waits(tries, late_ms=0)
    assert max(times[-1] for times in tries) <= OUTAGE_MS + DONE_WITHIN_MS
    seconds = Counter(second for times in tries for second in {at_ms // 1_000 for at_ms in times[5:]})
    assert max(seconds.values()) <= COUNT * 0.2


async def test_AC_MS_004_the_service_waits_so_and_is_done_soon_after() -> None:
    clock, table = FakeClock(is_jumping=True), table_of(route("t", order="none"))
    store, metrics = MemoryStore(clock), fresh_metrics()
    started_ms = clock.now_ms()
    tries: defaultdict[str, list[int]] = defaultdict(list)
    done_at_ms: dict[str, int] = {}
    stopping = asyncio.Event()

    async def jump(envelope: Envelope) -> Jumped:
        now_ms = clock.now_ms() - started_ms
        tries[envelope.id].append(now_ms)
        if now_ms < OUTAGE_MS:
            raise ConnectionError("down")
        done_at_ms[envelope.id] = now_ms
        if len(done_at_ms) == SERVED_COUNT:
            stopping.set()
        return "done"

    service = MessageService(
        store.log,
        store.cache,
        clock,
        SeededRandom(4),
        table=table,
        jumps={"plan": jump},
        owner="me",
        order=store.log,
        settings=MessageSettings(normal_workers=SERVED_COUNT, cycle=Cycle()),
        metrics=metrics,
        runner_metrics=RunnerMetrics(CollectorRegistry()),
    )
    await MessageSender(store.log, table, clock, metrics=metrics).send(
        [Envelope(id=str(number), type="t") for number in range(SERVED_COUNT)]
    )
    await service.run(stopping)
    assert max(done_at_ms.values()) <= OUTAGE_MS + DONE_WITHIN_MS
    check_waits(tries.values(), late_ms=LATE_MS)


def check_waits(tries: Iterable[list[int]], *, late_ms: int) -> None:
    """Check each wait between two tries of a record."""
    for times in tries:
        for number, (earlier, later) in enumerate(pairwise(times)):
            step_ms = STEPS_MS[number % len(STEPS_MS)]
            assert 0.8 * step_ms <= later - earlier <= 1.2 * step_ms + late_ms
