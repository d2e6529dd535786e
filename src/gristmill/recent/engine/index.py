"""Finds rows by 64-bit keys, for whole arrays of keys at once.

Open addressing over `uint32`: a slot is empty (0), was in use (1), or holds a row number plus 2. Keys are not kept here
but read from the rows themselves, so a slot costs 4 bytes. The table is rebuilt when more than 60 % of it is in use or
was, to a size of which live rows take 20 to 40 %.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import InvariantBroken

__all__ = ["Index", "Keys", "Rows"]

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]

EMPTY, GONE, FIRST = 0, 1, 2
BITS_MIN = 10
USED_MAX = 0.6
LIVE_MAX = 0.4
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: spreads consecutive keys over the table."""


class Index:
    """Rows by key.

    Args:
        keys_of: returns the keys of rows that are in use.
    """

    def __init__(self, keys_of: Callable[[Rows], Keys]) -> None:
        self._keys_of = keys_of
        self.live = 0
        self._make(BITS_MIN)

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self._table.nbytes

    def find(self, keys: Keys) -> Rows:
        """Return the row of each key, -1 where there is none."""
        found = np.full(len(keys), -1, np.int64)
        waiting = np.arange(len(keys))
        slots = self._home(keys)
        while len(waiting):
            values = self._table[slots]
            rows = values.astype(np.int64) - FIRST
            is_hit = values >= FIRST
            is_hit[is_hit] = self._keys_of(rows[is_hit]) == keys[waiting[is_hit]]
            found[waiting[is_hit]] = rows[is_hit]
            goes_on = ~is_hit & (values != EMPTY)
            waiting, slots = waiting[goes_on], (slots[goes_on] + 1) & self._mask
        return found

    def add(self, keys: Keys, rows: Rows) -> None:
        """Add rows under keys that are new, each once."""
        self._make_room(len(keys))
        self._put(keys, rows)
        self.live += len(keys)

    def remove(self, keys: Keys, rows: Rows) -> None:
        """Take rows out; the rows still hold their keys."""
        wanted = (rows + FIRST).astype(np.uint32)
        waiting = np.arange(len(keys))
        slots = self._home(keys)
        while len(waiting):
            values = self._table[slots]
            if (values == EMPTY).any():
                raise InvariantBroken("row that is not in its index", value=int(keys[waiting[0]]))
            is_hit = values == wanted[waiting]
            self._table[slots[is_hit]] = GONE
            waiting, slots = waiting[~is_hit], (slots[~is_hit] + 1) & self._mask
        self.live -= len(keys)

    def shrink(self) -> None:
        """Give memory back where hardly any of the table is in use."""
        if self._bits > BITS_MIN and self.live < len(self._table) * LIVE_MAX / 4:
            self._rebuild(self.live)

    def _put(self, keys: Keys, rows: Rows) -> None:
        values = (rows + FIRST).astype(np.uint32)
        waiting = np.arange(len(keys))
        slots = self._home(keys)
        while len(waiting):
            before = self._table[slots]
            is_free = before < FIRST
            # Several keys may want one slot: the last one written has it, the others go on.
            self._table[slots[is_free]] = values[waiting[is_free]]
            has_won = is_free & (self._table[slots] == values[waiting])
            self._used += int((before[has_won] == EMPTY).sum())
            waiting, slots = waiting[~has_won], (slots[~has_won] + 1) & self._mask

    def _home(self, keys: Keys) -> Rows:
        return ((keys * GOLDEN) >> np.uint64(64 - self._bits)).astype(np.int64)

    def _make_room(self, count: int) -> None:
        if self._used + count > len(self._table) * USED_MAX:
            self._rebuild(self.live + count)

    def _rebuild(self, count: int) -> None:
        rows = self._table[self._table >= FIRST].astype(np.int64) - FIRST
        self._make(max(BITS_MIN, int(count / LIVE_MAX).bit_length()))
        self._put(self._keys_of(rows), rows)

    def _make(self, bits: int) -> None:
        self._bits, self._mask, self._used = bits, (1 << bits) - 1, 0
        self._table = np.zeros(1 << bits, np.uint32)
