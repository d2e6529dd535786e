"""An Envelope as context attributes of CloudEvents 1.0, and back. All three forms of writing stand on these.

    id, source, type, specversion   as they are; the version is 1.0
    time                            at_ms, RFC 3339
    datacontenttype                 body_type
    partitionkey, subject           key; a subject that says more than the key is kept among the extras
    traceparent                     trace
    gristmilltier, -tenant, -rev,   what CloudEvents has no name for; numbers are written as text, since an Integer of
    -attempt, -progress             CloudEvents has 32 bits. Progress is a JSON object

Source: CloudEvents 1.0.2, and its extensions for partitioning and distributed tracing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from gristmill.domain.errors import DataError
from gristmill.domain.front.times import write_time
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.engine.messages.core.envelope import JSON_TYPE, TIERS, Envelope, Tier, check_envelope
from gristmill.plans.names import advise_known

__all__ = ["CONTENT_TYPE", "from_attributes", "is_json_type", "to_attributes"]

CONTENT_TYPE = "datacontenttype"
VERSION = "1.0"
PREFIX = "gristmill"
SUBJECT = "items/"
REQUIRED = ("id", "source", "type", "specversion")

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_progress_decoder = msgspec.json.Decoder(dict[str, str])
_progress_encoder = msgspec.json.Encoder(order="deterministic")


def to_attributes(envelope: Envelope) -> dict[str, str]:
    """Return the attributes, all as text; what is empty or says nothing is left out."""
    attributes = {
        "specversion": VERSION,
        "id": envelope.id,
        "source": envelope.source,
        "type": envelope.type,
        CONTENT_TYPE: envelope.body_type,
        f"{PREFIX}tier": envelope.tier,
        f"{PREFIX}tenant": envelope.tenant,
    }
    if envelope.at_ms:
        attributes["time"] = write_time(envelope.at_ms)
    if envelope.key:
        attributes |= {"partitionkey": envelope.key, "subject": f"{SUBJECT}{envelope.key}"}
    if envelope.trace:
        attributes["traceparent"] = envelope.trace
    if envelope.source_rev:
        attributes[f"{PREFIX}rev"] = str(envelope.source_rev)
    if envelope.attempt > 1:
        attributes[f"{PREFIX}attempt"] = str(envelope.attempt)
    if envelope.progress:
        attributes[f"{PREFIX}progress"] = _progress_encoder.encode(envelope.progress).decode()
    return attributes | envelope.extras


def from_attributes(attributes: Mapping[str, str], body: bytes) -> Envelope:
    """Return the Envelope that attributes and a body say.

    Raises:
        DataError: an attribute is missing or wrong; it is named.
    """
    left = dict(attributes)
    for name in REQUIRED:
        if not left.get(name):
            raise DataError(f"attribute {name!r} of a CloudEvent is missing", advice=f"send {', '.join(REQUIRED)}")
    if (version := left.pop("specversion")) != VERSION:
        raise DataError("specversion of a CloudEvent", value=version, advice=f"send version {VERSION}")
    subject, key = left.pop("subject", ""), left.pop("partitionkey", "")
    if not key:
        key = subject.removeprefix(SUBJECT)
    elif subject and subject != f"{SUBJECT}{key}":
        left["subject"] = subject
    envelope = Envelope(
        id=left.pop("id"),
        type=left.pop("type"),
        source=left.pop("source"),
        tier=_read_tier(left.pop(f"{PREFIX}tier", "normal")),
        tenant=left.pop(f"{PREFIX}tenant", TENANT_DEFAULT),
        key=key,
        source_rev=_read_number("rev", left.pop(f"{PREFIX}rev", "0")),
        at_ms=_read_time(left.pop("time", "")),
        attempt=_read_number("attempt", left.pop(f"{PREFIX}attempt", "1")),
        progress=_read_progress(left.pop(f"{PREFIX}progress", "{}")),
        trace=left.pop("traceparent", ""),
        body=body,
        body_type=left.pop(CONTENT_TYPE, JSON_TYPE),
        extras={name: value for name, value in left.items() if value},
    )
    check_envelope(envelope)
    return envelope


def is_json_type(content_type: str) -> bool:
    """Whether a media type declares a body of JSON, whatever its parameters."""
    media = content_type.partition(";")[0].strip().lower()
    return media.endswith(("/json", "+json"))


def _read_tier(text: str) -> Tier:
    for tier in TIERS:
        if tier == text:
            return tier
    raise DataError("tier of a record", value=text, advice=advise_known(text, TIERS))


def _read_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        raise DataError(f"attribute {PREFIX}{name}", value=text[:40], advice="send a whole number as text")
    return int(text)


def _read_time(text: str) -> int:
    """Return UTC epoch milliseconds, 0 for an empty text; what is finer is cut off."""
    if not text:
        return 0
    parts = _RFC3339.fullmatch(text)
    try:
        if parts is None:
            raise ValueError
        day, second, fraction, zone = parts.groups()
        moment = datetime.fromisoformat(f"{day}T{second}{zone.upper()}")
        return int(moment.timestamp()) * 1_000 + int((fraction or ".0")[1:4].ljust(3, "0"))
    except (ValueError, OverflowError):
        advice = "send a time such as 2026-11-30T08:00:00.000Z"
        raise DataError("time of a CloudEvent", value=text[:40], advice=advice) from None


def _read_progress(text: str) -> dict[str, str]:
    try:
        return _progress_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        advice = "send a JSON object of plan keys and outcomes, or leave it out"
        raise DataError(f"attribute {PREFIX}progress", value=text[:40], advice=advice) from None
