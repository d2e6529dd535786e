"""Letting go of what a store no longer needs, a little at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gristmill.domain.upkeep.retention import HeldTopic, RetentionRules, TableUse

__all__ = ["Upkeep"]


class Upkeep(Protocol):
    """What keeps the tables of a store from growing for ever.

    All methods raise `Unavailable` when a retry is safe. Guarantees: never lets go of a record that a group has not
    accepted or that a dead letter needs, of the newest run of a plan over an item, or of what people said.
    """

    async def sweep(self, rules: RetentionRules, *, now_ms: int) -> Mapping[str, int]:
        """Let go of all that is due, in short turns with pauses; return rows by table. Safe to cancel and repeat."""
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

    async def free_bytes(self) -> int:
        """Return what rows that are gone have left inside the file for new ones."""
        ...
