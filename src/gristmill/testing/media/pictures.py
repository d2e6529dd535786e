"""Pictures for tests, drawn from a seed and written as PNG without an image library."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pixels", "draw_picture", "encode_png"]

Pixels = NDArray[np.uint8]
"""uint8[height, width, 3]."""

SHAPES = 14
PATCHES = 5


def draw_picture(seed: int, *, width: int = 320, height: int = 240) -> Pixels:
    """Return soft patches of colour with discs and bars over them; other seeds give other pictures."""
    draws = np.random.default_rng(seed)
    picture = _stretch(draws.integers(0, 256, (PATCHES, PATCHES, 3)).astype(np.float32), height, width)
    rows, columns = np.mgrid[0:height, 0:width]
    for _ in range(SHAPES):
        y, x = draws.integers(0, height), draws.integers(0, width)
        tall, wide = draws.integers(8, max(9, height // 3)), draws.integers(8, max(9, width // 3))
        colour = draws.integers(0, 256, 3)
        if draws.random() < 0.5:
            inside = ((rows - y) / tall) ** 2 + ((columns - x) / wide) ** 2 <= 1
        else:
            inside = (abs(rows - y) <= tall) & (abs(columns - x) <= wide)
        picture[inside] = colour
    return picture.clip(0, 255).astype(np.uint8)


def encode_png(pixels: Pixels) -> bytes:
    """Return the picture as PNG."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + width * 3), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _stretch(patches: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    """Return the patches blended over a whole picture (bilinear)."""
    down, right = np.linspace(0, PATCHES - 1.001, height), np.linspace(0, PATCHES - 1.001, width)
    top, left = down.astype(int), right.astype(int)
    lower, later = (down - top)[:, None, None], (right - left)[None, :, None]
    above = patches[top][:, left] * (1 - later) + patches[top][:, left + 1] * later
    below = patches[top + 1][:, left] * (1 - later) + patches[top + 1][:, left + 1] * later
    blended: NDArray[np.float32] = (above * (1 - lower) + below * lower).astype(np.float32)
    return blended
