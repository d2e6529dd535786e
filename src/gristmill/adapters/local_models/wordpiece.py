"""WordPiece: text to token ids over a fixed vocabulary, as BERT's uncased tokeniser cuts it.

Text is lowercased, accents are stripped, punctuation and Chinese characters stand alone; each word is then cut
greedily into the longest pieces that the vocabulary knows (`##` marks a piece that continues a word). A word that
cannot be cut gives nothing: unlike BERT there is no [UNK], because a static table has no use for it.

Source: Wu et al. 2016, arXiv:1609.08144 (WordPiece); Devlin et al. 2018, arXiv:1810.04805 (vocabulary).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain

__all__ = ["WordPiece"]

WORD_CHARS_MAX = 64
"""Longer words are hashes or noise; greedy cutting costs the square of the length."""

CACHED_CHUNKS_MAX = 50_000
"""About 8 MB. The cache starts again when full: cheaper than an order of use, and comments repeat their words."""

_WORDS = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u9fff\uf900-\ufaff]+|[^\w\s]|_")
_ACCENTS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]+")


class WordPiece:
    """Cuts text into ids of one vocabulary; keeps what it has cut, by whitespace-separated chunk."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: piece_id for piece_id, piece in enumerate(vocabulary)}
        self._cut: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, *, tokens_max: int) -> list[int]:
        """Return the ids of the first words of `text`, at most `tokens_max` ids."""
        cut = self._cut
        ids: list[int] = []
        for chunk in text.lower().split():
            pieces = cut.get(chunk)
            ids += self._cut_chunk(chunk) if pieces is None else pieces
            if len(ids) >= tokens_max:
                return ids[:tokens_max]
        return ids

    def _cut_chunk(self, chunk: str) -> tuple[int, ...]:
        plain = chunk if chunk.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFD", chunk))
        pieces = tuple(chain.from_iterable(self._cut_word(word) for word in _WORDS.findall(plain)))
        if len(chunk) <= WORD_CHARS_MAX:
            if len(self._cut) >= CACHED_CHUNKS_MAX:
                self._cut.clear()
            self._cut[chunk] = pieces
        return pieces

    def _cut_word(self, word: str) -> tuple[int, ...]:
        whole = self._ids.get(word)
        if whole is not None:
            return (whole,)
        if len(word) > WORD_CHARS_MAX:
            return ()
        pieces: list[int] = []
        start = 0
        while start < len(word):
            end, piece_id = self._longest_piece(word, start)
            if piece_id is None:
                return ()
            pieces.append(piece_id)
            start = end
        return tuple(pieces)

    def _longest_piece(self, word: str, start: int) -> tuple[int, int | None]:
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            piece_id = self._ids.get(prefix + word[start:end])
            if piece_id is not None:
                return end, piece_id
        return start, None
