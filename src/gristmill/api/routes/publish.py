"""Publishing: one item or many, answered when they are durable and not a moment later."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gristmill.api.calls import Call, Operation, Reply, read_body, reply
from gristmill.api.calls.bodies import NDJSON
from gristmill.api.problems import Fault, problem
from gristmill.api.problems.faults import read_faults
from gristmill.api.routes.doors import IDEMPOTENCY_KEY, find_door, read_once
from gristmill.api.services import Services
from gristmill.api.shapes.publishing import BatchView, NewItem, PublishedView, PublishQuery
from gristmill.domain.front.publication import Once
from gristmill.intake.publish import Accepted, Door, KeyReused, Refused

__all__ = ["PUBLISH_OPERATIONS", "faults_of", "publish"]

BATCH_ITEMS_MAX = 1_000
RETRY_AFTER_S = "5"
BATCH_BYTES_MAX = 10 * 1024 * 1024


async def _publish_item(services: Services, call: Call) -> Reply:
    """Publish one item. The answer means that it is on disk and that its id is its own for good."""
    query = call.read_query(PublishQuery)
    raw = await read_body(call)
    door = find_door(services, call, source=query.source, tenant=query.tenant)
    [outcome] = await publish(services, [raw], door, read_once(services, call, raw))
    view = _view(outcome)
    if view.status == "refused":
        raise problem("validation", "item", errors=view.errors)
    if view.status == "filtered":
        return reply(view)
    return reply(view, status=202, headers={"Location": f"/v1/items/{view.item_id}"})


async def _publish_batch(services: Services, call: Call) -> Reply:
    """Publish many items in one step; bad lines do not hold up good ones."""
    query = call.read_query(PublishQuery)
    raw = await read_body(call, media_types=(NDJSON,), bytes_max=BATCH_BYTES_MAX)
    lines = [(number, line) for number, line in enumerate(raw.split(b"\n"), start=1) if line.strip()]
    if not lines:
        raise problem("validation", errors=[Fault("", "holds no line")])
    if len(lines) > BATCH_ITEMS_MAX:
        raise problem("too-large", f"a batch is limited to {BATCH_ITEMS_MAX} items")
    door = find_door(services, call, source=query.source, tenant=query.tenant)
    outcomes = await publish(services, [line for _, line in lines], door, read_once(services, call, raw))
    views = [_view(outcome, line=number) for (number, _), outcome in zip(lines, outcomes, strict=True)]
    counts = Counter(view.status for view in views)
    return reply(BatchView(counts["accepted"], counts["filtered"], counts["refused"], views))


async def publish(services: Services, raws: list[bytes], door: Door, once: Once | None) -> list[Accepted | Refused]:
    """Publish records.

    Raises:
        ProblemRaised: `key-reused`: the key of the call was used with another body; `back-pressure`: too much waits.
    """
    if services.is_full(door.generator.type):
        raise problem("back-pressure", f"topic {door.generator.topic!r}", headers={"Retry-After": RETRY_AFTER_S})
    try:
        outcomes = await services.publisher.publish(raws, door, once=once)
    except KeyReused as error:
        raise problem("key-reused") from error
    refused = sum(isinstance(outcome, Refused) for outcome in outcomes)
    services.tally.published.labels("accepted").inc(len(outcomes) - refused)
    if refused:
        services.tally.published.labels("refused").inc(refused)
    return outcomes


def faults_of(refused: Refused) -> list[Fault]:
    """Return what is wrong with a record, each as a pointer into it."""
    return read_faults(refused.faults)


def _view(outcome: Accepted | Refused, *, line: int = 0) -> PublishedView:
    if isinstance(outcome, Accepted):
        return PublishedView(status="accepted", item_id=str(outcome.item_id), input_id=outcome.input_id, line=line)
    if outcome.is_left_out:
        return PublishedView(status="filtered", reason=outcome.faults[0], line=line)
    return PublishedView(status="refused", errors=tuple(faults_of(outcome)), line=line)


EXAMPLE: dict[str, Any] = {
    "id": "c-17",
    "text": "Buy followers now! https://example.com/x",
    "author": "ann",
    "created_at": "2026-11-30T08:00:00Z",
    "kind": "comment",
}

PUBLISH_OPERATIONS = (
    Operation(
        operation_id="publishItem",
        method="POST",
        path="/v1/items",
        summary="Publish an item",
        access="operator",
        handle=_publish_item,
        query=PublishQuery,
        headers=(IDEMPOTENCY_KEY,),
        body=NewItem,
        answer=PublishedView,
        status=202,
        further_statuses={200: "Left out by its Source"},
        problems=("key-reused", "not-found", "back-pressure"),
        example=EXAMPLE,
    ),
    Operation(
        operation_id="publishBatch",
        method="POST",
        path="/v1/items:batch",
        summary="Publish up to 1,000 items, one JSON object a line",
        access="operator",
        handle=_publish_batch,
        query=PublishQuery,
        headers=(IDEMPOTENCY_KEY,),
        body=NewItem,
        body_media_type=NDJSON,
        answer=BatchView,
        problems=("key-reused", "not-found", "back-pressure"),
        example=EXAMPLE,
    ),
)
