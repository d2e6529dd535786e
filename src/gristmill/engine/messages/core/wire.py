"""An Envelope as a record of a log: a CloudEvent in binary mode, as on Kafka, so that others can write and read topics.

Headers:

    ce_NAME             attributes, UTF-8
    content-type        media type of the value; application/cloudevents+json stands for an event in structured mode
    gristmill-origin    only in copies for a further try: topic and offset at which the record first stood

Source: the Kafka protocol binding of CloudEvents 1.0.
"""

from __future__ import annotations

from gristmill.domain.errors import DataError
from gristmill.domain.log import Delivery, NewRecord
from gristmill.engine.messages.core.attributes import CONTENT_TYPE, from_attributes, to_attributes
from gristmill.engine.messages.core.cloud_http import EVENT_TYPE
from gristmill.engine.messages.core.cloud_json import read_cloud_event
from gristmill.engine.messages.core.envelope import Envelope

__all__ = ["origin_of", "read_envelope", "write_record"]

PREFIX = "ce_"
TYPE_HEADER = "content-type"
ORIGIN = "gristmill-origin"


def write_record(envelope: Envelope, *, origin: str = "", due_at_ms: int = 0) -> NewRecord:
    """Return the record of an Envelope.

    Args:
        origin: where it first stood; empty for one that is appended for the first time.
        due_at_ms: not delivered before this time, UTC epoch.
    """
    attributes = to_attributes(envelope)
    headers = {TYPE_HEADER: attributes.pop(CONTENT_TYPE)}
    headers |= {f"{PREFIX}{name}": value for name, value in attributes.items()}
    if origin:
        headers[ORIGIN] = origin
    return NewRecord(envelope.body, envelope.key, headers, due_at_ms)


def read_envelope(delivery: Delivery) -> Envelope:
    """Return what a record says.

    Raises:
        DataError: it is no CloudEvent, or an attribute is wrong.
    """
    headers = delivery.headers
    content_type = headers.get(TYPE_HEADER, "")
    if content_type.lower().startswith(EVENT_TYPE):
        return read_cloud_event(delivery.value)
    attributes = {name.removeprefix(PREFIX): value for name, value in headers.items() if name.startswith(PREFIX)}
    if not attributes:
        advice = "append CloudEvents: headers ce_id, ce_source, ce_type and ce_specversion"
        raise DataError("record without headers of a CloudEvent", value=sorted(headers)[:10], advice=advice)
    if content_type:
        attributes[CONTENT_TYPE] = content_type
    return from_attributes(attributes, delivery.value)


def origin_of(delivery: Delivery) -> str:
    """Return where a record first stood, `topic/offset`; the same in all copies for further tries."""
    lease = delivery.lease
    return delivery.headers.get(ORIGIN) or f"{lease.topic}/{lease.offset}"
