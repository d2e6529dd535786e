"""Decides how long a lease may be relied upon while renewing it fails."""

from __future__ import annotations

from collections.abc import Iterable

from gristmill.domain.log import Lease

__all__ = ["BEATS_PER_LEASE", "HeldLeases"]

BEATS_PER_LEASE = 3
SAFETY_SHARE = 6
"""Work ends a sixth of a lease before it does: clocks differ, and a cancelled write may still be on its way."""


class HeldLeases:
    """The leases that a process works under, each with its length and its end. Times are monotonic milliseconds."""

    def __init__(self) -> None:
        self._ends: dict[Lease, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, lease: Lease, *, lease_ms: int, asked_at_ms: int) -> None:
        """Hold a lease whose claim was sent at `asked_at_ms`; counted from there it ends no later than we think."""
        self._ends[lease] = (lease_ms, asked_at_ms + lease_ms)

    def drop(self, lease: Lease) -> bool:
        """Forget a lease; return whether it was held."""
        return self._ends.pop(lease, None) is not None

    def by_length(self) -> dict[int, list[Lease]]:
        """Return the leases by their length in ms, since one call renews leases of one length."""
        lengths: dict[int, list[Lease]] = {}
        for lease, (lease_ms, _) in self._ends.items():
            lengths.setdefault(lease_ms, []).append(lease)
        return lengths

    def on_renewed(self, answers: Iterable[tuple[Lease, bool]], *, asked_at_ms: int) -> list[Lease]:
        """Note the answers to a renewal; return the leases that are definitely not ours any more and forget them."""
        lost: list[Lease] = []
        for lease, is_ours in answers:
            held = self._ends.get(lease)
            if held is None:
                continue
            if is_ours:
                self._ends[lease] = (held[0], max(held[1], asked_at_ms + held[0]))
            else:
                lost.append(lease)
                del self._ends[lease]
        return lost

    def take_unsafe(self, *, now_ms: int) -> list[Lease]:
        """Return the leases that could not be renewed in time to be relied upon, and forget them."""
        unsafe = [lease for lease, held in self._ends.items() if now_ms >= _unsafe_from(held)]
        for lease in unsafe:
            del self._ends[lease]
        return unsafe

    def unsafe_in_ms(self, *, now_ms: int) -> int | None:
        """Return milliseconds until the first lease cannot be relied upon any more; None where none is held."""
        if not self._ends:
            return None
        return max(0, min(map(_unsafe_from, self._ends.values())) - now_ms)


def _unsafe_from(held: tuple[int, int]) -> int:
    lease_ms, end_ms = held
    return end_ms - lease_ms // SAFETY_SHARE
