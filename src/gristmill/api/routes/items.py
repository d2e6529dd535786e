"""Items: found, shown, and explained."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call, Operation, Parameter, Reply, decode_cursor, encode_cursor, reply
from gristmill.api.problems import ProblemRaised, problem
from gristmill.api.reading import Dossier, ItemFilter, Standing, read_dossier, search_items
from gristmill.api.services import Services
from gristmill.api.views.items import ItemView, compute_etag, view_found, view_item, view_unwritten
from gristmill.api.views.labels import LabelView, view_label
from gristmill.api.views.runs import EventView, RunView, view_event, view_run
from gristmill.api.views.times import read_time
from gristmill.domain.ids import ItemId

__all__ = ["ITEM_OPERATIONS", "read_visible"]

PAGE_ITEMS_MAX = 200
Word = Annotated[str, Meta(max_length=256)]


class ItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which items; an absent parameter stands for any."""

    label: Annotated[str, Meta(max_length=129, description="one that holds; `-` in front: was negated")] = ""
    status: Annotated[Standing | None, Meta(description="where the item stands")] = None
    kind: Word = ""
    author: Word = ""
    source: Word = ""
    text: Annotated[str, Meta(max_length=256, description="part of the text, whatever the case")] = ""
    since: Annotated[str, Meta(max_length=64, description="written at or after this RFC 3339 time")] = ""
    until: Annotated[str, Meta(max_length=64, description="written before this RFC 3339 time")] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_ITEMS_MAX)] = 50


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


async def list_items(services: Services, call: Call) -> Reply:
    """Find items, newest first."""
    query = call.read_query(ItemQuery)
    wanted = ItemFilter(
        label=query.label,
        status=query.status,
        kind=query.kind,
        author=query.author,
        source=query.source,
        text=query.text,
        since_ms=read_time("since", query.since),
        until_ms=read_time("until", query.until),
    )
    before = decode_cursor(query.cursor)
    page = await search_items(
        services.state,
        services.front,
        wanted,
        sees=call.principal.sees,
        before=None if before is None else ItemId(before),
        limit=query.limit,
    )
    following = None if page.next_before is None else encode_cursor(page.next_before)
    return reply(ItemPageView([view_found(found) for found in page.items], following))


async def show_item(services: Services, call: Call) -> Reply:
    """Show an item. One that was published and not processed yet is `pending`."""
    item_id = call.item_id()
    dossier = await _try_read(services, item_id)
    if dossier is None:
        keys = await services.state.input_keys([item_id])
        if item_id not in keys or not call.principal.sees(keys[item_id].tenant):
            raise _unknown(item_id)
        return reply(view_unwritten(item_id, keys[item_id]))
    if not call.principal.sees(dossier.item.tenant):
        raise _unknown(item_id)
    etag = compute_etag(dossier)
    if call.headers.get("if-none-match") == etag:
        return Reply(b"", 304, headers={"ETag": etag})
    return reply(view_item(dossier), headers={"ETag": etag})


async def list_runs(services: Services, call: Call) -> Reply:
    """List the runs of an item with their tasks."""
    dossier = await read_visible(services, call)
    return reply(RunsView([view_run(run) for run in dossier.runs]))


async def list_events(services: Services, call: Call) -> Reply:
    """List the events of an item."""
    dossier = await read_visible(services, call)
    return reply(EventsView([view_event(event) for event in dossier.events]))


async def explain_item(services: Services, call: Call) -> Reply:
    """Tell why an item is labelled as it is."""
    dossier = await read_visible(services, call)
    shared = [
        SharedView(
            space=one.contribution.space,
            keys=getattr(one.contribution, "keys", None) or (getattr(one.contribution, "key", ""),),
            label=one.contribution.label,
            leader_item_id=None if one.leader is None else str(one.leader),
            leader_input_id=one.leader_input_id,
            size=one.size,
            task=one.task,
        )
        for one in dossier.shared
    ]
    explained = ExplainView(
        view_item(dossier),
        [view_run(run) for run in dossier.runs],
        shared,
        [view_label(standing) for standing in dossier.labels],
        [view_event(event) for event in dossier.events],
    )
    return reply(explained)


async def read_visible(services: Services, call: Call) -> Dossier:
    """Return the item that the path names.

    Raises:
        ProblemRaised: `not-found`: there is none, it is another tenant's, or it was not processed yet.
    """
    item_id = call.item_id()
    dossier = await _try_read(services, item_id)
    if dossier is None or not call.principal.sees(dossier.item.tenant):
        raise _unknown(item_id)
    return dossier


async def _try_read(services: Services, item_id: ItemId) -> Dossier | None:
    if await services.state.item(item_id) is None:
        return None
    return await read_dossier(services.state, services.front, item_id)


def _unknown(item_id: ItemId) -> ProblemRaised:
    return problem("not-found", f"item {item_id}")


IF_NONE_MATCH = Parameter("If-None-Match", "an ETag that you have; 304 while it still holds")

ITEM_OPERATIONS = (
    Operation(
        operation_id="listItems",
        method="GET",
        path="/v1/items",
        summary="Find items, newest first",
        access="viewer",
        handle=list_items,
        query=ItemQuery,
        answer=ItemPageView,
    ),
    Operation(
        operation_id="getItem",
        method="GET",
        path="/v1/items/{item_id}",
        summary="Show an item with its labels and fields",
        access="viewer",
        handle=show_item,
        headers=(IF_NONE_MATCH,),
        answer=ItemView,
        further_statuses={304: "It has not changed"},
        problems=("not-found",),
    ),
    Operation(
        operation_id="listRuns",
        method="GET",
        path="/v1/items/{item_id}/runs",
        summary="List the runs of an item with their tasks",
        access="viewer",
        handle=list_runs,
        answer=RunsView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="listEvents",
        method="GET",
        path="/v1/items/{item_id}/events",
        summary="List the events of an item",
        access="viewer",
        handle=list_events,
        answer=EventsView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="explainItem",
        method="GET",
        path="/v1/items/{item_id}/explain",
        summary="Tell why an item is labelled as it is",
        access="viewer",
        handle=explain_item,
        answer=ExplainView,
        problems=("not-found",),
    ),
)
