"""Tier-0 embeddings: a text is the weighted mean of one shipped vector per token. No model runs.

`data/tier0/` holds the table that `scripts/distil_tier0.py` made from all-MiniLM-L6-v2; the recipe and the licence
stand in `NOTICE.md` there. Good for topics, near meanings and as features of small heads; English only, blind to
word order. Memory: the table is mapped, so processes of one host share its 8 MB.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gristmill.adapters.local_models.wordpiece import WordPiece

__all__ = ["StaticEmbedder"]

TOKENS_PER_TEXT_MAX = 512
"""As long as the model that the table comes from reads; a mean hardly moves after that."""

CHARS_PER_TEXT_MAX = 4_000
"""Enough for 512 tokens of most scripts; bounds the work before the text is cut."""

TEXTS_PER_BLOCK = 128
"""Bounds the float rows in flight: 128 comments of 20 tokens are 2.6 MB, which stays in cache."""

_TIER0 = Path(__file__).parent / "data" / "tier0"


class StaticEmbedder:
    """`Embedder` over a table of token vectors.

    Nothing is read before the first use.

    Args:
        folder: holds `table.npy` int8[vocabulary, dimension], `scale.npy` float32[vocabulary], `vocab.txt.gz`.
    """

    def __init__(self, folder: Path = _TIER0) -> None:
        self._folder = folder

    @property
    def dimension(self) -> int:
        return int(self._table.shape[1])

    @cached_property
    def revision(self) -> str:
        """Hash of table, scale and vocabulary: `tier0-` and 12 hex digits."""
        digest = hashlib.sha256()
        for name in ("table.npy", "scale.npy", "vocab.txt.gz"):
            digest.update((self._folder / name).read_bytes())
        return f"tier0-{digest.hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return `float32[len(texts), dimension]`, each row L2-normalised; zero where no token is known."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_PER_BLOCK):
            self._embed_block(texts[start : start + TEXTS_PER_BLOCK], vectors[start : start + TEXTS_PER_BLOCK])
        return vectors

    def _embed_block(self, texts: Sequence[str], out: NDArray[np.float32]) -> None:
        encode = self._tokens.encode
        ids = [encode(text[:CHARS_PER_TEXT_MAX], tokens_max=TOKENS_PER_TEXT_MAX) for text in texts]
        flat = np.fromiter(chain.from_iterable(ids), np.intp)
        rows = self._table[flat].astype(np.float32)
        weights = self._scale[flat]
        start = 0
        # One product per text: np.add.reduceat over the rows takes fourteen times as long.
        for index, tokens in enumerate(ids):
            stop = start + len(tokens)
            np.dot(weights[start:stop], rows[start:stop], out=out[index])
            start = stop
        # The mean's divisor falls away with the norm.
        norms = np.sqrt(np.einsum("ij,ij->i", out, out))
        norms[norms == 0.0] = 1.0
        out /= norms[:, None]

    @cached_property
    def _table(self) -> NDArray[np.int8]:
        # A plain view: a memmap's own __getitem__ costs several microseconds a call.
        mapped: NDArray[np.int8] = np.load(self._folder / "table.npy", mmap_mode="r")
        return np.asarray(mapped)

    @cached_property
    def _scale(self) -> NDArray[np.float32]:
        scale: NDArray[np.float32] = np.load(self._folder / "scale.npy")
        return scale

    @cached_property
    def _tokens(self) -> WordPiece:
        packed = (self._folder / "vocab.txt.gz").read_bytes()
        return WordPiece(gzip.decompress(packed).decode("utf-8").splitlines())
