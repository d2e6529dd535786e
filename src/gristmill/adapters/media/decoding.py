"""Decodes a picture with pillow. Runs in a child process that has little memory, little time and nothing to lose.

The order keeps memory down: the header is judged before a pixel is decoded, the picture is shrunk in the colours that
it came in, and only the small one is turned, freed of transparency and brought to sRGB. The worst that is allowed, 50
megapixels with transparency, takes about 450 MB for a moment.
"""

from __future__ import annotations

import io

from PIL import Image, ImageCms, ImageFile

from gristmill.adapters.media.sniff_core import FRAMES_MAX, count_gif_frames, sniff_image, tell_other
from gristmill.adapters.media.tile_core import TILE_SIDE_MIN, fit
from gristmill.ports.media import GREY_SIDE, PIXELS_SIDE, Missing, Picture

__all__ = ["PIXELS_MAX", "read_picture"]

PIXELS_MAX = 50_000_000
"""Width times height. Cameras of phones give up to 50 megapixels when asked for."""

WORK_SIDES = 2
"""The picture is first shrunk to twice the tile's side: enough for a clean second step."""

JPEG_QUALITY = 90
MODEL_JPEG_QUALITY = 75
"""The nudity model was trained on pictures that had gone through this."""

MODEL_SQUARE = 256
MODEL_MARGIN = (MODEL_SQUARE - PIXELS_SIDE) // 2

_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_TURNED = frozenset({5, 6, 7, 8})
_DEEP_GREY = frozenset({"I", "I;16", "I;16B", "I;16L", "I;16N"})
_TRANSPARENT = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})

# Our own cap comes before pillow's, and a picture that breaks off is not guessed at.
Image.MAX_IMAGE_PIXELS = None
ImageFile.LOAD_TRUNCATED_IMAGES = False


def read_picture(body: bytes, *, tile_side: int) -> Picture | Missing:
    """Return the picture in `body`. Raises whatever pillow raises on a broken one."""
    kind = sniff_image(body)
    if kind is None:
        return Missing("not_an_image", tell_other(body))
    image: Image.Image = Image.open(io.BytesIO(body), formats=[kind.decoder])
    width, height = image.size
    if width * height > PIXELS_MAX:
        return Missing("too_many_pixels", f"{width} x {height}")
    frames = count_gif_frames(body) if kind.decoder == "GIF" else getattr(image, "n_frames", 1)
    orientation = image.getexif().get(_ORIENTATION, 1)
    if orientation in _TURNED:
        width, height = height, width
    upright = _flatten(_turn(_shrink(image, WORK_SIDES * max(tile_side, MODEL_SQUARE)), orientation))
    tile = _make_tile(upright, fit(width, height, tile_side))
    return Picture(
        media_type=kind.media_type,
        width=width,
        height=height,
        frames=min(FRAMES_MAX, max(1, int(frames))),
        tile_width=tile.width,
        tile_height=tile.height,
        tile=_encode(tile, JPEG_QUALITY),
        grey=upright.convert("L").resize((GREY_SIDE, GREY_SIDE), Image.Resampling.LANCZOS).tobytes(),
        pixels=_make_pixels(upright),
    )


def _shrink(image: Image.Image, side: int) -> Image.Image:
    """Decode, and bring down to the working size in colours that can be scaled."""
    image.draft(None, (side, side))
    image.load()
    if image.mode in _DEEP_GREY:
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif image.mode == "F":
        image = image.convert("L")
    elif image.mode in _TRANSPARENT or "transparency" in image.info:
        image = image.convert("RGBA")
    elif image.mode not in ("L", "RGB", "CMYK"):
        image = image.convert("RGB")
    if max(image.size) <= side:
        return image
    size = fit(*image.size, side)
    profile = image.info.get("icc_profile")
    small = image.resize((max(1, size[0]), max(1, size[1])), Image.Resampling.LANCZOS, reducing_gap=2.0)
    small.info["icc_profile"] = profile
    return small


def _turn(image: Image.Image, orientation: int) -> Image.Image:
    method = _UPRIGHT.get(orientation)
    if method is None:
        return image
    turned = image.transpose(method)
    turned.info["icc_profile"] = image.info.get("icc_profile")
    return turned


def _flatten(image: Image.Image) -> Image.Image:
    """Return it in sRGB, transparent parts white."""
    profile = image.info.get("icc_profile")
    if image.mode == "RGBA":
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image)
        image = white.convert("RGB")
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            converted = None  # A profile that does not fit its picture is common, and browsers ignore it too.
        if converted is not None:
            return converted
    return image.convert("RGB")


def _make_tile(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    width, height = size
    tile = image.resize((max(1, width), max(1, height)), Image.Resampling.LANCZOS)
    if min(tile.size) >= TILE_SIDE_MIN:
        return tile
    padded = Image.new("RGB", (max(TILE_SIDE_MIN, tile.width), max(TILE_SIDE_MIN, tile.height)))
    padded.paste(tile, (0, 0))
    return padded


def _make_pixels(image: Image.Image) -> bytes:
    """Prepare a picture as open_nsfw's reference does: squeeze, cut the middle, go through JPEG."""
    square = image.resize((MODEL_SQUARE, MODEL_SQUARE), Image.Resampling.BILINEAR)
    end = MODEL_SQUARE - MODEL_MARGIN
    middle = square.crop((MODEL_MARGIN, MODEL_MARGIN, end, end))
    return Image.open(io.BytesIO(_encode(middle, MODEL_JPEG_QUALITY)), formats=["JPEG"]).tobytes()


def _encode(image: Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()
