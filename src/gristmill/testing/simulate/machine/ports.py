"""Log and state as one process reaches them: calls take time, are refused, lose their answers, or are the last."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from gristmill.domain.errors import OutcomeUnknown, Unavailable
from gristmill.testing.simulate.machine.loop import SimulationLoop
from gristmill.testing.simulate.scenario import CALM_US, Scenario

__all__ = ["FaultyPort", "Victim", "Weather"]

WAY_US_MAX = 1_000
DELAY_US_MAX = 4_000_000
"""Longer than a lease."""

CALLS = frozenset(
    "append claim accept release reject renew reclaim wait commit resolve map_ids take_segment ended fence".split()
)


class Victim(Protocol):
    """A process as its ports see it."""

    @property
    def is_dead(self) -> bool: ...

    def die(self) -> None:
        """End at once."""
        ...


class Weather:
    """How calls fare, from now on and until calm."""

    def __init__(self, loop: SimulationLoop, scenario: Scenario) -> None:
        self.loop = loop
        self.chance = random.Random(f"{scenario.seed}/weather")
        self.outage_until_us = 0
        self._scenario = scenario
        self._has_faults = any((scenario.refuse, scenario.lose, scenario.delay, scenario.die))

    @property
    def is_calm(self) -> bool:
        """Whether nothing goes wrong any more."""
        return self.loop.now_us >= CALM_US

    def draw(self) -> str:
        """Return what becomes of a call: an empty word for nothing unusual."""
        if self.loop.now_us < self.outage_until_us:
            return "refuse"
        if not self._has_faults or self.is_calm:
            return ""
        scenario, drawn = self._scenario, self.chance.randrange(1_000)
        for word, share in (
            ("refuse", scenario.refuse),
            ("lose", scenario.lose),
            ("late", scenario.delay // 2),
            ("late answer", scenario.delay // 2),
            ("die before", scenario.die),
            ("die after", scenario.die),
        ):
            drawn -= share
            if drawn < 0:
                return word
        return ""


class FaultyPort:
    """Passes calls on for one process. A process that has died makes none."""

    def __init__(self, target: Any, victim: Victim, weather: Weather) -> None:
        self._target = target
        self._victim = victim
        self._weather = weather

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._target, name)
        if name in CALLS:
            call = self._make_call(name, call)
            self.__dict__[name] = call
        return call

    def _make_call(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        weather = self._weather
        pause_us, chance = weather.loop.pause_us, weather.chance

        async def pass_on(*arguments: Any, **options: Any) -> Any:
            fate = weather.draw()
            await pause_us(chance.randrange(WAY_US_MAX))
            match fate:
                case "refuse":
                    raise Unavailable(f"{name} is refused", advice="it comes back")
                case "late":
                    await pause_us(chance.randrange(DELAY_US_MAX))
                case "die before":
                    await self._die()
            answer = await call(*arguments, **options)
            match fate:
                case "lose":
                    raise OutcomeUnknown(f"the answer of {name} is lost")
                case "late answer":
                    await pause_us(chance.randrange(DELAY_US_MAX))
                case "die after":
                    await self._die()
            return answer

        return pass_on

    async def _die(self) -> None:
        self._victim.die()
        # The dead go no further than this.
        await self._weather.loop.create_future()
