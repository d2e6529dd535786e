"""Runners that live as long as a block, handlers that answer by a script, and waiting for what they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.commit import RunCommit
from gristmill.domain.ids import ItemId, compute_run_id
from gristmill.domain.item import Item
from gristmill.domain.log import Lease, NewRecord
from gristmill.domain.outcome import Outcome
from gristmill.engine.runner import Runner, RunnerMetrics, RunnerSettings
from gristmill.ports.handling import Handler, Handling
from gristmill.ports.log import Log

WITHIN_S = 60.0
LOOK_AGAIN_S = 0.01


@asynccontextmanager
async def driving(
    log: Log, handler: Handler, settings: RunnerSettings, *, group: str = "g", **others: Any
) -> AsyncIterator[Runner]:
    """A Runner that works while the block runs, and is stopped cleanly at its end."""
    others.setdefault("metrics", RunnerMetrics(CollectorRegistry()))
    runner = Runner(log, "t", group, handler, settings, clock=SystemClock(), owner=new_owner(), **others)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop))
    try:
        yield runner
    finally:
        stop.set()
        await running


async def until(is_so: Callable[[], bool | Awaitable[bool]], *, within_s: float = WITHIN_S) -> None:
    """Return once it is so."""
    async with asyncio.timeout(within_s):
        while True:
            answer = is_so()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(LOOK_AGAIN_S)


def has_nothing_left(log: Log, group: str = "g") -> Callable[[], Awaitable[bool]]:
    """Whether a group is done with every record of the topic, for `until`."""

    async def look() -> bool:
        lag = await log.lag("t", group)
        return (lag.undelivered, lag.in_flight, lag.waiting) == (0, 0, 0)

    return look


class Script:
    """A handler that answers by a script and remembers its calls: value -> answers, the last one stays."""

    def __init__(self, answers: dict[str, list[Outcome | Exception]] | None = None) -> None:
        self._answers = answers or {}
        self.calls: list[tuple[str, int]] = []

    async def __call__(self, handling: Handling) -> Outcome | None:
        value = handling.delivery.value.decode()
        self.calls.append((value, handling.attempt))
        answers = self._answers.get(value)
        if answers is None:
            return None
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def count(self, value: str) -> int:
        return sum(each == value for each, _ in self.calls)


async def append(log: Log, *values: str) -> None:
    await log.append("t", [NewRecord(value.encode()) for value in values])


def result_of(lease: Lease, name: str) -> RunCommit:
    """Return what a run of item 7 stores in somebody's name."""
    run_id = compute_run_id(generator="g", topic="t", offset=lease.offset, plan="p")
    item = Item(ItemId(7), source="s", input_id="i", revision=1, text="a")
    return RunCommit(run_id, "p", 1, "g", item, 1, "done", 1, 2, reason=name, lease=lease)
