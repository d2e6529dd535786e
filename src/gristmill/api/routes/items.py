"""Items: found, shown, and explained."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Parameter, Reply, decode_cursor, encode_cursor, read_json, reply
from gristmill.api.calls.call import INT64_MAX
from gristmill.api.problems import ProblemRaised, problem
from gristmill.api.reading import Dossier, read_dossier, search_items
from gristmill.api.services import Services
from gristmill.api.shapes.lists import (
    ColumnsView,
    EventsView,
    ExplainView,
    FetchRequest,
    FetchView,
    ItemPageView,
    ItemQuery,
    RunsView,
    SharedView,
)
from gristmill.api.views.items import ItemView, compute_etag, view_found, view_item, view_unwritten
from gristmill.api.views.labels import view_label
from gristmill.api.views.runs import view_event, view_run
from gristmill.deliver.core.document import compute_columns, compute_document
from gristmill.deliver.core.selecting import ColumnChoice
from gristmill.domain.ids import ItemId

__all__ = ["ITEM_OPERATIONS", "read_visible"]

FETCH_BYTES_MAX = 4 * 1024 * 1024
"""Of one answer; the stretch that reaches it is told whole."""

FETCH_STRETCH = 20
"""Items read at a time, so that large ones are not all held at once."""

_fetch_decoder = msgspec.json.Decoder(FetchRequest)
_encode = msgspec.json.Encoder().encode


async def _list_items(services: Services, call: Call) -> Reply:
    """Find items, newest first."""
    query = call.read_query(ItemQuery)
    wanted = query.filter()
    before = decode_cursor(query.cursor)
    page = await search_items(
        services.state,
        services.front,
        wanted,
        sees=call.principal.sees,
        before=None if before is None else ItemId(before),
        limit=query.limit,
        turns=services.scans,
    )
    following = None if page.next_before is None else encode_cursor(page.next_before)
    return reply(ItemPageView([view_found(found) for found in page.items], following))


async def _fetch_columns(services: Services, call: Call) -> Reply:
    """Return the newest columns of items by their ids, the same columns that subscribers are sent."""
    request = await read_json(call, _fetch_decoder)
    choice = ColumnChoice(request.columns)
    wanted = list(dict.fromkeys(request.item_ids))
    items: list[ColumnsView] = []
    missing: list[str] = []
    size = 0
    while wanted and size < FETCH_BYTES_MAX:
        asked, wanted = wanted[:FETCH_STRETCH], wanted[FETCH_STRETCH:]
        known = await services.changes.look_up([ItemId(int(text)) for text in asked if int(text) <= INT64_MAX])
        for text in asked:
            found = known.get(ItemId(int(text)))
            if found is None or not call.principal.sees(found.item.tenant):
                missing.append(text)
                continue
            columns = choice.choose(compute_columns(compute_document(found)))
            items.append(ColumnsView(str(found.item.item_id), found.item.revision, columns))
            size += len(_encode(columns))
    return reply(FetchView(items, missing, wanted))


async def _show_item(services: Services, call: Call) -> Reply:
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


async def _list_runs(services: Services, call: Call) -> Reply:
    """List the runs of an item with their tasks."""
    dossier = await read_visible(services, call)
    return reply(RunsView([view_run(run) for run in dossier.runs]))


async def _list_events(services: Services, call: Call) -> Reply:
    """List the events of an item."""
    dossier = await read_visible(services, call)
    return reply(EventsView([view_event(event) for event in dossier.events]))


async def _explain_item(services: Services, call: Call) -> Reply:
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
        handle=_list_items,
        query=ItemQuery,
        answer=ItemPageView,
    ),
    Operation(
        operation_id="fetchColumns",
        method="POST",
        path="/v1/items:fetch",
        summary="Return the newest columns of items by their ids",
        access="viewer",
        handle=_fetch_columns,
        body=FetchRequest,
        answer=FetchView,
        example={"item_ids": ["2026113000000000004"], "columns": ["text", "labels.*"]},
    ),
    Operation(
        operation_id="getItem",
        method="GET",
        path="/v1/items/{item_id}",
        summary="Show an item with its labels and fields",
        access="viewer",
        handle=_show_item,
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
        handle=_list_runs,
        answer=RunsView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="listEvents",
        method="GET",
        path="/v1/items/{item_id}/events",
        summary="List the events of an item",
        access="viewer",
        handle=_list_events,
        answer=EventsView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="explainItem",
        method="GET",
        path="/v1/items/{item_id}/explain",
        summary="Tell why an item is labelled as it is",
        access="viewer",
        handle=_explain_item,
        answer=ExplainView,
        problems=("not-found",),
    ),
)
