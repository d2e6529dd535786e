"""Protobuf records as JSON, by a compiled FileDescriptorSet (`protoc --include_imports --descriptor_set_out=FILE`).

Field names stay as the .proto file writes them. As in the JSON of protobuf, 64-bit whole numbers become texts, bytes
base64, enums their names, times RFC 3339. A field with its default value is not there, since nobody can tell whether
it was set: an id of 0 is no id. Each Source has a pool of its own, so that two revisions of a .proto file do not clash.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError, Message

from gristmill.domain.errors import DataError
from gristmill.intake.codecs.codec import BadSchema
from gristmill.intake.codecs.framing import strip_frame, strip_indexes
from gristmill.plans.names import advise_known

__all__ = ["ProtobufCodec"]

_FAULTS = (DecodeError, json_format.Error, TypeError, ValueError, KeyError, OverflowError, RecursionError)
"""What bytes of others make the library raise: broken ones, times out of range, packed messages of unknown types."""


class ProtobufCodec:
    """See `Codec`.

    Raises:
        BadSchema: no FileDescriptorSet, one without its imports, or the message is not in it.
    """

    def __init__(self, descriptors: bytes, message: str, *, is_framed: bool) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        self._is_framed = is_framed
        self._name = message
        names = _fill(self._pool, descriptors)
        if message not in names:
            raise BadSchema(f"message {message!r} is not in it: {advise_known(message, names)}")
        self._class: type[Message] = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(message))

    def to_json(self, raw: bytes) -> bytes:
        """Return a record as JSON; see `Codec`."""
        body = strip_indexes(strip_frame(raw)) if self._is_framed else raw
        try:
            fields = json_format.MessageToDict(
                self._class.FromString(body),
                preserving_proto_field_name=True,
                descriptor_pool=self._pool,
            )
        except _FAULTS as error:
            raise DataError(f"is no message {self._name}", value=str(error)) from error
        return msgspec.json.encode(fields)


def _fill(pool: descriptor_pool.DescriptorPool, descriptors: bytes) -> list[str]:
    """Add files to a pool, each after those that it imports, and return the full names of all messages."""
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
    except DecodeError as error:
        raise BadSchema(f"is no compiled FileDescriptorSet: {error}") from error
    waiting = {file.name: file for file in files}
    names: list[str] = []
    while waiting:
        ready = [file for file in waiting.values() if not any(name in waiting for name in file.dependency)]
        if not ready:
            raise BadSchema("holds files that import each other")
        for file in ready:
            try:
                pool.Add(file)
            except (TypeError, ValueError) as error:
                advice = "compile it with protoc --include_imports"
                raise BadSchema(f"{file.name} cannot be used: {error}; {advice}") from error
            names += _names_of(file.package, file.message_type)
            del waiting[file.name]
    return names


def _names_of(scope: str, messages: Iterable[Any]) -> list[str]:
    found: list[str] = []
    for message in messages:
        name = f"{scope}.{message.name}" if scope else str(message.name)
        found += [name, *_names_of(name, message.nested_type)]
    return found
