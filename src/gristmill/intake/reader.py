"""Streams a file of records, JSONL, CSV (both plain or gzip) or Parquet, in batches ready to be appended to a log.

Every line (JSONL) or row becomes exactly one record, whatever is wrong with it, always in one order: so a run
that was interrupted goes on by counting. Headers of a record: `line`, where it starts; `fault`, what the reader
already knows to be wrong with it.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, cast

import msgspec

from gristmill.domain.errors import DataError, UsageError
from gristmill.domain.log import NewRecord
from gristmill.intake.csv_rows import read_header, read_rows
from gristmill.intake.lines import read_lines
from gristmill.intake.parquet_rows import PARQUET_MAGIC, read_columns, read_parquet

__all__ = ["FAULT_HEADER", "LINE_HEADER", "InputFile", "open_input"]

LINE_HEADER = "line"
FAULT_HEADER = "fault"

BATCH_RECORDS_MAX = 1_000
BATCH_BYTES_MAX = 4 * 1024 * 1024
SNIFF_BYTES = 64 * 1024
HASH_CHUNK_BYTES = 1024 * 1024
DELIMITERS = ",;\t|"
GZIP_MAGIC = b"\x1f\x8b"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

Shape = Literal["jsonl", "csv", "parquet"]
SHAPES: dict[str, Shape] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv"}
PARQUET_SUFFIXES = (".parquet", ".pq")


class InputFile(msgspec.Struct, frozen=True):
    """A file that has been looked at.

    Attributes:
        fingerprint: 16 hexadecimal digits over its bytes.
        columns: names of the columns, empty for JSONL.
    """

    path: Path
    shape: Shape
    is_gzip: bool
    delimiter: str
    columns: tuple[str, ...]
    fingerprint: str

    def read(self, *, blobs: Path) -> Iterator[list[NewRecord]]:
        """Yield all records in batches of at most 1,000 records and about 4 MiB.

        Raises:
            DataError: the compressed file is damaged.
        """
        if self.shape == "parquet":
            yield from _gather(_new_record(row, number, "") for number, row in enumerate(read_parquet(self.path), 1))
            return
        with _open(self.path, is_gzip=self.is_gzip) as stream:
            try:
                yield from _gather(self._records(stream, blobs))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise DataError("compressed file is damaged", value=str(self.path), advice=str(error)) from error

    def _records(self, stream: BinaryIO, blobs: Path) -> Iterator[NewRecord]:
        lines = read_lines(stream, blobs=blobs)
        if self.shape == "jsonl":
            for line in lines:
                yield _new_record(line.raw, line.number, line.fault)
            return
        names = read_header(lines, delimiter=self.delimiter)
        for row in read_rows(lines, names, delimiter=self.delimiter):
            yield _new_record(row.value, row.number, row.fault)


def open_input(path: Path) -> InputFile:
    """Look at a file and say what it is.

    Raises:
        UsageError: it does not exist, is a folder, cannot be read, is empty, or is neither JSONL nor CSV
            nor Parquet.
    """
    try:
        is_gzip, head = _read_head(path)
    except FileNotFoundError:
        raise UsageError("input file does not exist", value=str(path), advice="check the path") from None
    except IsADirectoryError:
        raise UsageError("input is a folder", value=str(path), advice="give one file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError("input file cannot be read", value=str(path), advice=str(error)) from error
    if not head.strip():
        raise UsageError("input file is empty", value=str(path), advice="it should hold JSONL or CSV")
    if head.startswith(PARQUET_MAGIC) or path.suffix.lower() in PARQUET_SUFFIXES:
        return InputFile(path, "parquet", False, "", tuple(read_columns(path)), _fingerprint(path))
    _refuse_foreign(path, head)
    shape = _sniff_shape(path, head)
    delimiter, columns = (",", ()) if shape == "jsonl" else _sniff_csv(path, head, is_gzip=is_gzip)
    return InputFile(path, shape, is_gzip, delimiter, tuple(columns), _fingerprint(path))


def _gather(records: Iterator[NewRecord]) -> Iterator[list[NewRecord]]:
    batch: list[NewRecord] = []
    byte_count = 0
    for record in records:
        batch.append(record)
        byte_count += len(record.value)
        if len(batch) >= BATCH_RECORDS_MAX or byte_count >= BATCH_BYTES_MAX:
            yield batch
            batch, byte_count = [], 0
    if batch:
        yield batch


def _sniff_csv(path: Path, head: bytes, *, is_gzip: bool) -> tuple[str, list[str]]:
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    if len(head) >= SNIFF_BYTES and b"\n" not in head:
        advice = f"the first line names the columns and ends within {SNIFF_BYTES} bytes"
        raise UsageError("CSV file has no header", value=str(path), advice=advice)
    delimiter = max(DELIMITERS, key=first.count)
    with _open(path, is_gzip=is_gzip) as stream:
        return delimiter, read_header(read_lines(stream, blobs=path.parent), delimiter=delimiter)


def _sniff_shape(path: Path, head: bytes) -> Shape:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in SHAPES:
        return SHAPES[suffixes[-1]]
    return "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "csv"


def _refuse_foreign(path: Path, head: bytes) -> None:
    if head.startswith(UTF16_MARKS):
        raise UsageError("input file is UTF-16", value=str(path), advice="convert it: iconv -f UTF-16 -t UTF-8")
    if path.suffix.lower() == ".json" and head.lstrip().startswith(b"["):
        advice = "one object a line is needed: jq -c '.[]' FILE > FILE.jsonl"
        raise UsageError("input file is one JSON list", value=str(path), advice=advice)
    if _is_binary(head):
        raise UsageError("input file is binary", value=str(path), advice="it should hold JSONL or CSV")


def _is_binary(head: bytes) -> bool:
    """Whether this is no text at all. Single NUL bytes are faults of the records that hold them."""
    if b"\x00" not in head:
        return False
    lines = head.split(b"\n")
    if any(line.lstrip().startswith(b"{") for line in lines):
        return False
    try:
        # A header of CSV can be read, whatever its rows hold.
        return b"\x00" in lines[0] or not lines[0].decode().strip()
    except UnicodeDecodeError:
        return True


def _read_head(path: Path) -> tuple[bool, bytes]:
    with path.open("rb") as file:
        head = file.read(SNIFF_BYTES)
    if not head.startswith(GZIP_MAGIC):
        return False, head
    with gzip.open(path) as file:
        return True, file.read(SNIFF_BYTES)


def _open(path: Path, *, is_gzip: bool) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if is_gzip else path.open("rb"))


def _fingerprint(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    with path.open("rb") as file:
        while chunk := file.read(HASH_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _new_record(value: bytes, line: int, fault: str) -> NewRecord:
    headers = {LINE_HEADER: str(line)}
    if fault:
        headers[FAULT_HEADER] = fault
    return NewRecord(value, headers=headers)
