"""Records that are no JSON: what turns their bytes into JSON, by a schema that travels with the Source."""

from gristmill.intake.codecs.codec import BadSchema, Codec, make_codec
from gristmill.intake.codecs.embedding import pack_schema, unpack_schema

__all__ = ["BadSchema", "Codec", "make_codec", "pack_schema", "unpack_schema"]
