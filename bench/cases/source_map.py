"""source.map: records that one core maps by a Source: 12 fields of a nested record of 2 KiB, schema, and a filter."""

from __future__ import annotations

import json
import time

from cases.figure import Figure

from gristmill.domain.intake import MappedRecord
from gristmill.intake.sources.mapper import compile_source
from gristmill.intake.sources.reader import read_source

RECORDS_PER_S_MIN = 3_000.0
"""What a core must do at least."""

TEXT = "a post of ordinary length that says nothing in particular " * 30
SOURCE = """\
source: bench
type: article/1
identity: {biz_id: "$.art.id", revision: "$.art.rev", at: "$.art.ts"}
map:
  - {to: title, path: "$.art.t", required: true, convert: [strip, nfc]}
  - {to: body, path: "$.art.b", required: true, convert: [strip]}
  - {to: summary, path: "$.art.s"}
  - {to: cover, path: "$.art.pics[0].u"}
  - {to: images, path: "$.art.pics[*].u", many: true}
  - {to: lang, path: "$.art.lang", default: en, convert: [lower]}
  - {to: author, path: "$.by.id", convert: [text]}
  - {to: created_at, path: "$.art.ts", convert: [rfc3339]}
  - {to: source_url, path: "$.art.url"}
  - {to: ext.main.heat, path: "$.stats.heat", default: 0, convert: [int]}
  - {to: ext.main.score, path: "$.stats.score", convert: [float]}
  - {to: ext.main.tags, path: "$.art.tags", many: true, convert: [{split: ";"}]}
extension:
  ext.main:
    type: object
    properties: {heat: {type: integer}, score: {type: number}, tags: {type: array, items: {type: string}}}
filter: [{drop: too_short, when: "size(item.title) < 2 || item.ext.main.heat < 0"}]
"""


def measure_source_map(quick: bool) -> Figure:
    """Return records per second of CPU time, one value a batch."""
    mapper = compile_source(read_source(SOURCE, file="bench.yaml"))
    records = [make_record(number) for number in range(1_000)]
    runs = tuple(measure_once(mapper.map, records) for _ in range(3 if quick else 9))
    return Figure(runs=runs, unit="records/s/core", raw=RECORDS_PER_S_MIN, less_is_better=False)


def measure_once(map_record: object, records: list[bytes]) -> float:
    began = time.process_time()
    found = [map_record(raw) for raw in records]  # type: ignore[operator]
    spent = time.process_time() - began
    if not all(isinstance(one, MappedRecord) for one in found):
        raise AssertionError("a record of the bench is bad")
    return len(records) / spent


def make_record(number: int) -> bytes:
    art = {
        "id": number,
        "rev": 1,
        "ts": "2024-01-31T09:30:00Z",
        "t": f"  Number {number} ",
        "b": TEXT,
        "s": "in short",
        "pics": [{"u": f"https://example.org/{number}/{index}"} for index in range(3)],
        "lang": "EN",
        "url": "https://example.org/a",
        "tags": "one;two;three",
    }
    return json.dumps({"art": art, "by": {"id": number % 97}, "stats": {"heat": number % 7, "score": 0.5}}).encode()
