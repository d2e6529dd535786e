"""A process that issues item ids: `issue_ids.py STORE OUTPUT COUNT DIE_AFTER`.

Appends every id to OUTPUT as eight bytes and goes on until OUTPUT holds COUNT of them. With DIE_AFTER above 0 it kills
itself once OUTPUT holds so many, with a segment half used and another one fetched.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from array import array
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import IdUnavailable
from gristmill.intake.ids import SegmentIds

IDS_PER_CALL = 370
ID_BYTES = 8


async def issue(store_path: Path, output: Path, count: int, die_after: int) -> None:
    clock = SystemClock()
    store = SqliteStore.open(store_path, clock=clock, owner=new_owner())
    ids = SegmentIds(store.state, clock)
    running = asyncio.create_task(ids.run())
    with output.open("ab") as file:
        written = file.tell() // ID_BYTES
        while written < count:
            try:
                issued = await ids.issue(min(IDS_PER_CALL, count - written))
            except IdUnavailable:  # The store was too busy to give a segment in time: ask again, as intake does.
                continue
            file.write(array("q", issued).tobytes())
            file.flush()
            written += len(issued)
            if die_after and written >= die_after:
                os.kill(os.getpid(), signal.SIGKILL)
    running.cancel()
    await store.close()


if __name__ == "__main__":
    asyncio.run(issue(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
