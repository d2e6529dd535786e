"""Decisions on items that have not arrived, kept until they do: whichever comes first, the item ends the same."""

from __future__ import annotations

import msgspec

from gristmill.recent.core.request import Ids

__all__ = ["Decision", "EarlyDecisions"]


class Decision(msgspec.Struct, frozen=True):
    """What flows have decided on an item.

    Attributes:
        hide: True hides, False shows, None leaves it.
        set, clear: label bits.
    """

    hide: bool | None
    set: int
    clear: int


class EarlyDecisions:
    """What was decided, folded into one decision for each item.

    Args:
        items_max: items that are waited for; beyond it the first are forgotten.
    """

    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self._decisions: dict[int, Decision] = {}

    def note(self, item: int, decision: Decision) -> int:
        """Keep a decision; return how many items are not waited for any more."""
        before = self._decisions.pop(item, None)
        self._decisions[item] = decision if before is None else _fold(before, decision)
        forgotten = 0
        while len(self._decisions) > self._items_max:
            del self._decisions[next(iter(self._decisions))]
            forgotten += 1
        return forgotten

    def find(self, items: Ids) -> list[tuple[int, Decision]]:
        """Return the decisions that there are on some items."""
        if not self._decisions:
            return []
        return [(item, self._decisions[item]) for item in items.tolist() if item in self._decisions]

    def drop(self, item: int) -> None:
        """Forget a decision that was carried out."""
        self._decisions.pop(item, None)


def _fold(first: Decision, second: Decision) -> Decision:
    return Decision(
        hide=first.hide if second.hide is None else second.hide,
        set=(first.set | second.set) & ~second.clear,
        clear=(first.clear & ~second.set) | second.clear,
    )
