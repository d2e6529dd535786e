"""Physical lines of a file, never more of one in memory than a record may hold.

A longer line goes to a blob file named by its SHA-256, so that a record can refer to bytes that it cannot carry.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from gristmill.ports.log import RECORD_BYTES_MAX

__all__ = ["Line", "read_lines"]

OVERSIZE_HEAD_BYTES = 1_024
"""What the record of an oversize line shows of it."""

UTF8_MARK = b"\xef\xbb\xbf"


class Line(msgspec.Struct, frozen=True):
    """One line without its end.

    Attributes:
        number: from 1.
        raw: the bytes, or the first of them where the line is oversize.
        ending: `\n`, `\r\n`, or nothing at the end of the file.
        blob: name of the blob that holds an oversize line whole, else empty.
        byte_count: length of the whole line.
    """

    number: int
    raw: bytes
    ending: bytes
    blob: str
    byte_count: int

    @property
    def fault(self) -> str:
        """Say what is wrong with an oversize line; empty for any other."""
        if not self.blob:
            return ""
        return f"record: {self.byte_count} bytes, at most {RECORD_BYTES_MAX}; kept whole as blobs/{self.blob}"


def read_lines(stream: BinaryIO, *, blobs: Path) -> Iterator[Line]:
    """Yield the lines of a stream; a byte order mark of UTF-8 is left out."""
    number = 0
    while raw := stream.readline(RECORD_BYTES_MAX + 2):
        number += 1
        if number == 1:
            raw = raw.removeprefix(UTF8_MARK)
        body = raw.removesuffix(b"\n")
        ending = raw[len(body) :]
        if ending and body.endswith(b"\r"):
            body, ending = body[:-1], b"\r\n"
        if len(body) <= RECORD_BYTES_MAX:
            yield Line(number, body, ending, "", len(body))
        else:
            yield _store_oversize(number, raw, stream, blobs)


def _store_oversize(number: int, start: bytes, stream: BinaryIO, blobs: Path) -> Line:
    blobs.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    byte_count = 0
    part = start
    unfinished = blobs / f".line-{number}.{os.getpid()}"
    with unfinished.open("wb") as file:
        while part:
            body = part.removesuffix(b"\n")
            digest.update(body)
            byte_count += file.write(body)
            if len(body) < len(part):
                break
            part = stream.readline(RECORD_BYTES_MAX)
        file.flush()
        os.fsync(file.fileno())
    name = digest.hexdigest()
    unfinished.replace(blobs / name)
    return Line(number, start[:OVERSIZE_HEAD_BYTES], b"\n", name, byte_count)
