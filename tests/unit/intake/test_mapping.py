"""How a foreign record becomes an item to be, and how a broken one becomes a list of faults."""

import json
from typing import Any

import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.intake import MappedRecord, Violations
from gristmill.intake.fields import FieldMap, parse_field_map
from gristmill.intake.mapping import RecordMapper


def mapped(record: dict[str, Any] | bytes, *maps: str) -> MappedRecord:
    outcome = run(record, *maps)
    assert isinstance(outcome, MappedRecord), outcome
    return outcome


def faults(record: dict[str, Any] | bytes, *maps: str) -> tuple[str, ...]:
    outcome = run(record, *maps)
    assert isinstance(outcome, Violations), outcome
    assert outcome.reason == outcome.violations[0]
    return outcome.violations


def run(record: dict[str, Any] | bytes, *maps: str) -> MappedRecord | Violations:
    raw = record if isinstance(record, bytes) else json.dumps(record).encode()
    fields = parse_field_map(maps) if maps else FieldMap()
    return RecordMapper(fields, source="here").map(raw, fallback_id="line-7")


def test_fields_are_found_by_the_names_people_use() -> None:
    record = mapped({"COMMENT_ID": "z1", "Author": "eve", "DATE": "2013-11-07T06:20:48", "Content": "hi", "CLASS": "1"})
    assert (record.input_id, record.author, record.text, record.source, record.kind) == (
        "z1",
        "eve",
        "hi",
        "here",
        "post",
    )
    assert record.created_at_ms == 1383805248000
    assert dict(record.ext) == {"CLASS": "1"}


def test_a_record_without_an_id_gets_the_one_of_its_place() -> None:
    assert mapped({"text": "a"}).input_id == "line-7"
    assert mapped({"id": None, "text": "a"}).input_id == "line-7"
    assert mapped({"id": "", "text": "a"}).input_id == "line-7"


def test_a_number_is_an_id_and_a_boolean_is_not() -> None:
    assert mapped({"id": 12345678901234567890123, "text": "a"}).input_id == "12345678901234567890123"
    assert faults({"id": True, "text": "a"}) == ("id: expected text or a whole number, got true or false",)


def test_a_guessed_field_that_does_not_fit_stays_where_it_is() -> None:
    record = mapped({"id": "1", "text": "a", "content": {"x": 1}, "user": [1], "date": "last week"})
    assert (record.author, record.created_at_ms) == (None, None)
    assert set(record.ext) == {"content", "user", "date"}


def test_an_author_that_is_an_object_gives_its_id_and_stays_whole() -> None:
    record = mapped({"id": "1", "text": "a", "user": {"name": "Eve", "id": 9}})
    assert record.author == "9"
    assert record.ext["user"]["name"] == "Eve"


def test_a_mapping_decides_and_reaches_into_objects() -> None:
    record = mapped({"id": "1", "text": "no", "Post": {"Body": "yes"}, "n": 5}, "text=post.body", "id=N")
    assert (record.input_id, record.text) == ("5", "yes")


def test_only_a_picture_may_come_without_a_word() -> None:
    picture = {"id": 1, "kind": "image", "url": "https://cdn.example/a.jpg"}
    assert mapped(picture).text == ""
    assert mapped({**picture, "text": " "}).text == ""
    assert mapped({**picture, "caption": "look"}).text == "look"
    assert faults({**picture, "text": 7}) == ("text: expected text, got a number",)
    assert faults({**picture, "kind": "post"})[0].startswith("text: is missing")


def test_every_fault_is_listed() -> None:
    assert faults({"id": [1], "text": 5, "author": True, "created_at": "soon", "kind": 1}) == (
        "id: expected text or a whole number, got a list",
        "kind: expected text, got a number",
        "text: expected text, got a number",
        "author: expected text or a number, got true or false",
        "created_at: cannot be read as a time: 'soon'",
    )


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", "record: empty line"),
        (b"  \t ", "record: empty line"),
        (b"{", "record: invalid JSON"),
        (b'{"id": 1, "text": "a"} x', "record: invalid JSON"),
        (b"[1]", "record: expected a JSON object, got a list"),
        (b'"x"', "record: expected a JSON object, got text"),
        (b"null", "record: expected a JSON object, got null"),
        (b'{"id": 1, "text": "a\x00"}', "record: NUL byte at byte 20"),
        (b'{"id": 1, "text": "a\xff"}', "record: not UTF-8 at byte 20"),
        (b'{"id": 1, "text": "a\\u0000"}', "text: holds a NUL character"),
        (b'{"id": 1, "text": "\\ud800 a"}', "record: holds half of a surrogate pair"),
        (b'{"id": 1, "text": "\\udc00"}', "record: holds half of a surrogate pair"),
        (b'{"id": 1, "text": "a", "x": ' + b"[" * 70 + b"]" * 70 + b"}", "record: nested more than 64 levels deep"),
        (b"[" * 1_000_000, "record: nested more than 64 levels deep"),
        (b'{"id": 1}', "text: is missing"),
        (b'{"id": 1, "text": "  "}', "text: is empty"),
        (b'{"id": 1, "text": "' + b"x" * (1024 * 1024 + 1) + b'"}', "text: larger than 1048576 bytes"),
        (b'{"id": "' + b"x" * 8_193 + b'", "text": "a"}', "id: longer than 8192 bytes"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "record: NUL byte at byte 8"),
        (b'\xff\xfe{\x00"\x00', "record: NUL byte at byte 3"),
    ],
)
def test_a_broken_record_is_refused_with_its_reason(raw: bytes, fault: str) -> None:
    assert faults(raw)[0].startswith(fault)


def test_brackets_inside_a_text_are_not_depth() -> None:
    assert mapped({"id": 1, "text": "[" * 500 + '\\"' + "{" * 500}).text.startswith("[[")


def test_whole_surrogate_pairs_are_one_sign() -> None:
    assert mapped(b'{"id": 1, "text": "\\ud83d\\ude00"}').text == "\U0001f600"


@pytest.mark.parametrize("text", ["text", "text=", "=Comment", "txet=Comment"])
def test_a_mapping_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="mapping"):
        parse_field_map([text])


def test_a_target_is_mapped_once() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_field_map(["id=a", "id=b"])
