"""What was written by a schema is read by it; bytes of nobody are a fault and never anything else."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gristmill.domain.errors import DataError
from gristmill.intake.codecs import Codec, make_codec
from tests.unit.intake.codecs.schemas import MESSAGE, avro_record, avro_schema, descriptor_set, protobuf_record

AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Any",
    "fields": [
        {"name": "whole", "type": "long"},
        {"name": "maybe", "type": ["null", "string", "boolean"]},
        {"name": "part", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "named", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    ],
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
posts = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1).map(str),
        "text": texts,
        "likes": st.integers(-(2**31), 2**31 - 1),
        "tags": st.lists(texts, max_size=3),
        "by": st.fixed_dictionaries({"name": texts}),
        "raw_bytes": st.binary(max_size=8).map(lambda raw: base64.b64encode(raw).decode()),
    }
)
values = st.fixed_dictionaries(
    {
        "whole": st.integers(-(2**63), 2**63 - 1),
        "maybe": st.none() | texts | st.booleans(),
        "part": st.floats(allow_nan=False, allow_infinity=False),
        "raw": st.binary(max_size=8),
        "named": st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
        "kind": st.sampled_from(["A", "B"]),
    }
)


def codec_of(decode: str, schema: bytes, message: str = "") -> Codec:
    codec = make_codec(decode, schema=schema, message=message, framing="none")
    assert codec is not None
    return codec


PROTOBUF = codec_of("protobuf", descriptor_set().SerializeToString(), MESSAGE)
READS_ANY = codec_of("avro", msgspec.json.encode(AVRO))
READS_POSTS = codec_of("avro", avro_schema())


@given(posts)
def test_a_message_comes_back_as_it_was_written(post: dict[str, Any]) -> None:
    by = {name: value for name, value in post["by"].items() if value}
    expected = {name: value for name, value in {**post, "by": by}.items() if value not in (0, "0", "", [])}
    assert msgspec.json.decode(PROTOBUF.to_json(protobuf_record(post))) == expected


@given(values)
def test_an_avro_record_comes_back_as_it_was_written(value: dict[str, Any]) -> None:
    expected = {**value, "raw": base64.b64encode(value["raw"]).decode()}
    assert msgspec.json.decode(READS_ANY.to_json(avro_record(value, AVRO))) == expected


@given(st.sampled_from([PROTOBUF, READS_ANY, READS_POSTS]), st.binary(max_size=64))
def test_bytes_of_nobody_become_json_or_a_fault(codec: Codec, raw: bytes) -> None:
    try:
        msgspec.json.decode(codec.to_json(raw))
    except DataError:
        return


@given(values, st.data())
def test_a_damaged_record_becomes_json_or_a_fault(value: dict[str, Any], data: st.DataObject) -> None:
    raw = bytearray(avro_record(value, AVRO))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        msgspec.json.decode(READS_ANY.to_json(bytes(raw)))
    except DataError:
        return
