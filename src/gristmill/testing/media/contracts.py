"""What every fetcher, reader and model of pictures must hold."""

from __future__ import annotations

import base64

import numpy as np

from gristmill.ports.media import (
    GREY_SIDE,
    PIXELS_SIDE,
    Fetched,
    ImageClassifier,
    ImageEmbedder,
    ImageReader,
    MediaFetcher,
    Missing,
    Picture,
)
from gristmill.testing.media.pictures import draw_picture, encode_png

__all__ = ["ImageModelContract", "ImageReaderContract", "InlineFetcherContract", "MediaFetcherContract"]


class MediaFetcherContract:
    """Give it a fixture `media_fetcher`. See `ports.media.MediaFetcher`."""

    async def test_what_is_nowhere_is_missing_with_a_reason(self, media_fetcher: MediaFetcher) -> None:
        for reference in ("", "nonsense", "ftp://example.com/a.png", "http://10.0.0.1/a.png", "file:///etc/passwd"):
            async with media_fetcher.open(reference) as fetched:
                assert isinstance(fetched, Missing), reference
                assert fetched.reason

    async def test_a_reference_can_be_opened_again_and_again(self, media_fetcher: MediaFetcher) -> None:
        for _ in range(50):
            async with media_fetcher.open("nonsense") as fetched:
                assert isinstance(fetched, Missing)


class InlineFetcherContract(MediaFetcherContract):
    """For fetchers that know `data:` URLs."""

    async def test_inline_bytes_are_given_as_they_are(self, media_fetcher: MediaFetcher) -> None:
        body = bytes(range(256))
        reference = f"data:image/png;base64,{base64.b64encode(body).decode()}"
        async with media_fetcher.open(reference) as fetched:
            assert fetched == Fetched(body)


class ImageReaderContract:
    """Give it a fixture `image_reader`. See `ports.media.ImageReader`."""

    async def test_a_picture_comes_in_the_sizes_that_others_rely_on(self, image_reader: ImageReader) -> None:
        picture = await image_reader.read(encode_png(draw_picture(1)))
        assert isinstance(picture, Picture)
        assert len(picture.grey) == GREY_SIDE * GREY_SIDE
        assert len(picture.pixels) == PIXELS_SIDE * PIXELS_SIDE * 3
        assert max(picture.tile_width, picture.tile_height) == 448
        assert picture.frames >= 1

    async def test_equal_bytes_give_equal_pictures(self, image_reader: ImageReader) -> None:
        body = encode_png(draw_picture(2))
        assert await image_reader.read(body) == await image_reader.read(body)

    async def test_a_broken_picture_is_missing_and_the_next_one_is_read(self, image_reader: ImageReader) -> None:
        assert isinstance(await image_reader.read(b"broken"), Missing)
        assert isinstance(await image_reader.read(encode_png(draw_picture(3))), Picture)


class ImageModelContract:
    """Give it a fixture `image_model` that plays both ports. See `ports.media`."""

    def test_scores_lie_between_0_and_1(self, image_model: ImageClassifier) -> None:
        scores = image_model.classify([_pixels(seed) for seed in range(3)])
        assert len(scores) == 3
        assert all(0.0 <= score <= 1.0 for score in scores)

    def test_vectors_have_length_one_in_the_order_of_the_pictures(self, image_model: ImageEmbedder) -> None:
        vectors = image_model.embed([_pixels(1), _pixels(2), _pixels(1)])
        assert vectors.shape == (3, image_model.dimension)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)
        assert np.array_equal(vectors[0], vectors[2])
        assert not np.array_equal(vectors[0], vectors[1])

    def test_nothing_is_asked_and_nothing_comes(self, image_model: ImageClassifier) -> None:
        assert image_model.classify([]) == []

    def test_nothing_to_embed_gives_no_row(self, image_model: ImageEmbedder) -> None:
        assert image_model.embed([]).shape == (0, image_model.dimension)

    def test_a_model_says_which_one_it_is(self, image_model: ImageClassifier) -> None:
        assert image_model.revision


def _pixels(seed: int) -> bytes:
    return draw_picture(seed, width=PIXELS_SIDE, height=PIXELS_SIDE).tobytes()
