"""Many items as one file, found and sent stretch by stretch, so that neither side holds them all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import MappingProxyType

import msgspec

from gristmill.api.calls import Call, Operation, Reply, decode_cursor, encode_cursor
from gristmill.api.calls.bodies import NDJSON
from gristmill.api.reading import FoundItem
from gristmill.api.reading.search import scan_items
from gristmill.api.services import Services
from gristmill.api.shapes.lists import ExportQuery
from gristmill.api.views.items import view_found
from gristmill.api.views.rows import COLUMNS, read_columns, write_rows
from gristmill.domain.ids import ItemId

__all__ = ["EXPORT_OPERATIONS", "SCANNED_MAX"]

SCANNED_MAX = 100_000
"""Items looked through for one file, about twenty seconds; it says where to go on."""

SCANNED_CHARS_MAX = 150_000_000
"""Characters of their texts, which take as long at the slowest."""

MEDIA_TYPES = MappingProxyType({"csv": "text/csv", "jsonl": NDJSON})

_encoder = msgspec.json.Encoder()


async def _export_items(services: Services, call: Call) -> Reply:
    """Find items, newest first, and return them as a file.

    Where there are more than were asked for or could be looked through, the last line says so: in JSON lines an object
    with `next`, in a table a row that begins with `more`. Both hold the cursor to go on with.
    """
    query = call.read_query(ExportQuery)
    columns = read_columns(query.columns)
    query.filter()
    decode_cursor(query.cursor)
    head = write_rows([columns]) if query.format == "csv" else b""
    return Reply(
        head,
        media_type=MEDIA_TYPES[query.format],
        headers={"Content-Disposition": f'attachment; filename="items.{query.format}"'},
        parts=_write(services, call, query, columns),
    )


async def _write(services: Services, call: Call, query: ExportQuery, columns: tuple[str, ...]) -> AsyncIterator[bytes]:
    cursor = decode_cursor(query.cursor)
    before = None if cursor is None else ItemId(cursor)
    left, looked_at, chars = query.limit, 0, 0
    parts = scan_items(
        services.state,
        services.front,
        query.filter(),
        sees=call.principal.sees,
        before=before,
        turns=services.scans,
    )
    async for part in parts:
        yield _encode(query, columns, part.matches[:left])
        if len(part.matches) > left:
            last = part.matches[left - 1].item.item_id if left else before
            yield _tell_more(query, last)
            return
        left -= len(part.matches)
        looked_at += len(part.ids)
        chars += part.chars
        before = part.ids[-1]
        if looked_at >= SCANNED_MAX or chars >= SCANNED_CHARS_MAX:
            yield _tell_more(query, before)
            return


def _encode(query: ExportQuery, columns: tuple[str, ...], found: list[FoundItem]) -> bytes:
    if query.format == "csv":
        return write_rows([COLUMNS[name](entry) for name in columns] for entry in found)
    return b"".join(_encoder.encode(view_found(entry)) + b"\n" for entry in found)


def _tell_more(query: ExportQuery, before: ItemId | None) -> bytes:
    cursor = "" if before is None else encode_cursor(before)
    if query.format == "csv":
        return write_rows([[f"more: go on with cursor={cursor}"]])
    return _encoder.encode({"next": cursor}) + b"\n"


EXPORT_OPERATIONS = (
    Operation(
        operation_id="exportItems",
        method="GET",
        path="/v1/items:export",
        summary="Find items and return them as a file",
        access="viewer",
        handle=_export_items,
        query=ExportQuery,
        answer_media_type=NDJSON,
    ),
)
