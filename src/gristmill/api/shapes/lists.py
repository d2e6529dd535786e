"""Lists of items and what is told about one, and how they are asked for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gristmill.api.reading import ItemFilter, Standing
from gristmill.api.views.items import ItemView
from gristmill.api.views.labels import LabelView
from gristmill.api.views.runs import EventView, RunView
from gristmill.api.views.times import read_time

__all__ = [
    "ColumnsView",
    "EventsView",
    "ExplainView",
    "ExportQuery",
    "FetchRequest",
    "FetchView",
    "ItemPageView",
    "ItemQuery",
    "RunsView",
    "SharedView",
]

PAGE_ITEMS_MAX = 200
EXPORT_ITEMS_MAX = 10_000
FETCH_ITEMS_MAX = 500
PATTERNS_MAX = 50

Word = Annotated[str, Meta(max_length=256)]


class ItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which items; an absent parameter stands for any."""

    label: Annotated[str, Meta(max_length=129, description="one that holds; `-` in front: was negated")] = ""
    status: Annotated[
        Standing | None, Meta(description="where the item stands; with `plan`, how the newest run of that plan went")
    ] = None
    plan: Annotated[str, Meta(max_length=256, description="it has a run of this plan")] = ""
    tenant: Annotated[str, Meta(max_length=256, description="whose content it is")] = ""
    kind: Word = ""
    author: Word = ""
    source: Word = ""
    text: Annotated[str, Meta(max_length=256, description="part of the text, whatever the case")] = ""
    since: Annotated[str, Meta(max_length=64, description="written at or after this RFC 3339 time")] = ""
    until: Annotated[str, Meta(max_length=64, description="written before this RFC 3339 time")] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_ITEMS_MAX)] = 50

    def filter(self) -> ItemFilter:
        """Return what an item must be.

        Raises:
            ProblemRaised: `validation`: a bound is no time.
        """
        return ItemFilter(
            label=self.label,
            status=self.status,
            kind=self.kind,
            author=self.author,
            source=self.source,
            text=self.text,
            plan=self.plan,
            tenant=self.tenant,
            since_ms=read_time("since", self.since),
            until_ms=read_time("until", self.until),
        )


class ExportQuery(ItemQuery, frozen=True, kw_only=True):
    """Which items, in which form; `cursor` and `limit` as in a list, only that more may be asked for."""

    format: Annotated[
        Literal["jsonl", "csv"], Meta(description="`jsonl`: items as `listItems` shows them; `csv`: a table")
    ] = "jsonl"
    columns: Annotated[str, Meta(max_length=512, description="of a table, with commas between; all when empty")] = ""
    limit: Annotated[int, Meta(ge=1, le=EXPORT_ITEMS_MAX)] = EXPORT_ITEMS_MAX


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which items, by id, and which of their columns, by patterns such as `text`, `labels.*` or `fields.language`."""

    item_ids: Annotated[
        tuple[Annotated[str, Meta(pattern="^[0-9]{1,19}$")], ...], Meta(min_length=1, max_length=FETCH_ITEMS_MAX)
    ]
    columns: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=128)], ...], Meta(min_length=1, max_length=PATTERNS_MAX)
    ] = ("*",)


class ColumnsView(msgspec.Struct, frozen=True):
    """An item as it stands, of which the columns that were asked for and that it has."""

    item_id: str
    revision: int
    columns: dict[str, Any]


class FetchView(msgspec.Struct, frozen=True):
    """Items in the order in which they were asked for.

    Attributes:
        missing: ids of no item that was processed and that the caller may see.
        left: ids that an answer of this size has no room for: ask again for them.
    """

    items: list[ColumnsView]
    missing: list[str]
    left: list[str]


class ItemPageView(msgspec.Struct, frozen=True):
    """A page, newest first. A page may be short or empty and still have a `next`: go on until it is null."""

    items: list[ItemView]
    next: str | None


class RunsView(msgspec.Struct, frozen=True):
    """All runs of an item, oldest first."""

    runs: list[RunView]


class EventsView(msgspec.Struct, frozen=True):
    """The events of an item in the order they were committed."""

    events: list[EventView]


class SharedView(msgspec.Struct, frozen=True):
    """What an item has in common with others: a group with its leader, or a count."""

    space: str
    keys: tuple[str, ...]
    label: str
    leader_item_id: str | None
    leader_input_id: str
    size: int
    task: str


class ExplainView(msgspec.Struct, frozen=True):
    """Why an item is labelled as it is: every run, task, event, shared key and word of a person."""

    item: ItemView
    runs: list[RunView]
    shared: list[SharedView]
    labels: list[LabelView]
    events: list[EventView]
