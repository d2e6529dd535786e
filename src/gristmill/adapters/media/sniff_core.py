"""Tells what a file is from its first bytes. Names, headers and endings are claims of whoever sent it."""

from __future__ import annotations

import msgspec

__all__ = ["FRAMES_MAX", "Sniffed", "count_gif_frames", "sniff_image", "tell_other"]

FRAMES_MAX = 1_000
"""Frames that are counted; beyond it the number says nothing more."""


class Sniffed(msgspec.Struct, frozen=True):
    """A kind of picture that is decoded; `decoder` is the one decoder that may look at it."""

    media_type: str
    decoder: str


_JPEG = Sniffed("image/jpeg", "JPEG")
_PNG = Sniffed("image/png", "PNG")
_GIF = Sniffed("image/gif", "GIF")
_WEBP = Sniffed("image/webp", "WEBP")
_BMP = Sniffed("image/bmp", "BMP")
_AVIF = Sniffed("image/avif", "AVIF")


def sniff_image(body: bytes) -> Sniffed | None:
    """Return the kind of picture, or None for anything else."""
    if body.startswith(b"\xff\xd8\xff"):
        return _JPEG
    if body.startswith(b"\x89PNG\r\n\x1a\n"):
        return _PNG
    if body.startswith((b"GIF87a", b"GIF89a")):
        return _GIF
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return _WEBP
    if body[4:12] in (b"ftypavif", b"ftypavis"):
        return _AVIF
    if body[:2] == b"BM" and body[6:10] == b"\0\0\0\0":
        return _BMP
    return None


def tell_other(body: bytes) -> str:
    """Return in words what a file that is no known picture looks like."""
    start = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not body:
        return "is empty"
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "is HTML"
    if start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start):
        return "is SVG, which is a program and not looked at"
    if start.startswith(b"pk\x03\x04"):
        return "is a ZIP archive"
    if body[4:8] == b"ftyp":
        return "is a video, or a picture in a format that is not read"
    if start.startswith((b"ii*\0", b"mm\0*")):
        return "is TIFF, which is not read"
    return "starts like no picture"


def count_gif_frames(body: bytes) -> int:
    """Return the number of frames of a GIF, at most FRAMES_MAX, by hopping over its blocks without decoding one.

    Layout: header of 13 bytes, a colour table if its flag says so, then blocks: 0x21 extension, 0x2C frame, 0x3B end.
    Data follow in sub-blocks, each with its length in front, up to one of length 0.
    """
    frames = 0
    at = 13 + _table_bytes(body[10] if len(body) > 10 else 0)
    while at < len(body) and frames < FRAMES_MAX:
        kind = body[at]
        if kind == 0x2C and at + 9 < len(body):
            frames += 1
            at = _skip_sub_blocks(body, at + 11 + _table_bytes(body[at + 9]))
        elif kind == 0x21:
            at = _skip_sub_blocks(body, at + 2)
        else:
            break
    return frames


def _table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_sub_blocks(body: bytes, at: int) -> int:
    while at < len(body) and body[at]:
        at += body[at] + 1
    return at + 1
