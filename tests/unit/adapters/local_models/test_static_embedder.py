"""Tier-0 embeddings from the shipped table."""

import numpy as np

from gristmill.adapters.local_models import StaticEmbedder
from gristmill.adapters.local_models.wordpiece import WordPiece
from gristmill.ports.models import Embedder

EMBEDDER: Embedder = StaticEmbedder()


def similarity(left: str, right: str) -> float:
    first, second = EMBEDDER.embed([left, right])
    return float(first @ second)


def test_vectors_are_unit_rows_of_float32() -> None:
    vectors = EMBEDDER.embed(["a cat", "tax law in Norway"])
    assert vectors.shape == (2, EMBEDDER.dimension) == (2, 256)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_near_meanings_are_nearer_than_far_ones() -> None:
    assert similarity("a cat", "a kitten") > similarity("a cat", "tax law") + 0.3
    assert similarity("the team won the match", "they lost the final game") > similarity(
        "the team won the match", "bake the cake for an hour"
    )


def test_texts_without_known_tokens_are_zero() -> None:
    assert not EMBEDDER.embed(["", " ", "\x00", "\ud800"]).any()
    assert EMBEDDER.embed([]).shape == (0, 256)


def test_a_batch_gives_what_single_calls_give() -> None:
    texts = [f"text number {index} about {'music' if index % 2 else 'law'}" for index in range(300)]
    texts[100] = ""
    batch = EMBEDDER.embed(texts)
    assert np.allclose(batch, np.concatenate([EMBEDDER.embed([text]) for text in texts]), atol=1e-6)


def test_long_and_hostile_texts_are_bounded() -> None:
    vectors = EMBEDDER.embed(["word " * 200_000, "x" * 1_000_000, "👩‍👩‍👧‍👦" * 1000, "مرحبا"])
    assert np.isfinite(vectors).all()


def test_the_revision_names_the_data() -> None:
    assert EMBEDDER.revision == StaticEmbedder().revision
    assert EMBEDDER.revision.startswith("tier0-")


def test_words_are_cut_into_the_longest_known_pieces() -> None:
    pieces = WordPiece(["un", "##aff", "##able", "##a", "!", "歌", "cafe"])
    assert pieces.encode("Unaffable!", tokens_max=9) == [0, 1, 2, 4]
    assert pieces.encode("Café 歌歌", tokens_max=9) == [6, 5, 5]
    assert pieces.encode("unknown", tokens_max=9) == []
    assert pieces.encode("cafe cafe cafe", tokens_max=2) == [6, 6]
