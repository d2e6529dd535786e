"""Dead letters by cause, and all of one cause closed together after a look at how many they are."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.desk import close_letters
from gristmill.api.desk.causes import Cause, choose_letters, find_cause, list_causes, read_outlines
from gristmill.api.problems import Fault, problem
from gristmill.api.services import Services
from gristmill.api.shapes.letters.many import CausesQuery, CausesView, CauseView, ManyClosedView, ManyRequest
from gristmill.domain.front.times import write_time

__all__ = ["MANY_OPERATIONS"]

_decoder = msgspec.json.Decoder(ManyRequest)


async def _list_causes(services: Services, call: Call) -> Reply:
    """Put open dead letters together by plans, task and error, whatever numbers and ids their errors name."""
    query = call.read_query(CausesQuery)
    found = await read_outlines(services.log, call.principal, topic=query.topic, group=query.group)
    views = [_view(cause) for cause in await list_causes(found.letters)]
    return reply(CausesView(causes=views, complete=found.is_whole))


async def _requeue_many(services: Services, call: Call) -> Reply:
    """Make letters of a cause records again, up to `limit` a call."""
    return await _close(services, call, "requeued")


async def _drop_many(services: Services, call: Call) -> Reply:
    """Close letters of a cause for good, up to `limit` a call. A reason is needed, and kept."""
    return await _close(services, call, "dropped")


async def _close(services: Services, call: Call, kind: Literal["requeued", "dropped"]) -> Reply:
    request = await read_json(call, _decoder)
    if kind == "dropped" and not request.reason.strip():
        raise problem("validation", "reason", errors=[Fault("/reason", "is needed to drop records for good")])
    _, cause = await find_cause(services.log, call.principal, call.path_values["cause"])
    chosen = choose_letters(cause, upto=int(request.newest), count=request.count)
    part = chosen[: request.limit]
    closed = await close_letters(services.desk, call.principal, part, kind, reason=request.reason)
    return reply(ManyClosedView(closed=closed, left=len(chosen) - len(part)))


def _view(cause: Cause) -> CauseView:
    diagnosis = cause.sample.diagnosis
    return CauseView(
        cause=cause.fingerprint,
        count=len(cause.letters),
        plans=diagnosis.plans,
        task=diagnosis.task,
        error_class=diagnosis.error_class,
        error=diagnosis.error_text.partition("\n")[0],
        first_failed_at=write_time(cause.first_ms),
        last_failed_at=write_time(cause.last_ms),
        newest=str(cause.letters[-1].dead_letter_id),
    )


EXAMPLE = {"count": 1, "newest": "17", "reason": "the model is back"}

MANY_OPERATIONS = (
    Operation(
        operation_id="listDeadLetterCauses",
        method="GET",
        path="/v1/dead-letter-causes",
        summary="List why records were given up",
        access="viewer",
        handle=_list_causes,
        query=CausesQuery,
        answer=CausesView,
    ),
    Operation(
        operation_id="requeueDeadLetterCause",
        method="POST",
        path="/v1/dead-letter-causes/{cause}/requeue",
        summary="Give records of one cause another chance",
        access="operator",
        handle=_requeue_many,
        body=ManyRequest,
        answer=ManyClosedView,
        problems=("not-found", "conflict"),
        example=EXAMPLE,
    ),
    Operation(
        operation_id="dropDeadLetterCause",
        method="POST",
        path="/v1/dead-letter-causes/{cause}/drop",
        summary="Close dead letters of one cause for good",
        access="operator",
        handle=_drop_many,
        body=ManyRequest,
        answer=ManyClosedView,
        problems=("not-found", "conflict"),
        example=EXAMPLE,
    ),
)
