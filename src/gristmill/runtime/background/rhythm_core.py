"""Decides when a background service runs again. Pure."""

from __future__ import annotations

import msgspec

from gristmill.domain.errors import ConfigError

__all__ = ["Beat", "Rhythm"]


class Rhythm(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and how hard it is tried.

    Attributes:
        interval_ms: from a success to the next run; also after the last failed attempt.
        attempts: of one run.
        retry_interval_ms: between two attempts of one run.

    Raises:
        ConfigError: one of them is not above 0.
    """

    interval_ms: int = 3_600_000
    attempts: int = 5
    retry_interval_ms: int = 60_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value <= 0:
                raise ConfigError(f"{name} of a background service", value=value, advice="set it above 0")


class Beat:
    """Which attempt of a run is next, from 1."""

    def __init__(self, rhythm: Rhythm) -> None:
        self._rhythm = rhythm
        self.attempt = 1

    def on_success(self) -> int:
        """Return the pause in ms before the next run."""
        self.attempt = 1
        return self._rhythm.interval_ms

    def on_failure(self) -> tuple[int, bool]:
        """Return the pause in ms before the next attempt, and whether this was the last one of its run."""
        if self.attempt < self._rhythm.attempts:
            self.attempt += 1
            return self._rhythm.retry_interval_ms, False
        self.attempt = 1
        return self._rhythm.interval_ms, True
