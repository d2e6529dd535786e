"""A child that answers late is slow, and not dead."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

import pytest

from gristmill.runtime.group.health_core import Vitals
from gristmill.runtime.processes import child as child_module
from gristmill.runtime.processes.channel import Begin, Channel, Probe, Probed, Started
from gristmill.runtime.processes.child import Child
from gristmill.runtime.processes.launch import Launched
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec


class FakeLaunched:
    """A process that is this test, at the other end of a pair of sockets."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._dead = asyncio.Event()

    async def wait_dead(self) -> int:
        await self._dead.wait()
        return -9

    def kill(self) -> None:
        self._dead.set()


async def test_an_answer_that_comes_late_shows_that_somebody_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "PROBE_TIMEOUT_S", 0.02)
    ours, theirs = socket.socketpair()
    heard = asyncio.Event()
    begin = Begin("engine", "engine-1", GroupSpec(state_dir="state", settings=Settings()))
    child = Child(begin, cast("Launched", FakeLaunched(ours)), on_started=heard.set)
    living, channel = asyncio.create_task(child.live()), await Channel.open(theirs)
    assert isinstance(await channel.receive(), Begin)
    await channel.send(Started())
    await child.started.wait()
    child.unanswered = 11
    assert await child.probe() is None
    probe = await channel.receive()
    assert isinstance(probe, Probe)
    heard.clear()
    await channel.send(Probed(probe.number, Vitals()))
    await channel.send(Started())
    await heard.wait()
    assert child.unanswered == 0
    child.kill()
    assert await living == -9
    channel.close()
