"""Letting go of what a store no longer needs, a little at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gristmill.domain.upkeep.retention import HeldTopic, RetentionRules, StandingGroup, TableUse

__all__ = ["Upkeep"]


class Upkeep(Protocol):
    """What keeps the tables of a store from growing for ever.

    All methods raise `Unavailable` when a retry is safe. Guarantees: never lets go of a record that a group has not
    accepted, but for lossy topics and abandoned groups, where each is counted as lost; or that a dead letter needs, of
    the newest run of a plan over an item, or of what people said.
    """

    @property
    def as_of_ms(self) -> int | None:
        """As of when the last sweep counted ages, None before the first; behind a clock that has leapt ahead."""
        ...

    async def sweep(self, rules: RetentionRules, *, now_ms: int, is_clock_right: bool = False) -> Mapping[str, int]:
        """Let go of all that is due, in short turns with pauses; return rows by table. Safe to cancel and repeat.

        Ages follow the clock as `domain.upkeep.ageing` says, at once where a person says that it is right.
        """
        ...

    async def measure(self, rules: RetentionRules) -> Sequence[TableUse]:
        """Return what every table holds, in the order of their names. Reads the whole store."""
        ...

    async def oldest(self) -> Mapping[str, int]:
        """Return when the oldest row of each table was written, for those whose rows have a time. Cheap."""
        ...

    async def held(self, rules: RetentionRules) -> Sequence[HeldTopic]:
        """Return topics that have records, but for those of inputs, the most records first. Cheap."""
        ...

    async def standing(self, rules: RetentionRules, *, now_ms: int) -> Sequence[StandingGroup]:
        """Return groups that nobody here serves and that stand still behind records, as of a time. Cheap."""
        ...

    async def free_bytes(self) -> int:
        """Return what rows that are gone have left inside the file for new ones."""
        ...
