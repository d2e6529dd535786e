"""CloudEvents 1.0 as JSON: one event, or a batch as a list.

A body of JSON stands in `data` as it is. Any other text stands there as a string, and what is neither in `data_base64`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.domain.errors import DataError
from gristmill.engine.messages.core.attributes import CONTENT_TYPE, from_attributes, is_json_type, to_attributes
from gristmill.engine.messages.core.envelope import JSON_TYPE, Envelope

__all__ = ["read_cloud_batch", "read_cloud_event", "write_cloud_batch", "write_cloud_event"]

DATA, DATA_BASE64 = "data", "data_base64"
ADVICE = "send a JSON object with id, source, type and specversion 1.0"

_encoder = msgspec.json.Encoder()
_event_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_batch_decoder = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_value_decoder = msgspec.json.Decoder()


def write_cloud_event(envelope: Envelope) -> bytes:
    """Return one event as JSON."""
    return _encoder.encode(_to_members(envelope))


def write_cloud_batch(envelopes: Sequence[Envelope]) -> bytes:
    """Return events as a JSON list."""
    return _encoder.encode([_to_members(envelope) for envelope in envelopes])


def read_cloud_event(text: bytes) -> Envelope:
    """Return what one event in JSON says.

    Raises:
        DataError: no JSON object, or an attribute is missing or wrong.
    """
    try:
        members = _event_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise DataError("CloudEvent in JSON", value=str(error), advice=ADVICE) from error
    return _from_members(members)


def read_cloud_batch(text: bytes) -> list[Envelope]:
    """Return what a list of events says; one wrong event refuses the list.

    Raises:
        DataError: no list of JSON objects, or an event is wrong; its place from 0 is named.
    """
    try:
        batch = _batch_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise DataError("batch of CloudEvents in JSON", value=str(error), advice="send a list of events") from error
    envelopes = []
    for index, members in enumerate(batch):
        try:
            envelopes.append(_from_members(members))
        except DataError as error:
            raise DataError(
                f"event {index} of a batch: {error.thing}", value=error.value, advice=error.advice
            ) from error
    return envelopes


def _to_members(envelope: Envelope) -> dict[str, Any]:
    members: dict[str, Any] = dict(to_attributes(envelope))
    body = envelope.body
    if not body:
        return members
    if is_json_type(envelope.body_type):
        if _is_json(body):
            return members | {DATA: msgspec.Raw(body)}
    elif (text := _try_text(body)) is not None:
        return members | {DATA: text}
    return members | {DATA_BASE64: b64encode(body).decode()}


def _from_members(members: dict[str, msgspec.Raw]) -> Envelope:
    attributes: dict[str, str] = {}
    for name, raw in members.items():
        if name not in (DATA, DATA_BASE64) and (value := _read_attribute(name, raw)) is not None:
            attributes[name] = value
    return from_attributes(attributes, _read_body(members, attributes.get(CONTENT_TYPE, JSON_TYPE)))


def _read_attribute(name: str, raw: msgspec.Raw) -> str | None:
    """Return the canonical text of an attribute, None where it is not set."""
    value = _decode(name, raw)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, int):
        return str(value)
    advice = "send a string, a whole number, true or false"
    raise DataError(
        f"attribute {name!r} of a CloudEvent", value=bytes(raw)[:40].decode("utf-8", "replace"), advice=advice
    )


def _read_body(members: dict[str, msgspec.Raw], content_type: str) -> bytes:
    raw, coded = members.get(DATA), members.get(DATA_BASE64)
    if coded is not None and raw is not None:
        raise DataError("CloudEvent with data and data_base64", advice="send one of them")
    if coded is not None:
        value = _decode(DATA_BASE64, coded)
        try:
            return b64decode(value or "", validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise DataError(
                "data_base64 of a CloudEvent", value=str(value)[:40], advice="encode it as Base64"
            ) from None
    if raw is None:
        return b""
    if is_json_type(content_type):
        return bytes(raw)
    value = _decode(DATA, raw)
    if not isinstance(value, str):
        advice = f"send a string or data_base64, or a datacontenttype of JSON instead of {content_type!r}"
        raise DataError("data of a CloudEvent is no text", advice=advice)
    return value.encode("utf-8", "surrogatepass")


def _decode(name: str, raw: msgspec.Raw) -> Any:
    try:
        return _value_decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise DataError(f"{name} of a CloudEvent", value=str(error), advice="send valid JSON in UTF-8") from error


def _is_json(body: bytes) -> bool:
    """Whether a body can stand in JSON byte for byte: white space around it would be lost."""
    if body != body.strip():
        return False
    try:
        _value_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        return False
    return True


def _try_text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeError:
        return None
