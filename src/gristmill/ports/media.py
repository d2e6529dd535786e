"""Pictures: how they are fetched, decoded and judged. What cannot be had is a value with a reason, not an exception."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from gristmill.ports.egress import Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "GREY_SIDE",
    "PIXELS_SIDE",
    "Fetched",
    "ImageClassifier",
    "ImageEmbedder",
    "ImageReader",
    "MediaFetcher",
    "Missing",
    "MissingReason",
    "Picture",
]

PIXELS_SIDE = 224
"""Side of the square that models look at."""

GREY_SIDE = 64
"""Side of the square that perceptual hashes are computed from."""

MissingReason = (
    Refusal
    | Literal["absent", "bad_reference", "not_an_image", "too_many_pixels", "broken", "too_costly"]
    | Literal["too_many", "unavailable", "not_installed"]
)
"""`absent`: the server says that there is none. `too_many`: the item refers to more than are looked at."""


class Missing(msgspec.Struct, frozen=True, tag="missing"):
    """Why there is no picture. `detail` is for a person."""

    reason: MissingReason
    detail: str = ""


class Fetched(msgspec.Struct, frozen=True):
    """Bytes that nobody has looked into yet; `url` is where they came from in the end, empty for inline ones."""

    body: bytes
    url: str = ""


class Picture(msgspec.Struct, frozen=True, tag="picture"):
    """A decoded picture: upright, first frame only, in sRGB, transparency over white.

    Attributes:
        media_type: by its first bytes, whatever name or header said.
        width, height: of the original, upright.
        frames: at most `FRAMES_MAX` are counted.
        tile: JPEG whose longest side is the side that was asked for, no side below 8 pixels.
        grey: uint8[GREY_SIDE, GREY_SIDE], the whole picture squeezed into a square.
        pixels: uint8[PIXELS_SIDE, PIXELS_SIDE, 3] RGB, the middle of the picture squeezed into a square.
    """

    media_type: str
    width: int
    height: int
    frames: int
    tile_width: int
    tile_height: int
    tile: bytes
    grey: bytes
    pixels: bytes


class MediaFetcher(Protocol):
    """Gets the bytes behind a reference: an http(s) address, a `data:` URL, or a file where that is allowed."""

    def open(self, reference: str) -> AbstractAsyncContextManager[Fetched | Missing]:
        """Fetch for the length of a block; the number of bodies held at once is bounded, so leave the block soon.

        Raises:
            Unavailable: on entry, after all attempts; the reference may work later.
        """
        ...


class ImageReader(Protocol):
    """Decodes untrusted bytes without putting this process at risk."""

    async def read(self, body: bytes, *, tile_side: int = 448) -> Picture | Missing:
        """Return the picture, or why there is none.

        Guarantees: time and memory are bounded whatever the bytes are; one bad picture costs no other one.
        """
        ...


class ImageClassifier(Protocol):
    """Scores pictures for nudity. `revision` changes whenever equal pictures would get other scores."""

    @property
    def revision(self) -> str: ...

    def classify(self, pixels: Sequence[bytes]) -> list[float]:
        """Return 0.0 (safe) to 1.0 (explicit) for each `Picture.pixels`."""
        ...


class ImageEmbedder(Protocol):
    """Turns pictures into unit vectors: near copies, mirrored and cropped ones too, point almost the same way."""

    @property
    def dimension(self) -> int: ...

    @property
    def revision(self) -> str: ...

    def embed(self, pixels: Sequence[bytes]) -> NDArray[np.float32]:
        """Return `float32[len(pixels), dimension]`, each row centred and L2-normalised."""
        ...
