"""CloudEvents 1.0 over HTTP, in binary, structured and batched mode, for requests as for answers.

    binary        attributes in headers `ce-NAME`, percent-encoded; the body as it is under its own Content-Type
    structured    one event as JSON under application/cloudevents+json
    batched       a list of them under application/cloudevents-batch+json

The mode is told by the Content-Type alone. Names of headers are taken in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gristmill.domain.errors import DataError
from gristmill.engine.messages.core.attributes import CONTENT_TYPE, from_attributes, to_attributes
from gristmill.engine.messages.core.cloud_json import (
    read_cloud_batch,
    read_cloud_event,
    write_cloud_batch,
    write_cloud_event,
)
from gristmill.engine.messages.core.envelope import Envelope

__all__ = ["BATCH_TYPE", "EVENT_TYPE", "read_http", "write_http_batched", "write_http_binary", "write_http_structured"]

EVENT_TYPE = "application/cloudevents+json"
BATCH_TYPE = "application/cloudevents-batch+json"
ANY_TYPE = "application/cloudevents"
PREFIX = "ce-"
HTTP_TYPE = "content-type"

_ENCODED = re.compile(r"[^\x21\x23\x24\x26-\x7e]")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_ESCAPED = re.compile(r"\\(.)")

Request = tuple[dict[str, str], bytes]
"""Headers, names in lower case, and the body."""


def write_http_binary(envelope: Envelope) -> Request:
    """Return headers and body of one event in binary mode."""
    attributes = to_attributes(envelope)
    headers = {HTTP_TYPE: attributes.pop(CONTENT_TYPE)}
    return headers | {f"{PREFIX}{name}": _encode(value) for name, value in attributes.items()}, envelope.body


def write_http_structured(envelope: Envelope) -> Request:
    """Return headers and body of one event in structured mode."""
    return {HTTP_TYPE: EVENT_TYPE}, write_cloud_event(envelope)


def write_http_batched(envelopes: Sequence[Envelope]) -> Request:
    """Return headers and body of events in batched mode; only for whoever asked for batches."""
    return {HTTP_TYPE: BATCH_TYPE}, write_cloud_batch(envelopes)


def read_http(headers: Mapping[str, str], body: bytes) -> list[Envelope]:
    """Return the events of a request or an answer, in order; one unless it is a batch.

    Raises:
        DataError: not a CloudEvent, a form of writing other than JSON, or an attribute is missing or wrong.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    content_type = lower.get(HTTP_TYPE, "")
    media = content_type.partition(";")[0].strip().lower()
    if media == EVENT_TYPE:
        return [read_cloud_event(body)]
    if media == BATCH_TYPE:
        return read_cloud_batch(body)
    if media.startswith(ANY_TYPE):
        raise DataError("Content-Type of a CloudEvent", value=media, advice=f"send {EVENT_TYPE} or {BATCH_TYPE}")
    return [_read_binary(lower, content_type, body)]


def _read_binary(lower: Mapping[str, str], content_type: str, body: bytes) -> Envelope:
    attributes = {
        name.removeprefix(PREFIX): _decode(name, value) for name, value in lower.items() if name.startswith(PREFIX)
    }
    if CONTENT_TYPE in attributes:
        raise DataError(f"header {PREFIX}{CONTENT_TYPE}", advice="the header Content-Type says it; leave this one out")
    if content_type:
        attributes[CONTENT_TYPE] = content_type
    return from_attributes(attributes, body)


def _encode(value: str) -> str:
    return _ENCODED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), value)


def _decode(name: str, header: str) -> str:
    """Return the text of a header: out of its quotes, if it has any, and out of its percent signs, once."""
    value = header.strip()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = _ESCAPED.sub(r"\1", value[1:-1])
    try:
        decoded = _PERCENT.sub(lambda found: chr(int(found[1], 16)), value)
        # Bytes were put into the text one by one, as servers hand the bytes of a header over.
        return decoded.encode("latin-1").decode() if "%" in value else value
    except (TypeError, UnicodeError):
        advice = "percent-encode its UTF-8 bytes"
        raise DataError(f"header {name}", value=header[:40], advice=advice) from None
