"""Items as the API shows them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.api.reading import Dossier, Standing, decide_status, latest_runs
from gristmill.api.reading.search import FoundItem
from gristmill.api.views.labels import LabelView, view_label
from gristmill.domain.commit import StoredRun
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import fields_of
from gristmill.domain.front.times import write_time
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import InputKey
from gristmill.domain.item import Item, thaw

__all__ = ["ItemView", "compute_etag", "view_found", "view_item", "view_unwritten"]

ETAG_HEX = 24


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An item with what was found out about it; `pending` until its first run has ended.

    `fields` are what its plans have found, by name; `standard` are further fields of its kind that came with it.
    """

    item_id: str
    status: Standing
    tenant: str
    source: str
    input_id: str
    kind: str = ""
    revision: int = 0
    text: str = ""
    author: str | None = None
    created_at: str | None = None
    labels: tuple[LabelView, ...] = ()
    fields: dict[str, Any] = {}
    standard: dict[str, Any] = {}
    ext: dict[str, Any] = {}


def view_item(dossier: Dossier) -> ItemView:
    """Return an item whole."""
    return _view(dossier.item, decide_status(dossier.runs), dossier.labels, dossier.runs)


def view_found(found: FoundItem) -> ItemView:
    """Return an item of a list."""
    return _view(found.item, found.status, found.labels, found.runs)


def view_unwritten(item_id: ItemId, key: InputKey) -> ItemView:
    """Return what is known of an item that was published and not processed yet."""
    return ItemView(item_id=str(item_id), status="pending", tenant=key.tenant, source=key.source, input_id=key.input_id)


def compute_etag(dossier: Dossier) -> str:
    """Return a tag that changes with everything that an item view shows but labels shared with other items."""
    runs = [(run.run_id, run.ended_at_ms) for run in dossier.runs]
    facts = [fact.fact_id for fact in dossier.facts]
    digest = hashlib.sha256(msgspec.json.encode((dossier.item.revision, runs, facts))).hexdigest()
    return f'"{digest[:ETAG_HEX]}"'


def _view(item: Item, status: Standing, labels: Sequence[StandingLabel], runs: Sequence[StoredRun]) -> ItemView:
    return ItemView(
        item_id=str(item.item_id),
        status=status,
        tenant=item.tenant,
        source=item.source,
        input_id=item.input_id,
        kind=item.kind,
        revision=item.revision,
        text=item.text,
        author=item.author,
        created_at=_tell_time(item.created_at_ms),
        labels=tuple([view_label(standing) for standing in labels]),
        fields=fields_of(latest_runs(runs)),
        standard=thaw(item.fields),
        ext=thaw(item.ext),
    )


def _tell_time(at_ms: int | None) -> str | None:
    """Return a time that others have written; None where no calendar knows it: one item must not spoil a whole list."""
    try:
        return None if at_ms is None else write_time(at_ms)
    except (ValueError, OverflowError):
        return None
