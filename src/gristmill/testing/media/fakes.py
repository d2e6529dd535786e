"""Fakes for the ports of media."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import Unavailable
from gristmill.ports.media import GREY_SIDE, PIXELS_SIDE, Fetched, Missing, Picture

__all__ = ["FakeFetcher", "FakeImageModel", "FakeImageReader"]


class FakeFetcher:
    """`MediaFetcher` over a mapping: bytes, a `Missing`, or an `Unavailable` to raise; anything else is absent."""

    def __init__(self, bodies: Mapping[str, bytes | Missing | Unavailable]) -> None:
        self._bodies = bodies
        self.asked: list[str] = []

    @asynccontextmanager
    async def open(self, reference: str) -> AsyncIterator[Fetched | Missing]:
        """Give what the mapping holds."""
        self.asked.append(reference)
        found = self._bodies.get(reference, Missing("absent", "not in the mapping"))
        if isinstance(found, Unavailable):
            raise found
        yield Fetched(found, reference) if isinstance(found, bytes) else found


class FakeImageReader:
    """`ImageReader` that takes bytes of any kind for a picture: equal bytes look alike, others do not.

    Bytes that begin with `broken` are a broken picture.
    """

    async def read(self, body: bytes, *, tile_side: int = 448) -> Picture | Missing:
        """Return a picture drawn from the bytes."""
        if body.startswith(b"broken"):
            return Missing("broken", "it says so itself")
        draws = np.random.default_rng(int.from_bytes(hashlib.sha256(body).digest()[:8]))
        grey = draws.integers(0, 256, GREY_SIDE * GREY_SIDE, dtype=np.uint8).tobytes()
        pixels = draws.integers(0, 256, PIXELS_SIDE * PIXELS_SIDE * 3, dtype=np.uint8).tobytes()
        return Picture("image/fake", 100, 100, 1, tile_side, tile_side, body, grey, pixels)


class FakeImageModel:
    """`ImageClassifier` and `ImageEmbedder` without a model.

    Args:
        score: pixels to a score; by default nothing is explicit.
    """

    dimension = 64
    revision = "fake-1"

    def __init__(self, score: Callable[[bytes], float] = lambda pixels: 0.0) -> None:
        self._score = score

    def classify(self, pixels: Sequence[bytes]) -> list[float]:
        """Return what `score` says."""
        return [self._score(one) for one in pixels]

    def embed(self, pixels: Sequence[bytes]) -> NDArray[np.float32]:
        """Return unit vectors drawn from the pixels: equal ones are equal, others point anywhere."""
        rows = np.zeros((len(pixels), self.dimension), np.float32)
        for row, one in zip(rows, pixels, strict=True):
            drawn = np.random.default_rng(int.from_bytes(hashlib.sha256(one).digest()[:8])).normal(size=self.dimension)
            row[:] = drawn / np.linalg.norm(drawn)
        return rows
