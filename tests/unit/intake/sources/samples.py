"""A Source of a nested foreign format that uses everything a file can say."""

from __future__ import annotations

import json
from typing import Any

from gristmill.intake.sources.mapper import SourceMapper, compile_source
from gristmill.intake.sources.reader import read_source

NEWS = """\
source: news_feed
type: article/1
from: {log: raw.news, decode: json}
identity: {biz_id: "$.art.id", revision: "$.art.rev", at: "$.art.ts", deleted: "$.art.removed"}
map:
  - {to: title, path: "$.art.t", required: true, convert: [strip, nfc]}
  - {to: body, path: "$.art.b", required: true}
  - {to: images, path: "$.art.pics[*].u", many: true}
  - {to: lang, path: "$.art.lang", convert: [strip, lower]}
  - {to: author, path: "$.art.by.name"}
  - {to: created_at, path: "$.art.made", convert: [rfc3339]}
  - {to: ext.main.heat, path: "$.stats.heat", default: 0, convert: [int]}
  - {to: ext.main.tags, path: "$.art.tags", many: true, convert: [{split: ";"}]}
extension:
  ext.main:
    type: object
    properties:
      heat: {type: integer, minimum: 0}
      tags: {type: array, items: {type: string}}
filter:
  - {drop: too_short, when: "size(item.title) < 2"}
  - {drop: foreign, when: "has(item.lang) && item.lang != 'en'"}
start: [article_main]
"""


def news(text: str = NEWS) -> SourceMapper:
    return compile_source(read_source(text, file="news.yaml"), revision=3, file="news.yaml")


def record(**changes: Any) -> dict[str, Any]:
    """A sound record; `changes` replace entries of its `art` (None takes one away)."""
    art: dict[str, Any] = {
        "id": 7,
        "rev": 2,
        "ts": "2024-01-31T09:30:00Z",
        "t": "  Cafe\u0301 opens ",
        "b": "In the old mill.",
        "pics": [{"u": "https://example.org/a"}, {"x": 1}, {"u": "https://example.org/b"}],
        "lang": " EN",
        "by": {"name": "ann"},
        "made": "2024-01-30T00:00:00+02:00",
        "tags": "food; town;",
    }
    art.update(changes)
    return {"art": {key: value for key, value in art.items() if value is not None}, "stats": {"heat": "5"}}


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()
