"""Queries over HTTP; the probes are those of the API."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import problem
from gristmill.api.recent.answers import BadView, ItemsView, LatestView, NewestView, StatsView
from gristmill.api.recent.services import RecentServices
from gristmill.api.recent.shapes import GetBody, LatestBody, NewestBody
from gristmill.api.recent.views import read_ids, read_request, view_answer, view_items
from gristmill.api.routes.observe import OBSERVE_OPERATIONS
from gristmill.recent import pack_answer
from gristmill.recent.core.answer import PACKED_ANSWER

__all__ = ["RECENT_OPERATIONS"]

_latest_decoder = msgspec.json.Decoder(LatestBody)
_get_decoder = msgspec.json.Decoder(GetBody)
_newest_decoder = msgspec.json.Decoder(NewestBody)


async def _latest(services: RecentServices, call: Call) -> Reply:
    """Return the newest items of authors, newest first."""
    _require_whole(call)
    body = await read_json(call, _latest_decoder)
    request = read_request(body)
    if request.include_hidden and not call.principal.has("reviewer"):
        raise problem("forbidden", "what is hidden is shown to reviewers")
    services.admission.take(len(request.authors))
    answer = services.serving.latest(request, timeout_ms=body.deadline_ms or services.timeout_ms)
    if body.format == "packed":
        return Reply(pack_answer(answer), media_type=PACKED_ANSWER)
    return reply(view_answer(answer, as_of_ms=services.serving.gate.newest_ms))


async def _get(services: RecentServices, call: Call) -> Reply:
    """Return items by their ids; what is hidden only to reviewers."""
    _require_whole(call)
    ids = read_ids("items", (await read_json(call, _get_decoder)).items)
    services.serving.require_open()
    services.admission.take(0)
    items = view_items(services.serving.store.get(ids, now_ms=services.clock.now_ms()))
    shown = tuple([item for item in items if not item.is_hidden or call.principal.has("reviewer")])
    held = {item.item_id for item in shown}
    return reply(ItemsView(items=shown, missing=tuple([str(one) for one in ids.tolist() if str(one) not in held])))


async def _newest(services: RecentServices, call: Call) -> Reply:
    """Return when each author's newest item was created."""
    _require_whole(call)
    authors = read_ids("authors", (await read_json(call, _newest_decoder)).authors)
    services.serving.require_open()
    services.admission.take(len(authors))
    newest = services.serving.store.newest(authors, now_ms=services.clock.now_ms())
    pairs = zip(authors.tolist(), newest.tolist(), strict=True)
    return reply(NewestView(newest={str(author): at_ms for author, at_ms in pairs if at_ms}))


async def _stats(services: RecentServices, call: Call) -> Reply:
    """Return the state of the store, what it holds, and what became of every event; it may still be catching up."""
    _require_whole(call)
    serving = services.serving
    gate, tally, sizes = serving.gate, serving.store.tally, serving.store.sizes()
    return reply(
        StatsView(
            state=gate.state,
            engine=serving.store.engine_name,
            records_read=gate.read,
            records_at_start=gate.target,
            records_behind=gate.behind,
            init_ms=serving.init_ms,
            as_of_ms=gate.newest_ms,
            is_degraded=serving.bad.is_degraded,
            sizes=msgspec.to_builtins(sizes),
            events={"read": tally.read} | {str(name): count for name, count in tally.counts.items()},
            bad=tuple([BadView(one.offset, one.reason, one.value) for one in serving.bad.kept]),
        )
    )


def _require_whole(call: Call) -> None:
    if not call.principal.sees_whole:
        raise problem("forbidden", "recent items are of all tenants together: use a token of the default one")


RECENT_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        operation_id="latestItems",
        method="POST",
        path="/v1/recent/latest",
        summary="The newest items of authors",
        access="viewer",
        handle=_latest,
        body=LatestBody,
        answer=LatestView,
        example={"authors": ["7", "8"], "max_results": 20},
    ),
    Operation(
        operation_id="getRecentItems",
        method="POST",
        path="/v1/recent/get",
        summary="Recent items by their ids",
        access="viewer",
        handle=_get,
        body=GetBody,
        answer=ItemsView,
        example={"items": ["102"]},
    ),
    Operation(
        operation_id="newestOfAuthors",
        method="POST",
        path="/v1/recent/newest",
        summary="When each author's newest item was created",
        access="viewer",
        handle=_newest,
        body=NewestBody,
        answer=NewestView,
        example={"authors": ["7"]},
    ),
    Operation(
        operation_id="recentStats",
        method="GET",
        path="/v1/recent/stats",
        summary="What the store of recent items holds and has read",
        access="viewer",
        handle=_stats,
        answer=StatsView,
    ),
    *OBSERVE_OPERATIONS,
)
