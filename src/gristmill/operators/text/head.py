"""A small trainable judge of texts: logistic regression over hashed n-grams, rule signals and an embedding.

Training takes seconds on thousands of texts, needs no library but numpy, and gives the same weights for the same input.
A head is bytes: it can be stored as a blob, and its revision is the hash of these bytes.

Features of one text, each group scaled to length one and weighted by `_GROUP_WEIGHTS`, so that no group drowns another:

    words    single words and pairs, hashed to 2^15 slots
    letters  groups of 3 to 5 characters of the folded text, hashed to another 2^15
    signals  which phrases were found, and counts and shares that the rules see too, cut at one
    vector   the text's embedding, if the head was trained with one

Weights are found by full-batch gradient descent with Nesterov's momentum on the L2-regularised log loss, both classes
weighing the same. Source: Weinberger et al. 2009 (hashing trick); Nesterov 1983.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import DataError, UsageError
from gristmill.operators.text.normalise import Normalised
from gristmill.operators.text.signals import HEAD_SIGNALS, Findings, collect_signals

__all__ = ["FEATURES_VERSION", "HeadFeatures", "SpamHead", "extract_features", "load_head", "train_head"]

FEATURES_VERSION = 1
"""Rises whenever equal texts would get other features; a head of another version is refused."""

SLOTS = 1 << 15
CHARS_MAX = 1_000
"""What decides stands early; this bounds the time of one score to about 0.1 ms."""

STEPS = 300
RATE = 2.0
MOMENTUM = 0.9
L2 = 1e-4
_GROUP_WEIGHTS = {"words": 1.0, "letters": 1.0, "signals": 4.0, "vector": 1.0}
_SIGNALS_HASH = hashlib.sha256(" ".join(HEAD_SIGNALS).encode()).hexdigest()[:8]
_SLOTS = np.uint64(SLOTS)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class HeadFeatures(msgspec.Struct, frozen=True):
    """Features of one text: `slots` int64[k] with `values` float32[k], and `dense` float32[d].

    Attributes:
        schema: names the kind of features; a head takes only those that it was trained on.
    """

    schema: str
    slots: NDArray[np.int64]
    values: NDArray[np.float32]
    dense: NDArray[np.float32]


class _Stored(msgspec.Struct, frozen=True):
    schema: str
    bias: float
    sparse_weights: bytes
    dense_weights: bytes


class SpamHead:
    """Trained weights. Read only; `revision` names them."""

    def __init__(self, stored: bytes) -> None:
        try:
            parts = msgspec.msgpack.decode(stored, type=_Stored)
            self._sparse = np.frombuffer(parts.sparse_weights, "<f4")
            self._dense = np.frombuffer(parts.dense_weights, "<f4")
        except (msgspec.MsgspecError, ValueError) as error:
            raise DataError("these bytes are no trained head", advice="train it again") from error
        if not parts.schema.startswith(f"{FEATURES_VERSION}:") or self._sparse.size != 2 * SLOTS:
            raise DataError("this head was trained on other features", value=parts.schema, advice="train it again")
        self._bias = parts.bias
        self._stored = stored
        self.schema = parts.schema
        self.revision = f"head-{hashlib.sha256(stored).hexdigest()[:12]}"

    def dump(self) -> bytes:
        """Return the bytes that `load_head` takes."""
        return self._stored

    def score(self, features: HeadFeatures) -> float:
        """Return the probability of spam, 0.0 to 1.0.

        Raises:
            UsageError: the features hold other signals or another embedding than those it was trained on.
        """
        if features.schema != self.schema:
            raise UsageError("features of another kind", value=features.schema, advice=f"this head needs {self.schema}")
        margin = float(self._sparse[features.slots] @ features.values) + float(self._dense @ features.dense)
        return float(_sigmoid(np.float64(margin + self._bias)))


def load_head(stored: bytes) -> SpamHead:
    """Return a trained head from its bytes, or raise DataError."""
    return SpamHead(stored)


def extract_features(
    findings: Findings,
    prose: Normalised,
    vector: NDArray[np.float32] | None = None,
    *,
    vector_revision: str = "",
) -> HeadFeatures:
    """Return the features of one text.

    Args:
        prose: the text without its links.
        vector: unit embedding of `prose`, by the embedder of `vector_revision`.
    """
    words = _hash_words(prose.words[:CHARS_MAX].split())
    letters = _hash_letters(prose.folded[:CHARS_MAX])
    slots = np.concatenate([words % _SLOTS, letters % _SLOTS + _SLOTS]).astype(np.int64)
    values = np.concatenate([_share("words", words.size), _share("letters", letters.size)])
    signals = np.fromiter(collect_signals(findings, HEAD_SIGNALS).values(), np.float32, len(HEAD_SIGNALS))
    dense = np.minimum(signals, np.float32(1.0)) * np.float32(_GROUP_WEIGHTS["signals"] / 2.0)
    if vector is not None:
        dense = np.concatenate([dense, vector * np.float32(_GROUP_WEIGHTS["vector"])])
    schema = f"{FEATURES_VERSION}:{_SIGNALS_HASH}:{vector_revision if vector is not None else '-'}"
    return HeadFeatures(schema, slots, values, dense)


def train_head(examples: Sequence[HeadFeatures], labels: Sequence[bool]) -> SpamHead:
    """Return a head trained on these examples; the same input gives the same bytes on one machine.

    Raises:
        UsageError: fewer than two examples of a class, unequal lengths, or features of different kinds.
    """
    if len(examples) != len(labels):
        raise UsageError("examples and labels differ in number", value=(len(examples), len(labels)))
    if min(sum(labels), len(labels) - sum(labels)) < 2:
        raise UsageError("training needs two examples of each class", value=len(labels), advice="label more texts")
    if len({(example.schema, example.dense.size) for example in examples}) != 1:
        raise UsageError("examples have features of different kinds", advice="extract all in the same way")
    rows = np.repeat(np.arange(len(examples)), [example.slots.size for example in examples])
    sparse = _Sparse(
        rows=rows,
        slots=np.concatenate([example.slots for example in examples]),
        values=np.concatenate([example.values for example in examples]).astype(np.float64),
    )
    dense = np.stack([example.dense for example in examples]).astype(np.float64)
    weights, dense_weights, bias = _descend(sparse, dense, np.asarray(labels, np.float64))
    stored = _Stored(
        schema=examples[0].schema,
        bias=bias,
        sparse_weights=weights.astype("<f4").tobytes(),
        dense_weights=dense_weights.astype("<f4").tobytes(),
    )
    return SpamHead(msgspec.msgpack.encode(stored))


class _Sparse(msgspec.Struct, frozen=True):
    rows: NDArray[np.int64]
    slots: NDArray[np.int64]
    values: NDArray[np.float64]


def _descend(
    sparse: _Sparse, dense: NDArray[np.float64], labels: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    count = labels.size
    positive = labels.mean()
    balance = np.where(labels > 0.5, 0.5 / positive, 0.5 / (1.0 - positive)) / count
    weights, dense_weights, bias = np.zeros(2 * SLOTS), np.zeros(dense.shape[1]), 0.0
    pace, dense_pace, bias_pace = np.zeros_like(weights), np.zeros_like(dense_weights), 0.0
    for _ in range(STEPS):
        ahead, dense_ahead = weights + MOMENTUM * pace, dense_weights + MOMENTUM * dense_pace
        margins = np.bincount(sparse.rows, ahead[sparse.slots] * sparse.values, count)
        errors = balance * (_sigmoid(margins + dense @ dense_ahead + bias + MOMENTUM * bias_pace) - labels)
        gradient = np.bincount(sparse.slots, errors[sparse.rows] * sparse.values, weights.size) + L2 * ahead
        pace = MOMENTUM * pace - RATE * gradient
        dense_pace = MOMENTUM * dense_pace - RATE * (dense.T @ errors + L2 * dense_ahead)
        bias_pace = MOMENTUM * bias_pace - RATE * float(errors.sum())
        weights, dense_weights, bias = weights + pace, dense_weights + dense_pace, bias + bias_pace
    return weights, dense_weights, bias


def _sigmoid(margins: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(margins, -30.0, 30.0))))


def _share(group: str, count: int) -> NDArray[np.float32]:
    return np.full(count, _GROUP_WEIGHTS[group] / max(1.0, np.sqrt(count)), np.float32)


def _hash_words(words: list[str]) -> NDArray[np.uint64]:
    if not words:
        return np.zeros(0, np.uint64)
    crc = zlib.crc32
    single = np.fromiter((crc(word.encode("utf-8")) for word in words), np.uint64, len(words))
    return _mix(np.concatenate([single, (single[:-1] * _MIX) ^ single[1:]]))


def _hash_letters(folded: str) -> NDArray[np.uint64]:
    codes = np.frombuffer(f" {folded} ".encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    groups = []
    hashes = codes
    for size in range(2, 6):
        if codes.size < size:
            break
        hashes = hashes[:-1] * np.uint64(0x100000001B3) + codes[size - 1 :]
        if size >= 3:
            groups.append(hashes)
    return _mix(np.concatenate(groups)) if groups else np.zeros(0, np.uint64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(32))) * _MIX
    return values ^ (values >> np.uint64(29))
