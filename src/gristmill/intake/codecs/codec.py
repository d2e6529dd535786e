"""What turns the bytes of a record into JSON, chosen by its format.

Everything behind it is the same as for records that are JSON: the same guards against depth and forbidden signs, the
same paths.
"""

from __future__ import annotations

from typing import Protocol

from gristmill.domain.errors import ConfigError

__all__ = ["BadSchema", "Codec", "make_codec"]


class BadSchema(ValueError):
    """A schema that cannot be used; the text says why."""


class Codec(Protocol):
    """Decodes records of one schema. Safe for any bytes."""

    def to_json(self, raw: bytes) -> bytes:
        """Return a record as JSON.

        Raises:
            DataError: the bytes are no record of the schema; it says what is wrong.
        """
        ...


def make_codec(decode: str, *, schema: bytes, message: str, framing: str) -> Codec | None:
    """Return what decodes a format, None for those that are JSON already.

    Args:
        decode: `protobuf` or `avro`, or another.
        schema: a compiled FileDescriptorSet, or an Avro schema as JSON.
        message: full name of the message, of protobuf alone.
        framing: `none`, or `confluent` where a schema id stands before each record.
    Raises:
        BadSchema: the schema cannot be used.
        ConfigError: the extra is missing; it is named.
    """
    match decode:
        case "protobuf":
            try:
                from gristmill.intake.codecs.protobuf import ProtobufCodec
            except ImportError as error:
                raise _missing("protobuf", "proto") from error
            return ProtobufCodec(schema, message, is_framed=framing == "confluent")
        case "avro":
            try:
                from gristmill.intake.codecs.avro import AvroCodec
            except ImportError as error:
                raise _missing("avro", "avro") from error
            return AvroCodec(schema, is_framed=framing == "confluent")
        case _:
            return None


def _missing(decode: str, extra: str) -> ConfigError:
    advice = f"install the extra that reads it: pip install 'gristmill[{extra}]'"
    return ConfigError(f"records of a source with decode: {decode} cannot be read here", advice=advice)
