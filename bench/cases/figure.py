"""What a case hands back."""

from __future__ import annotations

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """The value of each run, with its unit, and the limit or the bare figure that it is held against.

    Attributes:
        more: what else was seen, by name, in the same unit; printed beside the value.
    """

    runs: tuple[float, ...]
    unit: str
    raw: float
    less_is_better: bool = True
    more: dict[str, float] = {}
