"""Content as Gristmill sees it: the Item, and what operators find out about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from gristmill.domain.errors import DataError, UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["AppliedLabel", "Cell", "Item", "Label", "check_label", "freeze", "thaw"]

_LABEL = re.compile(r"[a-z](?:[a-z-]{0,126}[a-z])?")
_LEAVES = frozenset({str, int, float, bool, type(None)})
NESTING_MAX = 64
"""Levels of mappings and lists in one value: far above real content, far below the interpreter's own limit."""


class Item(msgspec.Struct, frozen=True, gc=False):
    """Normalised content, deeply immutable: every plan may keep it without a copy of its own.

    Attributes:
        item_id: dated 64-bit id; a decimal string at every edge.
        kind: `post`, `comment`, `article`, ...
        source: the Source that it came through.
        input_id: the id that the Source uses.
        revision: a later one of the same input id replaces the earlier: the number that the Source gives, or else the
            position of the record in the log.
        text: the body, unchanged.
        author: the Source's id of the author.
        created_at_ms: when it was written, UTC epoch; None when the Source does not say.
        ext: fields beyond the standard ones, frozen (mappings and tuples all the way down). Where a Source maps the
            record they lie under the tenant that has declared them; else they are all other fields of the record.
        tenant: whose content it is.
        fields: the further standard fields of its kind (`title`, `lang`, `media`), frozen; only what a Source mapped.
    """

    item_id: ItemId
    kind: str = "post"
    source: str = ""
    input_id: str = ""
    revision: int = 0
    text: str = ""
    author: str | None = None
    created_at_ms: int | None = None
    ext: Mapping[str, Any] = MappingProxyType({})
    tenant: str = TENANT_DEFAULT
    fields: Mapping[str, Any] = MappingProxyType({})


class Label(msgspec.Struct, frozen=True, gc=False):
    """A finding about an item: a short value with its score, reason and evidence.

    Attributes:
        val: short name, `[a-z-]+`, at most 128 bytes.
        score: 0.0 (unsure) to 1.0 (sure).
        reason: why, for a person.
        evidence: the pieces of the item that led to it.
        revision: of what decided inside the operator, such as a rule file or a trained head; the operator's own
            when left out.

    Raises:
        UsageError: `val` or `score` is none of these.
    """

    val: str
    score: float
    reason: str
    evidence: tuple[str, ...] = ()
    revision: str = ""

    def __post_init__(self) -> None:
        check_label(self.val, self.score)


def check_label(val: str, score: float) -> None:
    """Refuse what no reader of labels would understand.

    Raises:
        UsageError: `val` is not a short lower-case name, or `score` is not within 0.0 .. 1.0.
    """
    if not _LABEL.fullmatch(val):
        raise UsageError("label", value=val, advice="use a-z and '-' only, at most 128 letters")
    if not 0.0 <= score <= 1.0:
        raise UsageError(f"score of label {val!r}", value=score, advice="use 0.0 (unsure) to 1.0 (sure)")


class AppliedLabel(msgspec.Struct, frozen=True, gc=False):
    """A Label together with its cause: the task, operator and operator revision that gave it."""

    val: str
    score: float
    reason: str
    evidence: tuple[str, ...]
    task: str
    operator: str
    revision: str


class Cell(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One stored Field of an Item, with its writer. The cause (run, plan) stands on the Run that holds it.

    `value` is whatever msgspec can encode: a result struct when written, plain data when read back.
    """

    field: str
    value: Any
    task: str
    operator: str
    revision: str


def freeze(value: Any) -> Any:
    """Return the same data with mappings read-only and lists as tuples, all the way down.

    Raises:
        DataError: it is nested deeper than NESTING_MAX levels.
    """
    return _freeze(value, NESTING_MAX)


def _freeze(value: Any, levels: int) -> Any:
    if type(value) in _LEAVES:  # Nearly all values; asking whether it is a Mapping costs ten times as much.
        return value
    if isinstance(value, (Mapping, list, tuple)):
        if not levels:
            raise DataError("value is nested too deeply", value=f"more than {NESTING_MAX} levels")
        if isinstance(value, Mapping):
            return MappingProxyType({key: _freeze(inner, levels - 1) for key, inner in value.items()})
        return tuple(_freeze(inner, levels - 1) for inner in value)
    return value


def thaw(value: Any) -> Any:
    """Undo `freeze`: plain dicts and lists, ready for an encoder."""
    if isinstance(value, Mapping):
        return {key: thaw(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(inner) for inner in value]
    return value
