"""The size of the tile that a picture is brought to."""

from __future__ import annotations

__all__ = ["TILE_SIDE_MIN", "fit"]

TILE_SIDE_MIN = 8
"""Models refuse less; thinner pictures are padded with black."""


def fit(width: int, height: int, side: int) -> tuple[int, int]:
    """Return the size whose longest side is `side`, in the same proportions, smaller pictures enlarged.

    A side can come out as 1 however thin the picture is; it is not padded here.
    """
    longest = max(width, height)
    return max(1, round(width * side / longest)), max(1, round(height * side / longest))
