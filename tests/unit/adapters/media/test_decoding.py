"""How a picture looks once it is decoded: upright, opaque, in sRGB, in the tile's size."""

from __future__ import annotations

import io
import struct

import pytest
from PIL import Image, ImageCms

from gristmill.adapters.media.decoding import PIXELS_MAX, read_picture
from gristmill.ports.media import Missing, Picture
from tests.unit.adapters.media.samples import encode, paint, png_with_header


def read(body: bytes, tile_side: int = 448) -> Picture:
    picture = read_picture(body, tile_side=tile_side)
    assert isinstance(picture, Picture)
    return picture


def tile_of(body: bytes) -> Image.Image:
    return Image.open(io.BytesIO(read(body).tile)).convert("RGB")


def middle_of(body: bytes) -> tuple[int, ...]:
    tile = tile_of(body)
    return pixel_of(tile, tile.width // 2, tile.height // 2)


def pixel_of(tile: Image.Image, x: int, y: int) -> tuple[int, ...]:
    pixel = tile.getpixel((x, y))
    assert isinstance(pixel, tuple)
    return pixel


def close(one: tuple[int, ...], other: tuple[int, ...], *, by: int = 6) -> bool:
    return all(abs(a - b) <= by for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("size", "tile"),
    [
        ((1000, 500), (448, 224)),
        ((500, 1000), (224, 448)),
        ((100, 50), (448, 224)),
        ((4000, 10), (448, 8)),
        ((10, 4000), (8, 448)),
        ((60_000, 1), (448, 8)),
        ((1, 60_000), (8, 448)),
        ((1, 1), (448, 448)),
    ],
)
def test_the_longest_side_is_the_tile_and_no_side_is_below_8(size: tuple[int, int], tile: tuple[int, int]) -> None:
    picture = read(encode(Image.new("RGB", size, "red")))
    assert (picture.width, picture.height) == size
    assert (picture.tile_width, picture.tile_height) == tile
    assert Image.open(io.BytesIO(picture.tile)).size == tile


def test_padding_is_black() -> None:
    tile = tile_of(encode(Image.new("RGB", (4000, 10), "white")))
    assert close(pixel_of(tile, 200, 7), (0, 0, 0), by=40)


def test_another_tile_side_can_be_asked_for() -> None:
    assert read(encode(paint()), tile_side=600).tile_width == 600


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF"])
def test_each_form_is_read_and_named_by_its_bytes(form: str) -> None:
    picture = read(encode(paint(), form))
    assert picture.media_type == f"image/{form.lower()}"
    assert (picture.width, picture.height, picture.frames) == (320, 240, 1)


def test_of_an_animation_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue", "lime")]
    for form in ("GIF", "WEBP", "PNG"):
        body = encode(frames[0], form, save_all=True, append_images=frames[1:], duration=50)
        assert read(body).frames == 3, form
        assert close(middle_of(body), (255, 0, 0)), form


def test_transparent_parts_are_white() -> None:
    assert close(middle_of(encode(Image.new("RGBA", (64, 64), (255, 0, 0, 0)))), (255, 255, 255))
    assert close(middle_of(encode(Image.new("RGBA", (64, 64), (255, 0, 0, 128)))), (255, 127, 127))
    assert close(middle_of(encode(Image.new("LA", (64, 64), (0, 0)))), (255, 255, 255))
    assert close(middle_of(encode(Image.new("P", (64, 64), 0), transparency=0)), (255, 255, 255))


@pytest.mark.parametrize(
    ("image", "form", "wanted"),
    [
        (Image.new("L", (64, 64), 128), "PNG", (128, 128, 128)),
        (Image.new("1", (64, 64), 1), "PNG", (255, 255, 255)),
        (Image.new("I;16", (64, 64), 128 * 257), "PNG", (128, 128, 128)),
        (Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "JPEG", (255, 0, 0)),
        (Image.new("P", (64, 64), 0), "PNG", (0, 0, 0)),
    ],
)
def test_other_colours_become_rgb(image: Image.Image, form: str, wanted: tuple[int, ...]) -> None:
    assert close(middle_of(encode(image, form)), wanted)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_stands_upright(orientation: int) -> None:
    upright = Image.new("RGB", (80, 40), "blue")
    upright.paste("red", (0, 0, 20, 20))
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    stored = upright.transpose(Image.Transpose(undo[orientation])) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    body = encode(stored, "JPEG", exif=exif, quality=95)
    picture, tile = read(body), tile_of(body)
    assert (picture.width, picture.height) == (80, 40)
    assert close(pixel_of(tile, 50, 50), (254, 0, 0), by=12)
    assert close(pixel_of(tile, 400, 200), (0, 0, 254), by=12)


def test_a_profile_is_applied_and_one_that_does_not_fit_is_ignored() -> None:
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for profile in (srgb, lab, b"no profile"):
        assert close(middle_of(encode(Image.new("RGB", (64, 64), (200, 100, 50)), icc_profile=profile)), (200, 100, 50))
    turned = Image.Exif()
    turned[0x0112] = 6
    large = encode(Image.new("RGB", (2000, 1000), (200, 100, 50)), "JPEG", icc_profile=srgb, exif=turned)
    assert close(middle_of(large), (200, 100, 50))


def test_too_many_pixels_are_refused_by_the_header_alone() -> None:
    assert read_picture(png_with_header(7_072, 7_072), tile_side=448) == Missing("too_many_pixels", "7072 x 7072")
    side = int(PIXELS_MAX**0.5)
    with pytest.raises(OSError, match=r"truncated|broken"):  # Taken on, since it claims to be within the cap.
        read_picture(png_with_header(side, side), tile_side=448)


def test_what_is_no_picture_is_told() -> None:
    assert read_picture(b"<html>", tile_side=448) == Missing("not_an_image", "is HTML")


def test_a_picture_that_breaks_off_is_not_guessed_at() -> None:
    body = encode(paint(), "JPEG")
    with pytest.raises(OSError, match="truncated"):
        read_picture(body[: len(body) // 2], tile_side=448)


def test_a_claim_of_orientation_that_means_nothing_is_ignored() -> None:
    exif = Image.Exif()
    exif[0x0112] = 99
    assert read(encode(paint(), "JPEG", exif=exif)).width == 320


def test_a_header_of_no_size_is_broken() -> None:
    with pytest.raises((OSError, ValueError, SyntaxError, struct.error)):
        read_picture(png_with_header(0, 10), tile_side=448)
