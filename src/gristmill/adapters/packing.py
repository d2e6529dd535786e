"""How runs and items are packed into one blob each; shared by the embedded backends.

Everything goes through the codec, in memory too, so that what is read back is plain decoded data on every backend
and a value that cannot be encoded is refused by every backend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gristmill.domain.commit import RunCommit, StoredRun
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.item import AppliedLabel, Cell, Item, freeze
from gristmill.domain.run import Effect, Event, RunStatus, TaskReport

__all__ = [
    "merge_effects",
    "pack",
    "pack_item",
    "pack_run",
    "unpack_effects",
    "unpack_ended_at",
    "unpack_events",
    "unpack_item",
    "unpack_plan",
    "unpack_run",
]


class _RunBody(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The part of a run that nothing searches by."""

    plan: str
    plan_version: int
    started_at_ms: int
    ended_at_ms: int
    reason: str
    error: str
    attempt: int
    tasks: tuple[TaskReport, ...]
    cells: tuple[Cell, ...]
    labels: tuple[AppliedLabel, ...]
    effects: tuple[Effect, ...]


class _ItemBody(msgspec.Struct, frozen=True, gc=False, array_like=True):
    item_id: ItemId
    kind: str
    source: str
    input_id: str
    revision: int
    text: str
    author: str | None
    created_at_ms: int | None
    ext: dict[str, Any]
    tenant: str = TENANT_DEFAULT
    fields: dict[str, Any] = {}


def merge_effects(stored: Sequence[Effect], new: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return the effects of a run, each (task, sink) once: what is stored stays, the first of a key wins."""
    kept = {(effect.task, effect.sink): effect for effect in reversed([*stored, *new])}
    return tuple(reversed(kept.values()))


def _encode_other(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"values of type {type(value).__qualname__} cannot be stored")


ENCODING_ERRORS = (TypeError, NotImplementedError, OverflowError, UnicodeEncodeError)

_encode = msgspec.msgpack.Encoder(enc_hook=_encode_other).encode
_NOTHING: dict[str, Any] = {}
_body_decoder = msgspec.msgpack.Decoder(_RunBody)
_item_decoder = msgspec.msgpack.Decoder(_ItemBody)
_events_decoder = msgspec.msgpack.Decoder(list[Event])


def pack(value: Any) -> bytes:
    """Encode structs, plain data and read-only mappings.

    Raises:
        UsageError: a value has a type that no codec knows.
    """
    try:
        return _encode(value)
    except ENCODING_ERRORS as error:
        raise UsageError("a value cannot be stored", value=str(error), advice="use encodable values") from error


def pack_run(commit: RunCommit, effects: tuple[Effect, ...] | None = None) -> bytes:
    """Encode what a stored run keeps beside its keys; `effects` replaces those of the commit.

    Raises:
        UsageError: a cell, label or effect cannot be encoded; the plan is named.
    """
    body = (
        commit.plan,
        commit.plan_version,
        commit.started_at_ms,
        commit.ended_at_ms,
        commit.reason,
        commit.error,
        commit.attempt,
        commit.tasks,
        commit.cells,
        commit.labels,
        commit.effects if effects is None else effects,
    )
    try:
        return _encode(body)
    except ENCODING_ERRORS as error:
        fields = [cell.field for cell in commit.cells]
        advice = f"make the results of the tasks that write {fields} encodable"
        raise UsageError(f"run of plan {commit.plan!r} cannot be stored", value=str(error), advice=advice) from error


def pack_item(item: Item) -> bytes:
    """Encode an item.

    Raises:
        UsageError: a value of its `ext` or `fields` cannot be encoded.
    """
    body = (
        item.item_id,
        item.kind,
        item.source,
        item.input_id,
        item.revision,
        item.text,
        item.author,
        item.created_at_ms,
        dict(item.ext) if item.ext else _NOTHING,
        item.tenant,
        dict(item.fields) if item.fields else _NOTHING,
    )
    return pack(body)


def unpack_run(
    blob: bytes, *, run_id: RunId, generator: str, item_id: ItemId, position: int, status: RunStatus
) -> StoredRun:
    """Put a stored run together from its blob and its keys."""
    body = _body_decoder.decode(blob)
    return StoredRun(
        run_id=run_id,
        plan=body.plan,
        plan_version=body.plan_version,
        generator=generator,
        item_id=item_id,
        position=position,
        status=status,
        started_at_ms=body.started_at_ms,
        ended_at_ms=body.ended_at_ms,
        reason=body.reason,
        error=body.error,
        attempt=body.attempt,
        tasks=body.tasks,
        cells=body.cells,
        labels=body.labels,
        effects=body.effects,
    )


def unpack_ended_at(blob: bytes) -> int:
    """Return when a stored run ended."""
    return _body_decoder.decode(blob).ended_at_ms


def unpack_plan(blob: bytes) -> str:
    """Return the plan of a stored run."""
    return _body_decoder.decode(blob).plan


def unpack_effects(blob: bytes) -> tuple[Effect, ...]:
    """Decode the effects of a stored run."""
    return _body_decoder.decode(blob).effects


def unpack_item(blob: bytes) -> Item:
    """Decode an item; its `ext` and `fields` are frozen again."""
    body = _item_decoder.decode(blob)
    return Item(
        body.item_id,
        body.kind,
        body.source,
        body.input_id,
        body.revision,
        body.text,
        body.author,
        body.created_at_ms,
        freeze(body.ext),
        body.tenant,
        freeze(body.fields),
    )


def unpack_events(blob: bytes) -> list[Event]:
    """Decode the events that one commit added to an item."""
    return _events_decoder.decode(blob)
