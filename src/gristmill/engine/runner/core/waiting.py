"""Decides which claimed record begins next, and holds records back behind an earlier one of their key.

Without keys records begin as they came. With them at most one record of a key is at work, in the order of their
offsets; one that was given back with a delay holds the later ones of its key until it has come again.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from operator import attrgetter
from typing import Literal

from gristmill.domain.log import Delivery

__all__ = ["HELD_PER_KEY_MAX", "Ordering", "WaitingRecords"]

Ordering = Literal["none", "key"]

HELD_PER_KEY_MAX = 1_000
"""Records of one key that are held back in memory; further ones go back to the log until the key is free."""

FULL_DELAY_MS = 1_000
"""After which a record comes again that found no room."""

HELD_MAX = 10_000
"""Records of all keys that are held back in memory."""

_offset_of = attrgetter("lease.offset")


class _Key:
    """Where one key stands."""

    __slots__ = ("away", "held_since_ms", "is_running", "queue")

    def __init__(self) -> None:
        self.is_running = False
        self.queue: list[Delivery] = []
        self.away: dict[int, tuple[int, int]] = {}
        """Offset -> when it is due, and until when it is waited for."""
        self.held_since_ms = 0

    @property
    def is_free(self) -> bool:
        """Whether its first waiting record may begin."""
        if self.is_running or not self.queue:
            return False
        return not self.away or min(self.away) > self.queue[0].lease.offset

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is anywhere."""
        return not (self.is_running or self.queue or self.away)


class WaitingRecords:
    """Records that were claimed and have not begun. Times are monotonic milliseconds.

    Args:
        grace_ms: how long past its time a record that was given back is waited for; then it went elsewhere.
    """

    def __init__(
        self, ordering: Ordering, *, grace_ms: int, held_per_key_max: int = HELD_PER_KEY_MAX, held_max: int = HELD_MAX
    ) -> None:
        self._is_keyed = ordering == "key"
        self._grace_ms = grace_ms
        self._held_per_key_max = held_per_key_max
        self._held_max = held_max
        self._plain: deque[Delivery] = deque()
        self._keys: dict[str, _Key] = {}
        self._free: dict[str, None] = {}
        self._held_count = 0

    @property
    def ready_count(self) -> int:
        """How many records could begin now if there were slots for all."""
        return len(self._plain) + len(self._free)

    def add(self, delivery: Delivery, *, now_ms: int) -> int | None:
        """Take a record in; or return the delay in ms after which it should come again, since too many wait."""
        if not self._is_fenced(delivery):
            self._plain.append(delivery)
            return None
        key = self._keys.setdefault(delivery.key, _Key())
        key.away.pop(delivery.lease.offset, None)
        if len(key.queue) >= self._held_per_key_max or self._held_count >= self._held_max:
            due_ms = max((due_ms for due_ms, _ in key.away.values()), default=0)
            delay_ms = max(FULL_DELAY_MS, due_ms - now_ms)
            self._note_away(key, delivery, now_ms + delay_ms)
            self._look(delivery.key)
            return delay_ms
        if not key.queue:
            key.held_since_ms = now_ms
        insort(key.queue, delivery, key=_offset_of)
        self._held_count += 1
        self._look(delivery.key)
        return None

    def take(self, *, now_ms: int) -> Delivery | None:
        """Return a record that may begin now, which then counts as at work; None where there is none."""
        if self._plain:
            return self._plain.popleft()
        name = next(iter(self._free), None)
        if name is None:
            return None
        key = self._keys[name]
        key.is_running = True
        first = key.queue.pop(0)
        key.held_since_ms = now_ms
        self._held_count -= 1
        self._look(name)
        return first

    def end(self, delivery: Delivery, *, due_at_ms: int | None = None) -> None:
        """Note that a record that had begun is done with, or was given back and comes again at `due_at_ms`."""
        if not self._is_fenced(delivery):
            return
        key = self._keys[delivery.key]
        key.is_running = False
        if due_at_ms is not None:
            self._note_away(key, delivery, due_at_ms)
        self._look(delivery.key)

    def drop(self, delivery: Delivery) -> bool:
        """Forget a record that has not begun, since its lease is lost; return whether it was here."""
        if not self._is_fenced(delivery):
            if delivery not in self._plain:
                return False
            self._plain.remove(delivery)
            return True
        key = self._keys.get(delivery.key)
        if key is None or delivery not in key.queue:
            return False
        key.queue.remove(delivery)
        self._held_count -= 1
        self._look(delivery.key)
        return True

    def take_all(self, *, due_at_ms: int) -> list[Delivery]:
        """Return all records that have not begun, to be given back until `due_at_ms`."""
        taken = [*self._plain]
        self._plain.clear()
        for key in self._keys.values():
            for delivery in key.queue:
                self._note_away(key, delivery, due_at_ms)
            taken += key.queue
            key.queue.clear()
        self._held_count = 0
        self._free.clear()
        return taken

    def tick(self, *, now_ms: int) -> None:
        """Wait no longer for records that another process has taken or a person has dropped."""
        for name, key in list(self._keys.items()):
            gone = [offset for offset, (_, until_ms) in key.away.items() if now_ms >= until_ms]
            for offset in gone:
                del key.away[offset]
            if gone:
                self._look(name)

    def resume(self, *, now_ms: int) -> None:
        """Claiming goes on after a pause: whatever was due meanwhile gets its whole grace again."""
        for key in self._keys.values():
            for offset, (due_ms, until_ms) in key.away.items():
                key.away[offset] = (due_ms, max(until_ms, now_ms + self._grace_ms))

    def held_ms_max(self, *, now_ms: int) -> int:
        """Return how long records of a key have waited without any of that key beginning, the longest of all keys."""
        return max((now_ms - key.held_since_ms for key in self._keys.values() if key.queue), default=0)

    def _is_fenced(self, delivery: Delivery) -> bool:
        return self._is_keyed and delivery.key != ""

    def _note_away(self, key: _Key, delivery: Delivery, due_at_ms: int) -> None:
        key.away[delivery.lease.offset] = (due_at_ms, due_at_ms + self._grace_ms)

    def _look(self, name: str) -> None:
        """Bring what is known of a key up to date after a change."""
        key = self._keys[name]
        if key.is_free:
            self._free[name] = None
        else:
            self._free.pop(name, None)
            if key.is_idle:
                del self._keys[name]
