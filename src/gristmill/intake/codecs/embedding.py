"""A schema inside the text of a Source, so that whoever maps by a published Source has the very same one."""

from __future__ import annotations

import base64
import binascii
import zlib

from gristmill.intake.codecs.codec import BadSchema

__all__ = ["SCHEMA_BYTES_MAX", "pack_schema", "unpack_schema"]

SCHEMA_BYTES_MAX = 1024 * 1024
"""As it is decoded; the text of a Source with a usual one stays below 100 KB."""


def pack_schema(schema: bytes) -> str:
    """Return a schema as one line of text, the same for the same bytes.

    Raises:
        BadSchema: it is too large.
    """
    if len(schema) > SCHEMA_BYTES_MAX:
        raise BadSchema(f"has {len(schema)} bytes; {SCHEMA_BYTES_MAX} are the most")
    return base64.b64encode(zlib.compress(schema, 9)).decode()


def unpack_schema(text: str) -> bytes:
    """Return the schema of a text.

    Raises:
        BadSchema: the text is damaged, or holds more than a schema may have.
    """
    try:
        stream = zlib.decompressobj()
        schema = stream.decompress(base64.b64decode(text, validate=True), SCHEMA_BYTES_MAX)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise BadSchema(f"is damaged: {error}") from error
    if not stream.eof:
        raise BadSchema("is cut short or too large")
    return schema
