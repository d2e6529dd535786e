"""What a foreign record becomes before it has an item id: mapped values, or the reasons why it cannot be an Item."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

__all__ = ["MappedRecord", "Violations"]


class MappedRecord(msgspec.Struct, frozen=True):
    """The fields of an Item as its Source gave them.

    Attributes:
        input_id: the id that the Source uses; with `source` it finds the item again.
        ext: every other field, frozen all the way down; the Item takes it over without a copy.
    """

    input_id: str
    kind: str
    source: str
    text: str
    author: str | None = None
    created_at_ms: int | None = None
    ext: Mapping[str, Any] = MappingProxyType({})


class Violations(msgspec.Struct, frozen=True):
    """Why a record is no Item; it goes to the quarantine.

    Attributes:
        reason: short name that groups alike records (`not_json`, `schema`).
        violations: every fault found, `path: message`.
    """

    reason: str
    violations: tuple[str, ...]
