"""What a stretch of changes means for one subscription: at most one message for each item, as a CloudEvent.

A message tells the item as it stands, not what was done to it. So several changes become one message, a message may be
told twice, and a receiver that keeps the one with the highest `position` of each item has what the store has, in
whatever order messages come. What the receiver has is remembered as a digest of each column: an item whose chosen
columns are as they were is not told again, and one that no longer fulfils the condition is told once, as `left`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.deliver.core.document import compute_columns, compute_document
from gristmill.deliver.core.selecting import Selector
from gristmill.domain.delivery import Point, Subscription
from gristmill.domain.front.times import write_time
from gristmill.domain.ids import ItemId
from gristmill.domain.run import Event
from gristmill.ports.delivery import Change, KnownItem, SentColumns

__all__ = ["DATA_BYTES_MAX", "Message", "View", "compute_view", "decide_messages", "make_test_message"]

DATA_BYTES_MAX = 32 * 1024
"""Above it a message says where the item is instead of what it is (claim check)."""

DIGEST_BYTES = 8
CHANGED = "io.gristmill.item.changed.v1"
LEFT = "io.gristmill.item.left.v1"
TEST = "io.gristmill.subscription.test.v1"
POSITION_DIGITS = 20
"""The `sequence` of CloudEvents is compared as text."""

FINAL_EVENT = "run.ended"

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


class View(msgspec.Struct, frozen=True):
    """An item as all subscriptions see it; computed once."""

    known: KnownItem
    document: dict[str, Any]
    columns: dict[str, Any]
    digests: dict[str, str]


class Message(msgspec.Struct, frozen=True):
    """One message.

    Attributes:
        event_id: the same for the same content of the same item.
        position: of the item's newest change.
        body: a CloudEvent as JSON.
        columns: digests of what the receiver has then; None where it lets go of the item.
    """

    event_id: str
    item_id: ItemId
    position: int
    body: bytes
    columns: SentColumns | None


def compute_view(known: KnownItem) -> View:
    """Return an item as it stands, with a digest of each column."""
    document = compute_document(known)
    columns = compute_columns(document)
    return View(known, document, columns, {name: _digest(value) for name, value in columns.items()})


def decide_messages(
    subscription: Subscription,
    selector: Selector,
    changes: Sequence[Change],
    views: Mapping[ItemId, View],
    sent: Mapping[ItemId, SentColumns],
    *,
    is_again: Callable[[Change], bool],
    is_unsure: Callable[[Change], bool],
    again_mark: str = "",
) -> list[Message]:
    """Return what the receiver must be told, in the order of the last change of each item.

    Args:
        views: the items of the changes; one that is gone is absent.
        sent: what the receiver has.
        is_again: whether a change is to be told whatever the receiver has.
        again_mark: ends the ids of what is told again.
        is_unsure: whether the receiver may have more than `sent` says, since an answer of it was lost.
    """
    last: dict[ItemId, tuple[Change, Event]] = {}
    again: set[ItemId] = set()
    unsure: set[ItemId] = set()
    for change in changes:
        told = [event for event in change.events if _point_of(event) in subscription.points]
        if told:
            last.pop(change.item_id, None)
            last[change.item_id] = (change, told[-1])
            if is_again(change):
                again.add(change.item_id)
            if is_unsure(change):
                unsure.add(change.item_id)
    messages = []
    for item_id, (change, event) in last.items():
        view, has = views.get(item_id), sent.get(item_id)
        if view is not None and selector.wants(view.document):
            chosen = selector.choose(view.columns)
            digests = {name: view.digests[name] for name in chosen}
            if digests != has or item_id in again or item_id in unsure:
                mark = again_mark if item_id in again else ""
                messages.append(_tell(subscription, view, chosen, digests, before=has or {}, event=event, mark=mark))
        elif has is not None or (
            item_id in unsure and view is not None and view.document["tenant"] == subscription.tenant
        ):
            position = change.position if view is None else view.known.position
            messages.append(_leave(subscription, item_id, position, has or {}, event))
    return messages


def make_test_message(subscription: Subscription, *, at_ms: int) -> Message:
    """Return a message that tells of nothing, to try a receiver with."""
    event_id = f"test-{at_ms}"
    body = _envelope(subscription, event_id, TEST, at_ms=at_ms) | {"data": {"event_id": event_id, "point": "test"}}
    return Message(event_id, ItemId(0), 0, _encode(body), None)


def _tell(
    subscription: Subscription,
    view: View,
    fields: dict[str, Any],
    digests: dict[str, str],
    *,
    before: SentColumns,
    event: Event,
    mark: str,
) -> Message:
    item_id, position = view.known.item.item_id, view.known.position
    event_id = f"{position}-{item_id}-{_digest(digests)}{mark}"
    data = {
        "event_id": event_id,
        "item_id": str(item_id),
        "revision": view.known.item.revision,
        "position": position,
        "point": _point_of(event),
        "changed": sorted(name for name, digest in digests.items() if before.get(name) != digest),
        "removed": sorted(before.keys() - digests.keys()),
        "labels": [name.removeprefix("labels.") for name in sorted(fields) if name.startswith("labels.")],
        "fields": fields,
        "cause": _cause_of(event),
    }
    body = _envelope(subscription, event_id, CHANGED, at_ms=event.at_ms, item_id=item_id, position=position)
    encoded = _encode(data)
    if len(encoded) > DATA_BYTES_MAX:
        del data["fields"]
        encoded = _encode(data)
        body["dataref"] = f"/v1/items/{item_id}"
    return Message(event_id, item_id, position, _encode(body | {"data": msgspec.Raw(encoded)}), digests)


def _leave(subscription: Subscription, item_id: ItemId, position: int, has: SentColumns, event: Event) -> Message:
    event_id = f"{position}-{item_id}-left"
    data = {
        "event_id": event_id,
        "item_id": str(item_id),
        "position": position,
        "point": "left",
        "changed": [],
        "removed": sorted(has),
        "labels": [],
        "fields": {},
        "cause": _cause_of(event),
    }
    body = _envelope(subscription, event_id, LEFT, at_ms=event.at_ms, item_id=item_id, position=position)
    return Message(event_id, item_id, position, _encode(body | {"data": data}), None)


def _envelope(
    subscription: Subscription,
    event_id: str,
    kind: str,
    *,
    at_ms: int,
    item_id: ItemId | None = None,
    position: int = 0,
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/gristmill/{subscription.tenant}/subscriptions/{subscription.name}",
        "type": kind,
        "time": write_time(at_ms),
        "datacontenttype": "application/json",
    }
    if item_id is not None:
        body["subject"] = f"items/{item_id}"
        body["partitionkey"] = str(item_id)
        body["sequence"] = f"{position:0{POSITION_DIGITS}}"
    return body


def _point_of(event: Event) -> Point:
    return "final" if event.kind == FINAL_EVENT else "change"


def _cause_of(event: Event) -> dict[str, str]:
    # Without the body of the event, which names labels that this subscription may not have asked for.
    return {"event": event.kind, "at": write_time(event.at_ms), "run_id": event.run_id}


def _digest(value: Any) -> str:
    return hashlib.blake2b(_encode_sorted(value), digest_size=DIGEST_BYTES).hexdigest()
