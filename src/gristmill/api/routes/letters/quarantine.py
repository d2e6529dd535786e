"""Records that never became an item."""

from __future__ import annotations

from gristmill.api.calls import Call, Operation, Reply, decode_cursor, encode_cursor, reply
from gristmill.api.routes.letters.payloads import show_text
from gristmill.api.services import Services
from gristmill.api.shapes.letters.quarantine import QuarantinePageView, QuarantineQuery, QuarantineView
from gristmill.domain.front.times import write_time
from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["QUARANTINE_OPERATIONS"]


async def _list_quarantine(services: Services, call: Call) -> Reply:
    """List records that never became an item. They have no tenant, so only the default one's callers see them."""
    query = call.read_query(QuarantineQuery)
    after = decode_cursor(query.cursor) or 0
    if not call.principal.sees(TENANT_DEFAULT):
        return reply(QuarantinePageView([], None))
    entries = await services.state.quarantined(query.generator, after=after, limit=query.limit)
    following = encode_cursor(entries[-1].position) if len(entries) == query.limit else None
    views = [
        QuarantineView(
            quarantine_id=str(entry.quarantine_id),
            source=entry.source,
            source_revision=entry.source_revision,
            generator=entry.generator,
            position=str(entry.position),
            at=write_time(entry.at_ms),
            reason=entry.reason,
            violations=entry.violations,
            raw=show_text(entry.raw),
        )
        for entry in entries
    ]
    return reply(QuarantinePageView(views, following))


QUARANTINE_OPERATIONS = (
    Operation(
        operation_id="listQuarantine",
        method="GET",
        path="/v1/quarantine",
        summary="List records that never became an item",
        access="viewer",
        handle=_list_quarantine,
        query=QuarantineQuery,
        answer=QuarantinePageView,
    ),
)
