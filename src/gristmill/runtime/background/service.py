"""Runs something again and again: at once, then in its rhythm, whatever becomes of a single run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from gristmill.domain.front.health import ServiceHealth
from gristmill.ports.clock import Clock
from gristmill.runtime.background.rhythm_core import Beat, Rhythm

__all__ = ["BackgroundService", "BackgroundStatus", "Rhythm"]

_log = structlog.get_logger()


class BackgroundStatus(msgspec.Struct, frozen=True):
    """How it goes.

    Attributes:
        runs: attempts so far, failed ones too.
        error: of the last attempt, empty when that went well.
    """

    name: str
    is_running: bool
    runs: int
    last_success_at_ms: int | None
    error: str


class BackgroundService:
    """One service; `stop` is safe to call twice, a second `start` only warns.

    Args:
        run_once: does the work, or raises.
        on_success: told when a run went well, in UTC epoch ms; for a gauge.
    """

    def __init__(
        self,
        name: str,
        run_once: Callable[[], Awaitable[None]],
        *,
        rhythm: Rhythm,
        clock: Clock,
        on_success: Callable[[int], None] = lambda at_ms: None,
    ) -> None:
        self.name = name
        self._run_once = run_once
        self._beat = Beat(rhythm)
        self._clock = clock
        self._on_success = on_success
        self._main: asyncio.Task[None] | None = None
        self._runs = 0
        self._last_success_at_ms: int | None = None
        self._error = ""

    @property
    def status(self) -> BackgroundStatus:
        """How it goes."""
        is_running = self._main is not None and not self._main.done()
        return BackgroundStatus(self.name, is_running, self._runs, self._last_success_at_ms, self._error)

    @property
    def health(self) -> ServiceHealth:
        """The same as a service of the group; it never decides whether the whole group serves."""
        return ServiceHealth(f"background.{self.name}", (self._error,) if self._error else ())

    async def start(self) -> None:
        """Run for the first time now, and go on in the background."""
        if self._main is not None:
            _log.warning("background service runs already", name=self.name)
            return
        self._main = asyncio.create_task(self._live(), name=f"background.{self.name}")

    async def join(self) -> None:
        """Return when it was stopped."""
        if self._main is not None:
            await asyncio.wait([self._main])

    async def stop(self) -> None:
        """Stop; a run under way is cancelled."""
        main, self._main = self._main, None
        if main is not None:
            main.cancel()
            await asyncio.wait([main])

    async def _live(self) -> None:
        while True:
            await self._clock.sleep_ms(await self._try_once())

    async def _try_once(self) -> int:
        """Run once and return the pause in ms before the next run."""
        self._runs += 1
        try:
            await self._run_once()
        except Exception as error:
            self._error = str(error) or type(error).__name__
            pause_ms, is_last = self._beat.on_failure()
            tell = _log.error if is_last else _log.warning
            tell("background service failed", name=self.name, error=self._error, again_in_ms=pause_ms)
            return pause_ms
        self._error = ""
        self._last_success_at_ms = self._clock.now_ms()
        self._on_success(self._last_success_at_ms)
        return self._beat.on_success()
