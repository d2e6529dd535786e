"""Pictures in many forms, good and hostile."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Iterator

from PIL import Image

from gristmill.testing.media import draw_picture

__all__ = ["encode", "hostile_bodies", "paint", "png_with_header"]


def paint(seed: int = 1, *, width: int = 320, height: int = 240) -> Image.Image:
    return Image.fromarray(draw_picture(seed, width=width, height=height))


def encode(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def png_with_header(width: int, height: int, *, data: bytes = b"", depth: int = 8, colour: int = 2) -> bytes:
    """A PNG whose header says what it likes."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", data or zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def hostile_bodies() -> Iterator[tuple[str, bytes]]:
    """200 bodies that are no sound picture, or try to cost far more than they should; the same in every run."""
    draws = random.Random(7)
    whole = {form: encode(paint(3), form) for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")}
    starts = [b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\x10\0\0\0WEBPVP8 ", b"BM\0\0\0\0\0\0\0\0"]
    for side in (7_072, 20_000, 65_535, 100_000, 2**31 - 1):  # 12 bombs: a tiny file, a huge header.
        yield f"png bomb {side}", png_with_header(side, side)
        yield (
            f"gif bomb {side}",
            b"GIF89a" + struct.pack("<HHBBB", min(side, 65_535), 65_535, 0, 0, 0) + whole["GIF"][13:],
        )
    yield "png bomb of zeros", png_with_header(50_000, 50_000, data=zlib.compress(bytes(30_000_000)))
    yield "png of no size", png_with_header(0, 10)
    for number in range(55):
        form = draws.choice(sorted(whole))
        yield f"{form} cut {number}", whole[form][: draws.randrange(1, len(whole[form]) // 2)]
    for number in range(60):  # Some of these still are pictures, damaged ones.
        form = draws.choice(sorted(whole))
        body = bytearray(whole[form])
        for _ in range(draws.randrange(5, 200)):
            body[draws.randrange(4, len(body))] = draws.randrange(256)
        yield f"{form} damaged {number}", bytes(body)
    for number in range(40):
        yield f"noise {number}", draws.choice([b"", *starts]) + draws.randbytes(draws.randrange(1, 4_000))
    yield from _disguised(draws)
    yield from _costly(whole)


def _disguised(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    bodies = [
        b"<html><script>alert(1)</script></html>",
        b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aaaa">]><svg>&a;</svg>',
        b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
        b"PK\x03\x04" + zlib.compress(bytes(1_000_000)),
        b"%PDF-1.7\n",
        b"#!/bin/sh\nrm -rf /\n",
        b"\x7fELF" + draws.randbytes(500),
        b"push graphic-context\nfill 'url(https://example.com/\"|id\")'\n",
        b"%!PS\n{ } loop\n",
        b"II*\0" + draws.randbytes(500),
        b"\0\0\0\x18ftypmp42" + draws.randbytes(500),
        b"",
        b"\0" * 10_000,
    ]
    for number, body in enumerate(bodies):
        yield f"disguised {number}", body
        yield f"disguised as jpeg {number}", b"\xff\xd8\xff\xe0" + body


def _costly(whole: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    text = zlib.compress(bytes(100_000_000), 9)
    chunk = b"comment\0\0" + text
    packed = struct.pack(">I", len(chunk)) + b"zTXt" + chunk + struct.pack(">I", zlib.crc32(b"zTXt" + chunk))
    yield "png with a packed comment of 100 MB", whole["PNG"][:33] + packed + whole["PNG"][33:]
    profile = b"icc\0\0" + text
    packed = struct.pack(">I", len(profile)) + b"iCCP" + profile + struct.pack(">I", zlib.crc32(b"iCCP" + profile))
    yield "png with a packed profile of 100 MB", whole["PNG"][:33] + packed + whole["PNG"][33:]
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    yield "gif of 200,000 frames", whole["GIF"][:-1] + frame * 200_000 + b"\x3b"
    yield (
        "gif frame out of its canvas",
        whole["GIF"][:-1] + b"\x2c" + struct.pack("<HHHHB", 9_999, 9_999, 65_535, 65_535, 0),
    )
    yield "jpeg of 64 KB segments", b"\xff\xd8" + (b"\xff\xfe\xff\xff" + bytes(65_533)) * 100 + whole["JPEG"][2:]
    yield "jpeg of fill bytes", b"\xff\xd8" + b"\xff" * 1_000_000
    yield "jpeg segment of length 0", b"\xff\xd8\xff\xe0\0\0" + whole["JPEG"][4:]
    yield "webp with a wrong length", b"RIFF\xff\xff\xff\x7fWEBP" + whole["WEBP"][12:]
    yield "bmp of negative size", whole["BMP"][:18] + struct.pack("<ii", -(2**31), -(2**31)) + whole["BMP"][26:]
    yield "bmp that points out of itself", whole["BMP"][:10] + struct.pack("<I", 2**32 - 1) + whole["BMP"][14:]
