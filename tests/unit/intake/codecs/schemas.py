"""A protobuf message and an Avro schema of the same posts, and the Source that maps both."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

MESSAGE = "posts.v1.Post"

AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Post",
    "namespace": "posts.v1",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": "string"},
        {"name": "lang", "type": ["null", "string"], "default": None},
        {"name": "likes", "type": "int"},
        {"name": "made_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {
            "name": "by",
            "type": {"type": "record", "name": "Author", "fields": [{"name": "name", "type": "string"}]},
        },
    ],
}

SOURCE = """\
source: posts
type: post/1
from: {from}
identity: {biz_id: "$.id"}
map:
  - {to: text, path: "$.text", required: true}
  - {to: author, path: "$.by.name"}
  - {to: ext.main.likes, path: "$.likes", convert: [int]}
  - {to: ext.main.tags, path: "$.tags", many: true}
extension:
  ext.main:
    type: object
    properties:
      likes: {type: integer}
      tags: {type: array, items: {type: string}}
"""

_field = descriptor_pb2.FieldDescriptorProto


def descriptor_set(*, with_imports: bool = True) -> descriptor_pb2.FileDescriptorSet:
    """Two files, the second importing the first, in the wrong order."""
    author = descriptor_pb2.FileDescriptorProto(name="author.proto", package="posts.v1", syntax="proto3")
    _add(author.message_type.add(name="Author"), ("name", _field.TYPE_STRING))
    post = descriptor_pb2.FileDescriptorProto(
        name="post.proto", package="posts.v1", syntax="proto3", dependency=["author.proto"]
    )
    message = post.message_type.add(name="Post")
    _add(message, ("id", _field.TYPE_INT64), ("text", _field.TYPE_STRING), ("likes", _field.TYPE_INT32))
    message.field.add(name="tags", number=4, type=_field.TYPE_STRING, label=_field.LABEL_REPEATED)
    message.field.add(
        name="by", number=5, type=_field.TYPE_MESSAGE, type_name=".posts.v1.Author", label=_field.LABEL_OPTIONAL
    )
    message.field.add(name="raw_bytes", number=6, type=_field.TYPE_BYTES, label=_field.LABEL_OPTIONAL)
    _add(message.nested_type.add(name="Inner"), ("x", _field.TYPE_STRING))
    return descriptor_pb2.FileDescriptorSet(file=[post, author] if with_imports else [post])


def protobuf_record(fields: dict[str, Any]) -> bytes:
    """Return a message with these fields, as JSON of protobuf names them."""
    pool = descriptor_pool.DescriptorPool()
    for file in reversed(descriptor_set().file):
        pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(MESSAGE))()
    return json_format.ParseDict(fields, message, descriptor_pool=pool).SerializeToString()


def avro_record(value: Any, schema: Any = AVRO) -> bytes:
    """Return a value in Avro's bytes."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def avro_schema() -> bytes:
    """Return the schema as a file holds it."""
    return msgspec.json.encode(AVRO)


def _add(message: descriptor_pb2.DescriptorProto, *fields: tuple[str, Any]) -> None:
    for number, (name, kind) in enumerate(fields, 1):
        message.field.add(name=name, number=number, type=kind, label=_field.LABEL_OPTIONAL)
