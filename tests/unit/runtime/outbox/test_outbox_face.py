"""The outbox of a group: sent in the background, told of beside the group when it waits for too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.domain.front.health import ServiceHealth
from gristmill.runtime.outbox import OutboxFace
from gristmill.runtime.settings import Settings
from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.spec import GroupSpec
from gristmill.testing.clock import FakeClock
from gristmill.testing.redis_server import RedisProcess
from tests.apart.outboxes import open_state, publication
from tests.redis_servers import program_or_skip

WITHIN_S = 30.0


@pytest.fixture
def process(tmp_path: Path) -> Iterator[RedisProcess]:
    """A server that is not started yet."""
    process = RedisProcess(tmp_path / "redis", program=program_or_skip("valkey"))
    yield process
    process.stop()


@pytest.fixture
async def face(tmp_path: Path, process: RedisProcess) -> AsyncIterator[tuple[OutboxFace, FakeClock]]:
    settings = Settings(log=LogSection(backend="redis", url=process.url))
    spec = GroupSpec(state_dir=str(tmp_path / "state"), settings=settings, flow_files=(), generators=())
    clock = FakeClock()
    face = OutboxFace(spec, clock)
    yield face, clock
    await face.stop()
    await face.stop()


async def test_what_waits_for_too_long_is_told_until_it_is_sent(
    face: tuple[OutboxFace, FakeClock], process: RedisProcess, tmp_path: Path
) -> None:
    outbox, clock = face
    publisher = open_state(tmp_path / "state" / "gristmill.sqlite", clock, owner="publisher")
    await publisher.front.inlet.publish([publication("x", 1)])
    await publisher.close()
    assert await outbox.count_unsent() == 1
    assert outbox.health == ServiceHealth("background.outbox")
    await outbox.start()
    await outbox.start()
    await _until(lambda: outbox.reconciling.status.runs > 0, clock)
    await _until(lambda: not outbox.health.is_serving, clock)
    assert "1 outbox rows wait" in outbox.health.reasons[0]
    await asyncio.to_thread(process.start)
    await _until(lambda: outbox.health.is_serving, clock)
    assert await outbox.count_unsent() == 0
    log = RedisLog(RedisServer(RedisTarget(url=process.url)), clock)
    assert await log.end("t") == 1
    await log.close()
    joining = asyncio.create_task(outbox.join())
    await outbox.stop()
    async with asyncio.timeout(WITHIN_S):
        await joining


async def _until(is_so: Callable[[], bool], clock: FakeClock) -> None:
    """Let time go by until something is so."""
    async with asyncio.timeout(WITHIN_S):
        while not is_so():
            clock.advance(1_000)
            await asyncio.sleep(0.01)
