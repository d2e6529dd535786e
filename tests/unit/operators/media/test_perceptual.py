"""Pictures that look alike have hashes that are alike, and share keys."""

import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from gristmill.operators.media import PerceptualHash, compute_hash, compute_hash_keys, count_differences
from gristmill.operators.media.perceptual import HASH_BITS, PERCEPTUAL_KEYS
from gristmill.testing.media import draw_picture

PICTURES = [Image.fromarray(draw_picture(seed)) for seed in range(60)]


def hash_of(image: Image.Image) -> PerceptualHash:
    return compute_hash(image.convert("L").resize((64, 64), Image.Resampling.LANCZOS).tobytes())


def as_jpeg(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=30)
    return Image.open(buffer).convert("RGB")


COPIES = {
    "half the size": [image.resize((160, 120), Image.Resampling.LANCZOS) for image in PICTURES],
    "JPEG quality 30": [as_jpeg(image) for image in PICTURES],
    "darker": [ImageEnhance.Brightness(image).enhance(0.75) for image in PICTURES],
    "grey": [image.convert("L").convert("RGB") for image in PICTURES],
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_near_and_nearly_always_shares_a_key(name: str) -> None:
    pairs = [(hash_of(one), hash_of(other)) for one, other in zip(PICTURES, COPIES[name], strict=True)]
    assert np.median([count_differences(one.hex, other.hex) for one, other in pairs]) <= 6
    sharing = [not set(compute_hash_keys(one)).isdisjoint(compute_hash_keys(other)) for one, other in pairs]
    assert np.mean(sharing) >= 0.95


def test_other_pictures_are_far_and_share_no_key() -> None:
    hashes = [hash_of(image) for image in PICTURES]
    keys = [set(compute_hash_keys(hashed)) for hashed in hashes]
    pairs = [(i, j) for i in range(len(hashes)) for j in range(i)]
    distances = [count_differences(hashes[i].hex, hashes[j].hex) for i, j in pairs]
    assert min(distances) > 80
    assert abs(np.mean(distances) - HASH_BITS / 2) < 4
    assert all(keys[i].isdisjoint(keys[j]) for i, j in pairs)


def test_a_plain_picture_has_no_keys() -> None:
    for colour in ("black", "white", "red"):
        hashed = hash_of(Image.new("RGB", (320, 240), colour))
        assert not hashed.is_distinct
        assert compute_hash_keys(hashed) == ()


def test_keys_are_the_same_in_every_process() -> None:
    keys = compute_hash_keys(PerceptualHash("0123456789abcdef" * 4, True))
    assert len(set(keys)) == PERCEPTUAL_KEYS
    assert keys[:2] == ("p1:003ad0769c", "p1:01b258fe14")
