"""How long topics keep what nobody has read: until it is consumed, but for those that are declared lossy."""

from __future__ import annotations

import msgspec

__all__ = ["LossyRule"]


class LossyRule(msgspec.Struct, frozen=True, kw_only=True):
    """How much a lossy topic keeps, read or not; 0 is no bound. At least one of them is above 0.

    Attributes:
        max_entries: records, about.
        max_age_ms: since they were appended.
    """

    max_entries: int = 0
    max_age_ms: int = 0
