"""Dead letters that were closed: by whom, when and why, with both payloads of those that were edited."""

from __future__ import annotations

from gristmill.api.calls import Call, Operation, Reply, decode_cursor, encode_cursor, reply
from gristmill.api.problems import problem
from gristmill.api.routes.letters.payloads import show_text
from gristmill.api.services import Services
from gristmill.api.shapes.letters.many import ClosedDetailView, ClosedPageView, ClosedQuery, ClosedView
from gristmill.domain.front.times import write_time
from gristmill.domain.upkeep.closing import Closing

__all__ = ["CLOSED_OPERATIONS"]


async def _list_closed(services: Services, call: Call) -> Reply:
    """List dead letters that were closed, the newest first, with who did it and why."""
    query = call.read_query(ClosedQuery)
    found = await services.desk.closings.before(decode_cursor(query.cursor), limit=query.limit)
    following = encode_cursor(found[-1].closing_id) if len(found) == query.limit else None
    seen = [_view(closing) for closing in found if call.principal.sees(closing.tenant)]
    return reply(ClosedPageView(closed=seen, next=following))


async def _show_closed(services: Services, call: Call) -> Reply:
    """Show a dead letter that was closed, with what it was before and after an edit."""
    number = call.number("closing_id")
    closing = await services.desk.closings.find(number)
    if closing is None or not call.principal.sees(closing.tenant):
        raise problem("not-found", f"closed dead letter {number}")
    original, edited = show_text(closing.original), show_text(closing.edited)
    return reply(ClosedDetailView(closed=_view(closing), original=original, edited=edited))


def _view(closing: Closing) -> ClosedView:
    diagnosis = closing.diagnosis
    return ClosedView(
        closing_id=str(closing.closing_id),
        status=closing.kind,
        at=write_time(closing.at_ms),
        actor=closing.actor,
        reason=closing.reason,
        dead_letter_id=str(closing.dead_letter_id),
        topic=closing.topic,
        group=closing.group,
        offset=str(closing.offset),
        plans=diagnosis.plans,
        task=diagnosis.task,
        error_class=diagnosis.error_class,
        error=diagnosis.error_text,
    )


CLOSED_OPERATIONS = (
    Operation(
        operation_id="listClosedDeadLetters",
        method="GET",
        path="/v1/closed-dead-letters",
        summary="List dead letters that were closed, and why",
        access="viewer",
        handle=_list_closed,
        query=ClosedQuery,
        answer=ClosedPageView,
    ),
    Operation(
        operation_id="getClosedDeadLetter",
        method="GET",
        path="/v1/closed-dead-letters/{closing_id}",
        summary="Show a dead letter that was closed",
        access="viewer",
        handle=_show_closed,
        answer=ClosedDetailView,
        problems=("not-found",),
    ),
)
