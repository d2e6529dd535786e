"""A record that leaves as a CloudEvent and comes back is the same record, in every form of writing."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gristmill.domain.log import Delivery, Lease
from gristmill.engine.messages.core.cloud_http import (
    read_http,
    write_http_batched,
    write_http_binary,
    write_http_structured,
)
from gristmill.engine.messages.core.cloud_json import read_cloud_event, write_cloud_event
from gristmill.engine.messages.core.envelope import TIERS, Envelope, check_envelope
from gristmill.engine.messages.core.wire import origin_of, read_envelope, write_record

OURS = {"id", "source", "type", "specversion", "time", "subject", "partitionkey", "traceparent", "datacontenttype"}

TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20).filter(str.strip)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=20).filter(
    lambda name: name not in OURS | {"data"} and not name.startswith("gristmill")
)
JSON_BODIES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
).map(lambda value: json.dumps(value, ensure_ascii=False).encode())
BODIES = (
    st.tuples(st.just("application/json"), JSON_BODIES | st.binary(max_size=20))
    | st.tuples(st.just("application/vnd.x+json; charset=utf-8"), JSON_BODIES)
    | st.tuples(
        st.sampled_from(["text/plain", "application/octet-stream"]), st.binary(max_size=20) | TEXTS.map(str.encode)
    )
)


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    body_type, body = draw(BODIES)
    key = draw(st.just("") | TEXTS)
    extras = draw(st.dictionaries(NAMES, TEXTS, max_size=3))
    # Without a key of its own the subject is the key.
    if key and draw(st.booleans()):
        extras["subject"] = f"other {key}"
    return Envelope(
        id=draw(TEXTS),
        type=draw(TEXTS),
        source=draw(TEXTS),
        tier=draw(st.sampled_from(TIERS)),
        tenant=draw(TEXTS),
        key=key,
        source_rev=draw(st.integers(0, (1 << 63) - 1)),
        at_ms=draw(st.integers(0, 253_402_300_799_999)),
        attempt=draw(st.integers(1, 1 << 40)),
        progress=draw(st.dictionaries(TEXTS, TEXTS, max_size=3)),
        trace=draw(st.just("") | TEXTS),
        body=body,
        body_type=body_type,
        extras=extras,
    )


@given(envelopes())
def test_in_json(envelope: Envelope) -> None:
    text = write_cloud_event(envelope)
    assert read_cloud_event(text) == envelope
    # Whoever writes JSON in another way, with other spaces and escapes, says the same attributes.
    again = read_cloud_event(json.dumps(json.loads(text), indent=1).encode())
    assert msgspec.structs.replace(again, body=b"") == msgspec.structs.replace(envelope, body=b"")


@given(envelopes())
def test_in_http_in_binary_mode(envelope: Envelope) -> None:
    headers, body = write_http_binary(envelope)
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    assert read_http(headers, body) == [envelope]
    assert read_http({name.title(): value for name, value in headers.items()}, body) == [envelope]


@given(st.lists(envelopes(), max_size=3))
def test_in_http_in_structured_and_batched_mode(many: list[Envelope]) -> None:
    assert read_http(*write_http_batched(many)) == many
    for envelope in many:
        assert read_http(*write_http_structured(envelope)) == [envelope]


@given(envelopes())
def test_in_a_log(envelope: Envelope) -> None:
    record = write_record(envelope, origin="t/7", due_at_ms=5)
    assert (record.key, record.due_at_ms) == (envelope.key, 5)
    delivery = Delivery(Lease("t", "g", 9, "me", 1), record.value, record.key, record.headers, 1, 0)
    assert read_envelope(delivery) == envelope
    assert origin_of(delivery) == "t/7"


@given(envelopes())
def test_what_can_be_written_is_taken(envelope: Envelope) -> None:
    check_envelope(envelope)
