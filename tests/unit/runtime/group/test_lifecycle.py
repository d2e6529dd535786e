"""From start to shutdown, on a group that is not there."""

import asyncio
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.front.health import ServiceHealth
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.group.health import CONTROL_SOCKET, ask_health
from gristmill.runtime.group.lifecycle import StopSignals, serve


class PaperGroup:
    """Notes what it is asked to do."""

    def __init__(self, *, refuses: bool = False, fails: bool = False, drains: bool = True, stops: bool = True) -> None:
        self.refuses, self.fails, self.drains, self.stops = refuses, fails, drains, stops
        self.asked: list[str] = []

    async def start(self) -> None:
        if self.refuses:
            raise ConfigError("flow is not sound")
        self.asked.append("start")

    async def join(self) -> None:
        if self.fails:
            raise Unavailable("engine-1 died 5 times")
        await asyncio.Event().wait()

    async def drain(self) -> None:
        self.asked.append("drain")
        if not self.drains:
            await asyncio.Event().wait()

    async def stop(self, *, is_hurried: bool = False) -> None:
        self.asked.append("hurry" if is_hurried else "stop")
        if not self.stops and not is_hurried:
            self.signals.note()
            await self.hurried.wait()
        self.hurried.set()

    async def health(self) -> list[ServiceHealth]:
        return [ServiceHealth("")]

    signals: StopSignals
    hurried: asyncio.Event


async def go(group: PaperGroup, folder: Path, *, work: object = None, drain_timeout_s: float = 5) -> bool:
    group.signals, group.hurried = StopSignals(), asyncio.Event()
    state = StateFolder(folder)
    state.prepare()

    async def at_work() -> None:
        if work == "wait":
            await asyncio.Event().wait()
        assert (await ask_health(state.socket(CONTROL_SOCKET)))[0].is_serving
        if work == "signal":
            group.signals.note()
            await asyncio.Event().wait()

    return await serve(
        group, at_work(), signals=group.signals, clock=SystemClock(), folder=state, drain_timeout_s=drain_timeout_s
    )


async def test_a_group_is_drained_and_stopped_once_its_work_is_done(tmp_path: Path) -> None:
    group = PaperGroup()
    assert await go(group, tmp_path)
    assert group.asked == ["start", "drain", "stop"]
    assert not (await ask_health(StateFolder(tmp_path).socket(CONTROL_SOCKET)))[0].is_serving


async def test_a_signal_ends_the_work_early(tmp_path: Path) -> None:
    group = PaperGroup()
    assert not await go(group, tmp_path, work="signal")
    assert group.asked == ["start", "drain", "stop"]


async def test_a_drain_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    group = PaperGroup(drains=False)
    assert not await go(group, tmp_path, work="signal", drain_timeout_s=0.01)
    assert group.asked == ["start", "drain", "stop"]


async def test_a_second_signal_hurries_the_stop(tmp_path: Path) -> None:
    group = PaperGroup(stops=False)
    assert not await go(group, tmp_path, work="signal")
    assert group.asked == ["start", "drain", "stop", "hurry"]


async def test_a_group_that_refuses_or_fails_is_stopped_and_says_why(tmp_path: Path) -> None:
    refusing = PaperGroup(refuses=True)
    with pytest.raises(ConfigError, match="not sound"):
        await go(refusing, tmp_path)
    assert refusing.asked == ["drain", "stop"]
    with pytest.raises(Unavailable, match="died 5 times"):
        await go(PaperGroup(fails=True), tmp_path, work="wait")
