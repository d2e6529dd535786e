"""A file becomes one record a line, whatever stands in it."""

import gzip
import json
from pathlib import Path

import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.log import NewRecord
from gristmill.intake.reader import FAULT_HEADER, LINE_HEADER, open_input
from gristmill.ports.log import RECORD_BYTES_MAX


def records(tmp_path: Path, name: str, content: bytes) -> list[NewRecord]:
    path = tmp_path / name
    path.write_bytes(content)
    return [record for batch in open_input(path).read(blobs=tmp_path / "blobs") for record in batch]


def faults(found: list[NewRecord]) -> list[str]:
    return [record.headers.get(FAULT_HEADER, "") for record in found]


def rows(found: list[NewRecord]) -> list[object]:
    return [json.loads(record.value) for record in found if FAULT_HEADER not in record.headers]


def test_every_line_is_a_record_with_its_number(tmp_path: Path) -> None:
    found = records(tmp_path, "a.jsonl", b'\xef\xbb\xbf{"a":1}\r\n\n\xff\x00\n{"b":2}')
    assert [record.value for record in found] == [b'{"a":1}', b"", b"\xff\x00", b'{"b":2}']
    assert [record.headers[LINE_HEADER] for record in found] == ["1", "2", "3", "4"]


def test_a_compressed_file_is_read_like_any_other(tmp_path: Path) -> None:
    assert len(records(tmp_path, "a.jsonl.gz", gzip.compress(b'{"a":1}\n{"b":2}\n'))) == 2


def test_a_file_without_an_ending_is_known_by_its_first_sign(tmp_path: Path) -> None:
    assert rows(records(tmp_path, "posts", b'{"a":1}\n')) == [{"a": 1}]
    assert rows(records(tmp_path, "table", b"a;b\n1;2\n")) == [{"a": "1", "b": "2"}]


def test_an_oversize_line_is_kept_whole_beside_the_log(tmp_path: Path) -> None:
    line = b'{"text":"' + b"x" * RECORD_BYTES_MAX + b'"}'
    found = records(tmp_path, "a.jsonl", b'{"a":1}\n' + line + b'\n{"b":2}\n')
    assert [len(record.value) for record in found] == [7, 1024, 7]
    name = found[1].headers[FAULT_HEADER].rpartition("/")[2]
    assert (tmp_path / "blobs" / name).read_bytes() == line
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [name]


def test_a_row_is_an_object_without_its_empty_cells(tmp_path: Path) -> None:
    found = records(tmp_path, "a.csv", b'id,text,,text\n1,"a ""b""\nc",x,\n2,d,,e\n')
    assert rows(found) == [
        {"id": "1", "text": 'a "b"\nc', "column_3": "x"},
        {"id": "2", "text": "d", "text_4": "e"},
    ]
    assert [record.headers[LINE_HEADER] for record in found] == ["2", "4"]


def test_broken_rows_are_kept_and_the_rest_is_read(tmp_path: Path) -> None:
    content = b'id,text\n1,a\n2,b,c\n3\n\n4,\xff\n5,"open\n6,d\n7,"e"x\n8,f\n'
    found = records(tmp_path, "a.csv", content)
    assert rows(found) == [{"id": "1", "text": "a"}, {"id": "6", "text": "d"}, {"id": "8", "text": "f"}]
    assert [
        (record.value, fault.split(":")[1]) for record, fault in zip(found, faults(found), strict=True) if fault
    ] == [
        (b"2,b,c", " CSV row has 3 fields, the header has 2"),
        (b"3", " CSV row has 1 fields, the header has 2"),
        (b"", " empty line"),
        (b"4,\xff", " not UTF-8"),
        (b'5,"open', " broken CSV row"),
        (b'7,"e"x', " broken CSV row"),
    ]


def test_many_open_quotes_cost_one_line_each(tmp_path: Path) -> None:
    content = b"id,text\n" + b"".join(b'%d,"open\n%d,fine\n' % (n, n) for n in range(0, 3000))
    found = records(tmp_path, "a.csv", content)
    assert len(found) == 6000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b" \n\n", "is empty"),
        ("a.json", b'[{"a": 1}]', "one JSON list"),
        ("a.jsonl", '{"a":1}\n'.encode("utf-16"), "UTF-16"),
        ("a.png", b"\x89PNG\r\n\x1a\n\x00\x00", "binary"),
        ("a.csv", b",,\n1,2,3\n", "header is empty"),
        ("a.csv", b'"open\n', "no readable header"),
        ("a.gz", b"\x1f\x8bnot really", "cannot be read"),
    ],
)
def test_what_is_no_file_of_records_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        records(tmp_path, name, content)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        open_input(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="is a folder"):
        open_input(tmp_path)


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n')
    first = open_input(path).fingerprint
    path.write_bytes(b'{"a":2}\n')
    assert open_input(path).fingerprint != first


def test_a_nul_in_a_row_does_not_make_the_table_binary(tmp_path: Path) -> None:
    found = records(tmp_path, "a.csv", b"id,text\n1,he\x00llo\n2,ok\n")
    assert rows(found) == [{"id": "1", "text": "he\x00llo"}, {"id": "2", "text": "ok"}]


def test_a_header_without_an_end_is_refused_and_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no header"):
        records(tmp_path, "a.csv", b"x" * (RECORD_BYTES_MAX + 10))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
