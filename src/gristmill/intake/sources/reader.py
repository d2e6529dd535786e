"""Reads the file of a Source, or refuses it with file, line, and the nearest known name.

source: news_feed                     # name; generators and `gristmill run --source` use it
tenant: main                          # whose content it is
type: article/1                       # post, comment, article or image, and the major version of its schema
from: {log: raw.news, decode: json}   # decode: json, csv, parquet, protobuf, avro; see `intake.codecs.schema_reader`
identity: {biz_id: "$.art.id", revision: "$.art.rev", at: "$.art.ts", deleted: "$.art.removed"}
map:
  - {to: title, path: "$.art.t", required: true, convert: [strip, nfc]}
  - {to: images, path: "$.art.pics[*].u", many: true}
  - {to: ext.main.heat, path: "$.stats.heat", default: 0, convert: [int]}
extension: {ext.main: {type: object, properties: {heat: {type: integer, minimum: 0}}}}
filter: [{drop: too_short, when: "size(item.title) < 2"}]
on_bad: quarantine                    # or skip
start: [article_main]                 # plans for its items
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, get_args

from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.intake.codecs.schema_reader import EMBEDDED, SCHEMA_KEYS, read_schema
from gristmill.intake.sources.definition import (
    Decode,
    FilterRule,
    IdentityRules,
    OnBad,
    Order,
    SourceDefinition,
    TrafficClass,
)
from gristmill.intake.sources.kinds import KINDS, describe_fields
from gristmill.intake.sources.place import Place
from gristmill.intake.sources.rules_reader import read_field_rules
from gristmill.intake.sources.validation import BadSchema, check_extension
from gristmill.plans.definitions.yaml_lines import is_key, line_of, load_yaml, without_lines
from gristmill.plans.names import advise_known

__all__ = ["read_source"]

KEYS = (
    "source",
    "tenant",
    "type",
    "from",
    "identity",
    "map",
    "extension",
    "filter",
    "on_bad",
    "order",
    "class",
    "start",
    EMBEDDED,
)
FROM_KEYS = ("log", "decode", *SCHEMA_KEYS)
IDENTITY_KEYS = ("biz_id", "revision", "at", "deleted")
FILTER_KEYS = ("drop", "when")
FILTERS_MAX = 50
HASH_DIGITS = 16


def read_source(text: str, *, file: str) -> SourceDefinition:
    """Return the definition in a YAML text. Filters are checked when it is compiled.

    Raises:
        ConfigError: anything in it is wrong; names file and line.
    """
    place = Place(file)
    root = load_yaml(text, file=file)
    if not isinstance(root, dict):
        place.refuse("source", 0, "has no keys", "it needs source:, type:, identity: and map:")
    place.check_keys("source", root, KEYS)
    name, tenant = place.read_name(root, "source", ""), place.read_name(root, "tenant", TENANT_DEFAULT)
    kind = _read_kind(place, root)
    extension = _read_extension(place, root, kind=kind, tenant=tenant)
    origin = place.read_mapping(root, "from", FROM_KEYS)
    decode = place.read_choice(origin, "decode", get_args(Decode), "json")
    return SourceDefinition(
        name=name,
        tenant=tenant,
        kind=kind,
        topic=place.read_text(origin, "log", ""),
        decode=decode,
        schema=read_schema(place, root, origin, decode=decode),
        identity=_read_identity(place, root),
        fields=read_field_rules(place, root, kind=kind, tenant=tenant, extension=extension),
        extension=extension,
        filters=_read_filters(place, root),
        on_bad=place.read_choice(root, "on_bad", get_args(OnBad), "quarantine"),
        order=place.read_choice(root, "order", get_args(Order), "free"),
        traffic_class=place.read_choice(root, "class", get_args(TrafficClass), "live"),
        start=_read_start(place, root),
        text=text,
        hash=hashlib.sha256(text.encode("utf-8")).hexdigest()[:HASH_DIGITS],
    )


def _read_kind(place: Place, root: Mapping[str, Any]) -> str:
    text = place.read_text(root, "type", None)
    kind, _, major = text.partition("/")
    if kind not in KINDS:
        place.refuse("type", line_of(root, "type"), f"unknown type {kind!r}", advise_known(kind, KINDS))
    if major not in ("", "1"):
        place.refuse("type", line_of(root, "type"), f"{kind} has no version {major!r}", f"write {kind}/1")
    return kind


def _read_identity(place: Place, root: Mapping[str, Any]) -> IdentityRules:
    fields = place.read_mapping(root, "identity", IDENTITY_KEYS)
    if "biz_id" not in fields:
        line = line_of(root, "identity") or line_of(root)
        place.refuse("identity", line, "has no biz_id", 'write identity: {biz_id: "$.id"}')
    paths = {
        key: place.check_path(f"identity {key}", line_of(fields, key), fields[key]) for key in fields if is_key(key)
    }
    return IdentityRules(**paths)


def _read_extension(place: Place, root: Mapping[str, Any], *, kind: str, tenant: str) -> dict[str, Any]:
    own = f"ext.{tenant}"
    fields = place.read_mapping(root, "extension", (own,)) if "extension" in root else {}
    schema = without_lines(fields.get(own, {}))
    if own not in fields:
        return {}
    line = line_of(fields, own)
    try:
        check_extension(schema if isinstance(schema, dict) else {})
    except BadSchema as error:
        place.refuse(own, line, f"no JSON Schema: {error}", "see https://json-schema.org/draft/2020-12")
    standard = describe_fields(kind)
    for name in schema["properties"]:
        if name in standard:
            place.refuse(
                own, line, f"field {name!r} is a standard field of {kind}", "map to it, or name yours otherwise"
            )
    extension: dict[str, Any] = schema
    return extension


def _read_filters(place: Place, root: Mapping[str, Any]) -> tuple[FilterRule, ...]:
    rules: list[FilterRule] = []
    for fields in place.read_list(root, "filter", most=FILTERS_MAX):
        if not isinstance(fields, dict):
            place.refuse("filter", line_of(root, "filter"), "has no keys", "write {drop: NAME, when: CONDITION}")
        place.check_keys("filter", fields, FILTER_KEYS)
        drop, when = place.read_name(fields, "drop", ""), place.read_text(fields, "when", None)
        rules.append(FilterRule(drop, when, line_of(fields, "when")))
    return tuple(rules)


def _read_start(place: Place, root: Mapping[str, Any]) -> tuple[str, ...]:
    plans = place.read_list(root, "start", most=100)
    if not all(isinstance(plan, str) for plan in plans):
        place.refuse("start", line_of(root, "start"), "is no list of plan keys", "write start: [screen]")
    return tuple(plans)
