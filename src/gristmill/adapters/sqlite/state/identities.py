"""Which item an input id stands for, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from gristmill.adapters.sqlite.file.rows import from_json, to_json, write_rows
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import InputKey, storage_form

__all__ = [
    "INSERT_FREE_IDS",
    "INSERT_IDS",
    "MAPPING_WIDTH",
    "MappingRow",
    "find_mapped",
    "map_ids",
    "mapping_row",
    "read_keys",
    "resolve_ids",
]

INSERT_FREE_IDS = "INSERT INTO id_map(tenant, source, input_id, item_id, raw) SELECT * FROM {rows}"
INSERT_IDS = """
INSERT OR IGNORE INTO id_map(tenant, source, input_id, item_id, raw) SELECT * FROM {rows}
"""
"""Take rows of `mapping_row`; the first refuses them all where one is mapped already."""

MAPPING_WIDTH = 5

MappingRow = tuple[str, str, str, ItemId, str | None]

FIND_MAPPED = """
SELECT json_group_array(json_array(m.tenant, m.source, m.input_id, m.item_id)) FROM jsonb_each(?1) j
CROSS JOIN id_map m WHERE m.tenant = j.value ->> 0 AND m.source = j.value ->> 1 AND m.input_id = j.value ->> 2
"""
RESOLVE = """
SELECT input_id, item_id FROM id_map
WHERE tenant = ?1 AND source = ?2 AND input_id IN (SELECT value FROM json_each(?3))
"""
KEYS = """
SELECT item_id, tenant, source, ifnull(raw, input_id) FROM id_map
WHERE item_id IN (SELECT value FROM json_each(?1))
"""


def mapping_row(tenant: str, source: str, input_id: str, item_id: ItemId) -> MappingRow:
    """Return a row of the mapping; a long input id stands beside its hash."""
    stored = storage_form(input_id)
    return tenant, source, stored, item_id, None if stored == input_id else input_id


def find_mapped(turn: Turn, rows: Sequence[Any]) -> dict[tuple[str, str, str], ItemId]:
    """Return what the keys of mapping rows, laid end to end, are mapped to; input ids in their stored form."""
    keys = to_json(list(zip(rows[::MAPPING_WIDTH], rows[1::MAPPING_WIDTH], rows[2::MAPPING_WIDTH], strict=True)))
    found = from_json(turn.db.execute(FIND_MAPPED, (keys,)).get)
    return {(tenant, source, stored): ItemId(item_id) for tenant, source, stored, item_id in found}


def map_ids(turn: Turn, tenant: str, source: str, proposed: Mapping[str, ItemId]) -> dict[str, ItemId]:
    """Map what is not mapped yet and return what holds now."""
    rows: list[Any] = []
    for input_id, item_id in proposed.items():
        rows += mapping_row(tenant, source, input_id, item_id)
    write_rows(turn.db, INSERT_IDS, rows, width=MAPPING_WIDTH)
    return resolve_ids(turn.db, tenant, source, list(proposed))


def resolve_ids(db: apsw.Connection, tenant: str, source: str, input_ids: Sequence[str]) -> dict[str, ItemId]:
    """Return the item ids of those input ids that are known."""
    stored = {storage_form(input_id): input_id for input_id in input_ids}
    found = db.execute(RESOLVE, (tenant, source, to_json(list(stored))))
    return {stored[name]: ItemId(item_id) for name, item_id in found}


def read_keys(db: apsw.Connection, item_ids: Sequence[ItemId]) -> dict[ItemId, InputKey]:
    """Return tenant, source and input id of those items that are known."""
    rows = db.execute(KEYS, (to_json(list(item_ids)),))
    return {ItemId(item_id): InputKey(tenant, source, input_id) for item_id, tenant, source, input_id in rows}
