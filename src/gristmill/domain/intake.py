"""What a foreign record becomes before it has an item id: mapped values, or why it is no Item or is left out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.item import Item

__all__ = ["IntakeOutcome", "LeftOut", "MappedRecord", "Violations"]

IntakeOutcome = Literal["accepted", "unchanged", "stale", "filtered", "quarantined", "skipped", "retry"]
"""What becomes of a record at intake, a closed set. `filtered`, `quarantined` and `skipped` come with a reason;
`skipped` is a bad record of a Source that wants no quarantine; `retry` leaves the record in the log."""


class MappedRecord(msgspec.Struct, frozen=True, gc=False):
    """The fields of an Item as its Source gave them.

    Attributes:
        input_id: the id that the Source uses; with `source` it finds the item again.
        ext: every other field, frozen all the way down; the Item takes it over without a copy.
        fields: further standard fields of the kind, frozen alike.
        revision: the Source's own number for this version, 0 where it gives none.
        source_revision: which revision of the Source's definition mapped it, 0 for automatic mapping.
    """

    input_id: str
    kind: str
    source: str
    text: str
    author: str | None = None
    created_at_ms: int | None = None
    ext: Mapping[str, Any] = MappingProxyType({})
    tenant: str = TENANT_DEFAULT
    fields: Mapping[str, Any] = MappingProxyType({})
    revision: int = 0
    source_revision: int = 0

    def make_item(self, item_id: ItemId, *, position: int = 0) -> Item:
        """Return the Item; the position of its record is its revision where the Source gives none."""
        return Item(
            item_id,
            self.kind,
            self.source,
            self.input_id,
            self.revision or position,
            self.text,
            self.author,
            self.created_at_ms,
            self.ext,
            self.tenant,
            self.fields,
        )


class Violations(msgspec.Struct, frozen=True):
    """Why a record is no Item; it goes to the quarantine.

    Attributes:
        reason: short name that groups alike records (`not_json`, `schema`).
        violations: all that were found, each as `path: message`.
        source_revision: as in `MappedRecord`.
    """

    reason: str
    violations: tuple[str, ...]
    source_revision: int = 0


class LeftOut(msgspec.Struct, frozen=True):
    """A record that is read and then left alone on purpose; it is accepted and nothing is stored.

    Attributes:
        reason: the name that the Source gives to it (`too_short`), or the reason of its violations.
    """

    outcome: Literal["filtered", "skipped"]
    reason: str
    source_revision: int = 0
