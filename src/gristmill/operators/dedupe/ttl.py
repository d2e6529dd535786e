"""Keeps a plan from working twice on one item within a short time.

A Run marks its item as *pending* when it enters and as *done* when it has been committed; if it fails, its mark goes,
so that a redelivery is not taken for a repetition. A mark lives `ttl_ms` from the moment it was set first. Marks are
kept for each plan, and shared by every process that shares the cache. They save work; what must never count twice is
a contribution, which the commit resolves.
"""

from __future__ import annotations

from typing import Annotated

from gristmill import Cache, Item, Role, RunScope, Skip, task
from gristmill.ports.clock import Clock

__all__ = ["ttl_dedupe"]


@task(revision="1", on_error="fail_open")
async def ttl_dedupe(
    item: Item,
    scope: RunScope,
    marks: Annotated[Cache, Role("dedupe")],
    clock: Annotated[Clock, Role("time")],
    *,
    ttl_ms: int = 60_000,
) -> Skip | None:
    """Skip an item that another Run of this plan has had within `ttl_ms`, or has right now.

    Place what must not be repeated after it. Without the cache it lets everything pass: double work beats none.
    """
    key = "\n".join(("ttl", scope.plan, item.source, item.input_id or str(item.item_id)))
    owner = f":{scope.run_id}:"
    entered_at_ms = clock.now_ms()
    mark = f"pending{owner}{entered_at_ms}"
    live = await marks.put_if_absent(key, mark, ttl_ms=ttl_ms)
    if live is not None:
        if owner not in live:
            return Skip(f"seen within {ttl_ms // 1_000} s")
        if live.startswith("done"):
            # Committed, but delivered again: the same Run may go through once more, and its mark stays.
            return None
        # Our own mark from an earlier delivery of the record: its time goes on from there.
        mark, entered_at_ms = live, int(live.rpartition(":")[2])

    async def settle(succeeded: bool) -> None:
        if not succeeded:
            await marks.delete(key, value=mark)
            return
        left_ms = entered_at_ms + ttl_ms - clock.now_ms()
        if left_ms > 0:
            await marks.put(key, f"done{owner}{entered_at_ms}", ttl_ms=left_ms)

    scope.on_end(settle)
    return None
