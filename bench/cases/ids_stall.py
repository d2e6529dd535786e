"""ids.stall: how long a caller waits for an id, p99, while the store takes two seconds for each segment.

Demand is 1,157 ids a second (10^8 a day) for some seconds, on the real clock; the segments have grown to what that
demand needs, as they do within two minutes.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.ids import Segment
from gristmill.intake.ids import SegmentIds

WAIT_US_MAX = 1_000.0
"""p99 that callers may see."""

STALL_MS = 2_000
IDS_PER_S = 1_157
WARM_STEP = 32_000


class Stalling:
    """A store that takes its time for each segment."""

    def __init__(self, clock: SystemClock) -> None:
        self._state: Any = MemoryStore(clock).state
        self._clock = clock

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        await self._clock.sleep_ms(STALL_MS)
        segment: Segment = await self._state.take_segment(namespace, day=day, step=max(step, WARM_STEP))
        return segment


def measure_ids_stall(quick: bool) -> Figure:
    """Return the p99 of one measurement in microseconds."""
    return Figure(runs=(asyncio.run(measure(5 if quick else 20)),), unit="us p99", raw=WAIT_US_MAX)


async def measure(seconds: int) -> float:
    clock = SystemClock()
    ids = SegmentIds(Stalling(clock), clock)  # type: ignore[arg-type]
    running = asyncio.create_task(ids.run())
    await clock.sleep_ms(STALL_MS + 100)
    waits_us: list[float] = []
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        while len(waits_us) < spent * IDS_PER_S:
            asked = time.perf_counter()
            await ids.issue(1)
            waits_us.append((time.perf_counter() - asked) * 1e6)
        await clock.sleep_ms(5)
    running.cancel()
    if max(waits_us) > 50_000:
        raise AssertionError(f"a caller waited {max(waits_us):.0f} us")
    return statistics.quantiles(waits_us, n=100)[98]
