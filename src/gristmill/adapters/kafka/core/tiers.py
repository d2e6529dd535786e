"""Where a record that is given back waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

__all__ = ["Ordering", "StayHere", "ToTier", "decide_wait"]

Ordering = Literal["none", "key"]
"""`key`: one record of a key at a time, in the order of the partition; redeliveries included."""


class StayHere(msgspec.Struct, frozen=True):
    """The record stays open at its place and holds back what may be committed."""


class ToTier(msgspec.Struct, frozen=True):
    """The record is copied to the retry topic of this tier, and its place is complete once the copy is written."""

    tier_ms: int


def decide_wait(*, delay_ms: int, counted: bool, ordering: Ordering, tiers_ms: Sequence[int]) -> StayHere | ToTier:
    """Decide by the length of the wait and whether the record is to blame.

    What is handed back through no fault of its own stays: while a dependency is down nothing should move through the
    broker. So does a record whose key must keep its order, since others of its key would overtake it otherwise, and
    one without delay, since there is nothing to wait for.
    """
    if delay_ms <= 0 or not counted or ordering == "key" or not tiers_ms:
        return StayHere()
    return ToTier(next((tier_ms for tier_ms in sorted(tiers_ms) if tier_ms >= delay_ms), max(tiers_ms)))
