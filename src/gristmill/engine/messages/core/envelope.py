"""What routing knows of a record, whatever its body says."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from gristmill.domain.errors import DataError
from gristmill.domain.front.times import is_calendar_time
from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["JSON_TYPE", "SOURCE_HERE", "TIERS", "Envelope", "Tier", "check_envelope"]

Tier = Literal["urgent", "normal", "bulk"]
"""How soon a record is wanted. Each tier has its own topics and its own workers."""

TIERS: tuple[Tier, ...] = ("urgent", "normal", "bulk")

SOURCE_HERE = "/gristmill"
"""The source of what this installation sends to itself."""

JSON_TYPE = "application/json"

TEXT_CHARS_MAX = 1_024
NUMBER_MAX = (1 << 63) - 1

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_EXTRA_NAME = re.compile(r"[a-z0-9]{1,64}")


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A record with what routing needs to know of it.

    Attributes:
        id: unique within its source; a second record of the same pair within a day is a copy.
        type: decides the route; `comment.published` and the like.
        source: who says so, a URI reference.
        tier: of its route; a sender's own is replaced.
        tenant: whose content it is about.
        key: the content that it is about; records of one key keep their order. Empty for none.
        source_rev: revision of the content that it tells of; 0 where it has none.
        at_ms: when it happened, UTC epoch; 0 if unknown.
        attempt: tries so far, this one included; 1 on the first.
        progress: plan key -> outcome, of the plans that were called in earlier tries.
        trace: W3C traceparent, empty if none.
        body: what it says.
        body_type: media type of the body.
        extras: further attributes of the CloudEvent that it came as, by name.
    """

    id: str
    type: str
    source: str = SOURCE_HERE
    tier: Tier = "normal"
    tenant: str = TENANT_DEFAULT
    key: str = ""
    source_rev: int = 0
    at_ms: int = 0
    attempt: int = 1
    progress: dict[str, str] = {}
    trace: str = ""
    body: bytes = b""
    body_type: str = JSON_TYPE
    extras: dict[str, str] = {}


def check_envelope(envelope: Envelope) -> None:
    """Refuse what no log, header or CloudEvent could carry.

    Raises:
        DataError: names the attribute and its value.
    """
    for name in ("id", "type", "source", "tenant", "body_type"):
        _check_text(name, getattr(envelope, name))
    for name in ("key", "trace"):
        _check_text(name, getattr(envelope, name), is_needed=False)
    for name, least in (("source_rev", 0), ("attempt", 1)):
        number: int = getattr(envelope, name)
        if not least <= number <= NUMBER_MAX:
            raise DataError(f"{name} of a record", value=number, advice=f"send a whole number from {least} up")
    if not is_calendar_time(envelope.at_ms):
        raise DataError("time of a record", value=envelope.at_ms, advice="send a time from 1970 to the year 9999")
    for name, value in envelope.extras.items():
        if not _EXTRA_NAME.fullmatch(name):
            raise DataError("attribute of a record", value=name, advice="use 1 to 64 of a-z and 0-9")
        _check_text(name, value)


def _check_text(name: str, value: str, *, is_needed: bool = True) -> None:
    if is_needed and not value:
        raise DataError(f"{name} of a record is empty", advice=f"send its {name}")
    if len(value) > TEXT_CHARS_MAX:
        shown = value[:40]
        raise DataError(
            f"{name} of a record is too long", value=shown, advice=f"use at most {TEXT_CHARS_MAX} characters"
        )
    if found := _UNPRINTABLE.search(value):
        shown = f"\\u{ord(found[0]):04x}"
        raise DataError(f"{name} of a record holds a control character", value=shown, advice="leave it out")
