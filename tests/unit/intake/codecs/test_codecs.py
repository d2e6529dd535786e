"""Records that are no JSON become JSON by a schema, or a fault that says what is wrong."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import msgspec
import pytest

from gristmill.domain.errors import ConfigError, DataError
from gristmill.intake.codecs import BadSchema, Codec, make_codec, pack_schema, unpack_schema
from gristmill.intake.codecs.embedding import SCHEMA_BYTES_MAX
from gristmill.intake.codecs.framing import strip_indexes
from tests.unit.intake.codecs.schemas import (
    AVRO,
    MESSAGE,
    avro_record,
    avro_schema,
    descriptor_set,
    protobuf_record,
)

MADE = datetime.datetime(2024, 1, 31, 9, 30, tzinfo=datetime.UTC)
POST = {
    "id": 7,
    "text": "Café",
    "lang": None,
    "likes": 3,
    "made_at": MADE,
    "tags": ["a", "b"],
    "by": {"name": "Ann"},
}
FRAME = b"\x00\x00\x00\x01\x02"


def protobuf(*, framing: str = "none") -> Codec:
    codec = make_codec("protobuf", schema=descriptor_set().SerializeToString(), message=MESSAGE, framing=framing)
    assert codec is not None
    return codec


def avro(*, framing: str = "none") -> Codec:
    codec = make_codec("avro", schema=avro_schema(), message="", framing=framing)
    assert codec is not None
    return codec


def read(codec: Codec, raw: bytes) -> Any:
    return msgspec.json.decode(codec.to_json(raw))


def test_a_message_becomes_json_with_the_names_of_its_file_and_without_defaults() -> None:
    raw = protobuf_record({"id": "7", "text": "Café", "tags": ["a"], "by": {"name": "Ann"}, "raw_bytes": "/w=="})
    assert read(protobuf(), raw) == {
        "id": "7",
        "text": "Café",
        "tags": ["a"],
        "by": {"name": "Ann"},
        "raw_bytes": "/w==",
    }


def test_an_avro_record_becomes_json_with_times_as_text() -> None:
    assert read(avro(), avro_record(POST)) == {**POST, "made_at": "2024-01-31T09:30:00Z"}


def test_formats_that_are_json_already_need_no_codec() -> None:
    assert make_codec("json", schema=b"", message="", framing="none") is None


@pytest.mark.parametrize(
    "indexes", [b"\x00", b"\x02\x00", b"\x04\x02\x04"], ids=["first message", "one index", "two indexes"]
)
def test_the_frame_of_a_schema_registry_is_taken_off(indexes: bytes) -> None:
    raw = protobuf_record({"id": "7", "text": "x"})
    assert read(protobuf(framing="confluent"), FRAME + indexes + raw)["id"] == "7"
    assert read(avro(framing="confluent"), FRAME + avro_record(POST))["id"] == 7


@pytest.mark.parametrize("raw", [b"\x80", b"\xff" * 9, b"", b"\x02"], ids=["open", "long", "none", "index missing"])
def test_message_indexes_that_are_cut_short_are_a_fault(raw: bytes) -> None:
    with pytest.raises(DataError, match="cut short"):
        strip_indexes(raw)


def test_message_indexes_beyond_any_file_are_a_fault() -> None:
    with pytest.raises(DataError, match="too many"):
        strip_indexes(b"\xfe\x01" + b"\x00" * 200)


@pytest.mark.parametrize(
    ("codec", "raw", "match"),
    [
        (protobuf(), b"\xff\xff", "is no message posts.v1.Post"),
        (protobuf(), b'{"id": 7}', "is no message posts.v1.Post"),
        (protobuf(), b"\x12\x02\xff\xff", "UTF-8"),
        (protobuf(framing="confluent"), b"\x01abcdef", "schema id.*framing: none"),
        (protobuf(framing="confluent"), b"\x00\x00", "schema id"),
        (avro(), avro_record(POST)[:-2], "is no record of the schema"),
        (avro(), avro_record(POST) + b"x", "1 bytes are left"),
        (avro(), b"\x0e\x08\xff\xff\xff\xff", "is no record of the schema"),
        (avro(framing="confluent"), avro_record(POST), "schema id"),
    ],
)
def test_bytes_that_are_no_record_are_a_fault_that_says_why(codec: Codec, raw: bytes, match: str) -> None:
    with pytest.raises(DataError, match=match):
        codec.to_json(raw)


@pytest.mark.parametrize(
    ("schema", "message", "match"),
    [
        (b"junk", MESSAGE, "no compiled FileDescriptorSet"),
        (descriptor_set(with_imports=False).SerializeToString(), MESSAGE, "--include_imports"),
        (descriptor_set().SerializeToString(), "posts.v1.Past", r"did you mean 'posts\.v1\.Post'"),
    ],
)
def test_a_descriptor_that_cannot_be_used_is_refused(schema: bytes, message: str, match: str) -> None:
    with pytest.raises(BadSchema, match=match):
        make_codec("protobuf", schema=schema, message=message, framing="none")


def test_files_that_import_each_other_are_refused() -> None:
    files = descriptor_set()
    files.file[1].dependency.append("post.proto")
    with pytest.raises(BadSchema, match="import each other"):
        make_codec("protobuf", schema=files.SerializeToString(), message=MESSAGE, framing="none")


NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "a.b.Node"]}]}
EMPTY = {"type": "record", "name": "Empty", "fields": []}


@pytest.mark.parametrize(
    ("schema", "match"),
    [
        ("{", "is no Avro schema"),
        ('"nonsense"', "is no Avro schema"),
        ("7", "is no Avro schema"),
        ('{"type": "record", "name": "R"}', "is no Avro schema"),
        ({**NODE, "namespace": "a.b"}, "names itself"),
        ({"type": "map", "values": {**NODE, "namespace": "a.b"}}, "names itself"),
        ({"type": {**NODE, "namespace": "a.b"}}, "names itself"),
        ({"type": "array", "items": "null"}, "take no bytes"),
        ({"type": "array", "items": {"type": "null"}}, "take no bytes"),
        ({"type": "array", "items": EMPTY}, "take no bytes"),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, "take no bytes"),
        (
            {
                "type": "record",
                "name": "R",
                "fields": [{"name": "e", "type": EMPTY}, {"name": "l", "type": {"type": "array", "items": "Empty"}}],
            },
            "take no bytes",
        ),
    ],
)
def test_an_avro_schema_that_is_none_or_could_end_the_process_is_refused(schema: Any, match: str) -> None:
    text = schema.encode() if isinstance(schema, str) else msgspec.json.encode(schema)
    with pytest.raises(BadSchema, match=match):
        make_codec("avro", schema=text, message="", framing="none")


def test_lists_of_unions_and_of_records_are_read() -> None:
    schema = {"type": "array", "items": ["null", {"type": "record", "name": "R", "fields": AVRO["fields"][:1]}]}
    codec = make_codec("avro", schema=msgspec.json.encode(schema), message="", framing="none")
    assert codec is not None
    assert read(codec, avro_record([None, {"id": 1}], schema)) == [None, {"id": 1}]


@pytest.mark.parametrize(
    ("decode", "package", "module", "extra"),
    [
        ("protobuf", "google.protobuf", "gristmill.intake.codecs.protobuf", r"gristmill\[proto\]"),
        ("avro", "fastavro", "gristmill.intake.codecs.avro", r"gristmill\[avro\]"),
    ],
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, decode: str, package: str, module: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=extra):
        make_codec(decode, schema=b"", message="", framing="none")


def test_a_schema_inside_a_text_comes_out_as_it_went_in() -> None:
    schema = descriptor_set().SerializeToString()
    assert unpack_schema(pack_schema(schema)) == schema
    assert pack_schema(schema) == pack_schema(schema)


def test_a_schema_that_is_too_large_damaged_or_cut_short_is_refused() -> None:
    with pytest.raises(BadSchema, match="the most"):
        pack_schema(b"x" * (SCHEMA_BYTES_MAX + 1))
    whole = pack_schema(b"x" * 1_000)
    for text in (whole[:-4], "###", "eJw"):
        with pytest.raises(BadSchema, match=r"damaged|cut short"):
            unpack_schema(text)
