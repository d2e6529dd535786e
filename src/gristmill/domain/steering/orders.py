"""What people have ordered about one generator."""

from __future__ import annotations

import msgspec

__all__ = ["Orders"]


class Orders(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The latest orders about a generator; without any it claims by its own weight.

    Attributes:
        is_paused: nothing is claimed for it; what is under way ends.
        reason: why it is paused; empty while it is not.
        weight: its share of draws instead of the one that it was declared with; None for that one.
    """

    is_paused: bool = False
    reason: str = ""
    weight: float | None = None
