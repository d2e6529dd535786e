"""What a file is, its first bytes say."""

import struct

import pytest

from gristmill.adapters.media.sniff_core import FRAMES_MAX, count_gif_frames, sniff_image, tell_other
from gristmill.adapters.media.tile_core import fit

GIF_HEADER = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6)
GIF_FRAME = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
GIF_FRAME_WITH_COLOURS = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0x81) + bytes(12) + b"\x02\x02\x44\x01\x00"
GIF_PAUSE = b"\x21\xf9\x04\x00\x00\x00\x00\x00"


@pytest.mark.parametrize(
    ("start", "media_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"BM\0\0\0\0\0\0\0\0", "image/bmp"),
    ],
)
def test_pictures_are_known_by_their_first_bytes(start: bytes, media_type: str) -> None:
    found = sniff_image(start)
    assert found is not None
    assert found.media_type == media_type


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf <!DOCTYPE html><html>", "HTML"),
        (b'<?xml version="1.0"?><svg>', "SVG"),
        (b"<svg onload=alert(1)>", "SVG"),
        (b"PK\x03\x04", "ZIP"),
        (b"\0\0\0\x18ftypmp42", "video"),
        (b"II*\0", "TIFF"),
        (b"BMxxxxxxxxxx", "no picture"),
        (b"RIFF\0\0\0\0WAVE", "no picture"),
    ],
)
def test_anything_else_is_told_in_words(body: bytes, told: str) -> None:
    assert sniff_image(body) is None
    assert told in tell_other(body)


def test_frames_are_counted_without_decoding() -> None:
    body = GIF_HEADER + GIF_PAUSE + GIF_FRAME + GIF_PAUSE + GIF_FRAME_WITH_COLOURS + GIF_FRAME + b"\x3b"
    assert count_gif_frames(body) == 3


def test_counting_frames_has_an_end() -> None:
    assert count_gif_frames(GIF_HEADER + GIF_FRAME * (FRAMES_MAX + 5)) == FRAMES_MAX


@pytest.mark.parametrize("body", [b"GIF89a", GIF_HEADER, GIF_HEADER + b"\x2c\0", GIF_HEADER + b"\x21\xf9\xff"])
def test_a_gif_that_breaks_off_has_no_further_frames(body: bytes) -> None:
    assert count_gif_frames(body) == 0


@pytest.mark.parametrize(
    ("size", "tile"),
    [
        ((1000, 500), (448, 224)),
        ((4000, 10), (448, 1)),
        ((1, 60_000), (1, 448)),
        ((100, 50), (448, 224)),
        ((7, 7), (448, 448)),
    ],
)
def test_a_tile_has_the_proportions_of_its_picture(size: tuple[int, int], tile: tuple[int, int]) -> None:
    assert fit(*size, 448) == tile
