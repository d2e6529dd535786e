"""What others write as CloudEvents, and what of it is refused; that our own comes back is a property test."""

import json
from typing import Any

import pytest

from gristmill.domain.errors import DataError
from gristmill.domain.log import Delivery, Lease
from gristmill.engine.messages.core.cloud_http import read_http, write_http_binary
from gristmill.engine.messages.core.cloud_json import read_cloud_batch, read_cloud_event, write_cloud_event
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.wire import origin_of, read_envelope, write_record

EVENT = {"specversion": "1.0", "id": "1", "source": "//shop", "type": "order.placed"}
HEADERS = {f"ce-{name}": value for name, value in EVENT.items()}


def read(**changed: Any) -> Envelope:
    return read_cloud_event(json.dumps(EVENT | changed).encode())


def test_the_least_event_is_taken() -> None:
    assert read() == Envelope(id="1", source="//shop", type="order.placed")


def test_attributes_of_others_are_kept() -> None:
    envelope = read(
        subject="cart/7", partitionkey="7", dataschema="#s", sequence=5, sampled=True, empty="", gone=None, note="é"
    )
    assert envelope.key == "7"
    assert envelope.extras == {"subject": "cart/7", "dataschema": "#s", "sequence": "5", "sampled": "true", "note": "é"}
    assert json.loads(write_cloud_event(envelope))["subject"] == "cart/7"
    assert read(sampled=False).extras == {"sampled": "false"}


def test_without_a_partition_key_the_subject_is_the_key() -> None:
    assert read(subject="cart/7").key == "cart/7"
    assert read(subject="items/7").key == "7"
    assert read(subject="items/7", partitionkey="7").extras == {}


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("2026-11-30T08:00:00Z", 1_796_025_600_000),
        ("2026-11-30t08:00:00.123456789z", 1_796_025_600_123),
        ("2026-11-30T09:00:00.5+01:00", 1_796_025_600_500),
    ],
)
def test_times_are_read_to_the_millisecond(text: str, at_ms: int) -> None:
    assert read(time=text).at_ms == at_ms


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({"data": {"a": 1}}, b'{"a": 1}'),
        ({"data": None}, b"null"),
        ({"data": "text"}, b'"text"'),
        ({"data": "<x/>", "datacontenttype": "text/xml"}, b"<x/>"),
        ({"data_base64": "AP8="}, b"\x00\xff"),
        ({"data_base64": None}, b""),
        ({}, b""),
    ],
)
def test_a_body_is_read_by_its_type(fields: dict[str, Any], body: bytes) -> None:
    assert read(**fields).body == body


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": ""}, "attribute 'id' of a CloudEvent is missing"),
        ({"type": None}, "attribute 'type'"),
        ({"specversion": "0.3"}, "send version 1.0"),
        ({"time": "yesterday"}, "time of a CloudEvent"),
        ({"time": "2026-02-30T08:00:00Z"}, "time of a CloudEvent"),
        ({"time": "1969-12-31T23:59:59Z"}, "time of a record"),
        ({"gristmilltier": "urgnt"}, "did you mean 'urgent'"),
        ({"gristmillrev": "-1"}, "gristmillrev"),
        ({"gristmillattempt": "x"}, "gristmillattempt"),
        ({"gristmillprogress": "[]"}, "gristmillprogress"),
        ({"note": ["no"]}, "attribute 'note'"),
        ({"note": 1.5}, "attribute 'note'"),
        ({"data": {}, "datacontenttype": "text/plain"}, "datacontenttype of JSON"),
        ({"data": 1, "data_base64": ""}, "send one of them"),
        ({"data_base64": "?"}, "data_base64"),
        ({"data_base64": 5}, "data_base64"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(**changed)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'"x"', b'{"id": "\xff"}', b'{"id": "\\ud800"}'])
def test_what_is_no_event_is_refused(text: bytes) -> None:
    with pytest.raises(DataError):
        read_cloud_event(text)


def test_a_batch_names_the_event_that_is_wrong() -> None:
    assert read_cloud_batch(b"[]") == []
    with pytest.raises(DataError, match="event 1 of a batch: attribute 'id'"):
        read_cloud_batch(json.dumps([EVENT, {**EVENT, "id": None}]).encode())
    with pytest.raises(DataError, match="send a list of events"):
        read_cloud_batch(json.dumps(EVENT).encode())


def test_a_body_that_is_no_json_travels_in_base64_though_its_type_says_so() -> None:
    members = json.loads(write_cloud_event(Envelope(id="1", type="t", body=b"{")))
    assert members["data_base64"] == "ew=="
    # White space around JSON would be lost in it.
    assert read_cloud_event(write_cloud_event(Envelope(id="1", type="t", body=b" 1\n"))).body == b" 1\n"


def test_headers_are_percent_encoded_as_the_binding_shows_it() -> None:
    headers, _ = write_http_binary(Envelope(id="Euro € 😀", type="t"))
    assert headers["ce-id"] == "Euro%20%E2%82%AC%20%F0%9F%98%80"
    [envelope] = read_http(HEADERS | {"ce-id": "Euro%20%e2%82%ac%20%F0%9F%98%80"}, b"")
    assert envelope.id == "Euro € 😀"


@pytest.mark.parametrize(
    ("header", "value"),
    [('"a b"', "a b"), (r'"a \"b\""', 'a "b"'), ('"', '"'), ("a%20b", "a b"), ("%2525", "%25"), (" x ", "x")],
)
def test_headers_of_older_senders_are_read(header: str, value: str) -> None:
    [envelope] = read_http(HEADERS | {"ce-id": header}, b"")
    assert envelope.id == value


@pytest.mark.parametrize("header", ["%C0%A0", "%", "%2", "%zz", "é%20"])
def test_headers_that_are_not_encoded_well_are_refused(header: str) -> None:
    with pytest.raises(DataError, match="percent-encode"):
        read_http(HEADERS | {"ce-id": header}, b"")


def test_the_content_type_of_a_request_is_that_of_the_body() -> None:
    [envelope] = read_http(HEADERS | {"Content-Type": "text/plain"}, b"hello")
    assert (envelope.body_type, envelope.body) == ("text/plain", b"hello")
    with pytest.raises(DataError, match="leave this one out"):
        read_http(HEADERS | {"ce-datacontenttype": "text/plain"}, b"")
    with pytest.raises(DataError, match=r"application/cloudevents\+json"):
        read_http({"content-type": "application/cloudevents+avro"}, b"")
    [structured] = read_http(
        {"CONTENT-TYPE": "Application/CloudEvents+JSON; charset=utf-8"}, json.dumps(EVENT).encode()
    )
    assert structured.id == "1"


def test_a_record_of_others_on_a_topic_is_read_in_both_modes() -> None:
    binary = {f"ce_{name}": value for name, value in EVENT.items()} | {"other": "x"}
    assert read_envelope(delivery(b"{}", binary)) == Envelope(id="1", source="//shop", type="order.placed", body=b"{}")
    structured = delivery(json.dumps(EVENT).encode(), {"content-type": "application/cloudevents+json"})
    assert read_envelope(structured) == Envelope(id="1", source="//shop", type="order.placed")
    with pytest.raises(DataError, match="ce_id"):
        read_envelope(delivery(b"{}", {"other": "x"}))


def test_a_record_stands_for_itself_unless_it_is_a_copy() -> None:
    first = write_record(Envelope(id="1", type="t"))
    assert origin_of(delivery(first.value, first.headers)) == "t/7"


def delivery(value: bytes, headers: dict[str, str]) -> Delivery:
    return Delivery(Lease("t", "g", 7, "me", 1), value, "", headers, 1, 0)
