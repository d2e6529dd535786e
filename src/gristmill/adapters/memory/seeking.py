"""Moves a group over its topic in memory."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.adapters.memory.ledger import GroupState, Held, TopicState
from gristmill.domain.log import DeadLetter
from gristmill.domain.steering import SeekTo, Sought

__all__ = ["find_first", "seek"]


def find_first(state: TopicState, to: SeekTo) -> int:
    """Return the first offset that a group is to get; one above the last where there is none."""
    after_last = state.offsets[-1] + 1 if state.offsets else 1
    if to.offset is not None:
        return to.offset
    at_ms = to.at_ms or 0
    found = (offset for offset in state.offsets if state.records[offset].appended_at_ms >= at_ms)
    return next(found, after_last)


def seek(
    state: TopicState,
    group: GroupState,
    first: int,
    *,
    letters: Sequence[tuple[DeadLetter, bool]],
    now_ms: int,
    is_preview: bool,
) -> Sought:
    """Move a group, or count what that would do.

    Args:
        letters: dead letters of the group, and whether they are open: records of those stay with them.
    """
    spared = {letter.offset for letter, is_open in letters if is_open}
    generations = {letter.offset: letter.generation + 1 for letter, _ in letters}
    behind = [offset for offset in state.offsets if offset <= group.cursor]
    again = [offset for offset in behind if offset >= first and offset not in group.held and offset not in spared]
    waiting = [offset for offset, held in group.held.items() if offset < first and not held.owner]
    ahead = [offset for offset in state.offsets if group.cursor < offset < first]
    in_flight = sum(held.is_live(now_ms) for held in group.held.values())
    if not is_preview:
        for offset in again:
            # No earlier holder can have an epoch that high.
            group.set_aside(offset, Held("", now_ms, 0, now_ms, generations.get(offset, 0)))
        for offset in waiting:
            del group.held[offset]
        group.cursor = max(group.cursor, ahead[-1] if ahead else 0)
    return Sought(len(again), len(waiting) + len(ahead), in_flight)
