"""Cuts long texts into pieces that are searched one after the other, so that nobody waits for a whole one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["PIECE_CHARS", "cut_text"]

PIECE_CHARS = 65_536
"""Folding so many takes ten milliseconds at the slowest."""


def cut_text(text: str, *, overlap: int) -> Iterator[str]:
    """Yield pieces, of which one holds whatever of at most `overlap` characters the text holds.

    Folding the case makes a character longer and never shorter, so a word of that length has at most as many here.
    """
    for start in range(0, max(1, len(text)), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS + overlap]
