"""Pictures in tests: fakes for the ports, pictures drawn from a seed, and what every implementation must hold."""

from gristmill.testing.media.contracts import (
    ImageModelContract,
    ImageReaderContract,
    InlineFetcherContract,
    MediaFetcherContract,
)
from gristmill.testing.media.fakes import FakeFetcher, FakeImageModel, FakeImageReader
from gristmill.testing.media.pictures import Pixels, draw_picture, encode_png

__all__ = [
    "FakeFetcher",
    "FakeImageModel",
    "FakeImageReader",
    "ImageModelContract",
    "ImageReaderContract",
    "InlineFetcherContract",
    "MediaFetcherContract",
    "Pixels",
    "draw_picture",
    "encode_png",
]
