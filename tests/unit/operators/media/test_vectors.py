"""Vectors that point almost the same way share keys, others do not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gristmill.operators.media import compute_vector_keys
from gristmill.operators.media.vectors import VECTOR_KEYS

Vector = NDArray[np.float32]


def unit(draws: np.random.Generator, *, near: Vector | None = None, cosine: float = 0.0) -> Vector:
    """A unit vector; with `near` one at that cosine to it."""
    drawn = draws.normal(size=1024)
    if near is not None:
        drawn -= near * (drawn @ near)
        drawn = near * cosine + drawn / np.linalg.norm(drawn) * np.sqrt(1 - cosine**2)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def share_of_sharing(cosine: float, *, pairs: int = 150) -> float:
    draws = np.random.default_rng(1)
    hits = 0
    for _ in range(pairs):
        one = unit(draws)
        other = unit(draws, near=one, cosine=cosine)
        hits += not set(keys(one)).isdisjoint(keys(other))
    return hits / pairs


def keys(vector: Vector) -> tuple[str, ...]:
    return compute_vector_keys(vector, revision="test")


@pytest.mark.parametrize(("cosine", "least", "most"), [(0.99, 0.9, 1), (0.97, 0.6, 1), (0.9, 0.1, 0.6), (0.6, 0, 0)])
def test_sharing_falls_off_sharply(cosine: float, least: float, most: float) -> None:
    assert least <= share_of_sharing(cosine) <= most


def test_keys_depend_on_the_vector_and_the_model_alone() -> None:
    vector = unit(np.random.default_rng(2))
    assert keys(vector) == keys(vector * 3)
    assert len(set(keys(vector))) == VECTOR_KEYS
    assert set(keys(vector)).isdisjoint(compute_vector_keys(vector, revision="other"))


def test_keys_are_the_same_in_every_process() -> None:
    found = compute_vector_keys(np.arange(1024, dtype=np.float32) - 500, revision="r")
    assert found[:2] == ("v1:0018b54cc6e017b435", "v1:018e7cc207db3c5ed3")


def test_a_vector_of_zeros_has_none() -> None:
    assert keys(np.zeros(1024, np.float32)) == ()


def test_smaller_vectors_do_too() -> None:
    assert len(compute_vector_keys(np.eye(64, dtype=np.float32)[0], revision="test")) == VECTOR_KEYS
