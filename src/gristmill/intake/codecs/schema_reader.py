"""Reads what a Source says about records that are no JSON, and puts the schema that it names into its text.

from: {log: raw.posts, decode: protobuf, descriptor: posts.binpb, message: posts.v1.Post}
from: {log: raw.posts, decode: avro, schema: posts.avsc, framing: confluent}

Files are meant from the folder of the Source file. What is published holds their content under `embedded`: whoever
maps by it needs no file, and a changed schema is another revision.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from gristmill.domain.errors import ConfigError
from gristmill.intake.codecs import BadSchema, pack_schema, unpack_schema
from gristmill.intake.sources.definition import Decode, Framing, RecordSchema
from gristmill.intake.sources.place import Place
from gristmill.plans.definitions.yaml_lines import line_of, load_yaml

__all__ = ["EMBEDDED", "SCHEMA_KEYS", "embed_schema", "read_schema"]

EMBEDDED = "embedded"
FILE_KEYS: Mapping[str, str] = {"protobuf": "descriptor", "avro": "schema"}
"""Which key names the file of each format."""

SCHEMA_KEYS = (*FILE_KEYS.values(), "message", "framing")
COMMENT = "# What the file named under from: held when this was published (zlib, base64)."


def embed_schema(text: str, *, file: Path) -> str:
    """Return the text of a Source with the content of the schema file that it names.

    A text that names none, or that holds the content already, is returned as it is.

    Raises:
        ConfigError: the file cannot be read or is too large; names the Source file and line.
    """
    root = load_yaml(text, file=str(file))
    origin = root.get("from") if isinstance(root, dict) else None
    if not isinstance(origin, dict) or EMBEDDED in root:
        return text
    key = FILE_KEYS.get(str(origin.get("decode")), "")
    if not isinstance(origin.get(key), str):
        return text
    place, line = Place(str(file)), line_of(origin, key)
    named = file.parent / origin[key]
    try:
        packed = pack_schema(named.read_bytes())
    except OSError as error:
        place.refuse(key, line, f"{named} cannot be read", error.strerror or str(error))
    except BadSchema as error:
        place.refuse(key, line, f"{named} {error}", "give the schema of these records alone")
    embedded = f"{text.rstrip()}\n{COMMENT}\n{EMBEDDED}: {packed}\n"
    try:
        holds = load_yaml(embedded, file=str(file)).get(EMBEDDED) == packed
    except ConfigError:
        holds = False
    if not holds:
        place.refuse(key, line, "its content cannot be added at the end of this file", "write each key on a line")
    return embedded


def read_schema(
    place: Place, root: Mapping[Any, Any], origin: Mapping[Any, Any], *, decode: Decode
) -> RecordSchema | None:
    """Return the schema of a Source, None for records that need none; refuse keys that do not fit together."""
    key = FILE_KEYS.get(decode, "")
    wanted = {key, "framing", *(["message"] if decode == "protobuf" else [])} if key else set()
    for other in SCHEMA_KEYS:
        if other in origin and other not in wanted:
            place.refuse(other, line_of(origin, other), f"means nothing with decode: {decode}", "take it out")
    if not key:
        return None
    place.read_text(origin, key, None)
    message = place.read_text(origin, "message", None) if decode == "protobuf" else ""
    framing = place.read_choice(origin, "framing", get_args(Framing), "none")
    if EMBEDDED not in root:
        advice = "publish the Source by `gristmill source publish`, beside the file that it names"
        place.refuse(key, line_of(origin, key), "the text does not hold its content", advice)
    try:
        content = unpack_schema(place.read_text(root, EMBEDDED, None))
    except BadSchema as error:
        place.refuse(EMBEDDED, line_of(root, EMBEDDED), str(error), "publish the Source again from its files")
    return RecordSchema(content, message, framing)
