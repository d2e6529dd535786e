"""Several processes over one file: waking each other, and dying at the worst moments."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.testing.faults import fault_environment

PATIENCE_S = 20

CLAIM_AND_COMMIT = """
import asyncio, sys
from pathlib import Path
from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import RunningMarks, new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.contracts.backend import claim, make_commit

async def main():
    owner = new_owner()
    store = SqliteStore.open(Path(sys.argv[1]), clock=SystemClock(), owner=owner)
    marks = RunningMarks(store.owners_folder, owner)
    deliveries = await claim(store.log, owner=owner, limit=3)
    marks.set(deliveries[0].lease.offset)
    commits = [make_commit(one.lease.offset, lease=one.lease, is_new_item=True) for one in deliveries]
    await store.state.commit(commits)
    await store.close()

asyncio.run(main())
"""

APPEND = """
import asyncio, sys
from pathlib import Path
from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord

async def main():
    store = SqliteStore.open(Path(sys.argv[1]), clock=SystemClock(), owner="child")
    await store.log.append("t", [NewRecord(b"from afar")])
    await store.close()

asyncio.run(main())
"""


def run_child(code: str, path: Path, *, fault: str = "") -> int:
    """Run code in a process of its own and return its exit code."""
    environment = fault_environment(fault, environment=os.environ)
    return subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False).returncode


# The child marks only the first of its three records as being worked on, and that after it has claimed them.
@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        ("claim.after:kill", [1, 1, 1]),
        ("commit.before:kill", [2, 1, 1]),
        ("commit.written:kill:after=1", [2, 1, 1]),
        ("commit.after:kill", []),
    ],
)
async def test_P1_a_kill_leaves_each_record_either_open_or_done(
    tmp_path: Path, fault: str, attempts: list[int]
) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path, clock=SystemClock(), owner=new_owner())
    offsets = await store.log.append("t", [NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")])
    assert await asyncio.to_thread(run_child, CLAIM_AND_COMMIT, path, fault=fault) == -SIGKILL
    assert await store.log.reclaim(me="me") == len(attempts)
    again = await store.log.claim("t", "g", owner="me", limit=10, lease_ms=10_000)
    assert [delivery.attempt for delivery in again] == attempts
    runs = [len(await store.state.runs(ItemId(offset))) for offset in offsets]
    assert runs == [0 if attempts else 1] * 3
    await store.close()


async def test_an_append_wakes_another_process_that_waits(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path, clock=SystemClock(), owner=new_owner())
    child = asyncio.create_task(asyncio.to_thread(run_child, APPEND, path))
    async with asyncio.timeout(PATIENCE_S):
        while not (deliveries := await store.log.claim("t", "g", owner="me", limit=1, lease_ms=10_000)):
            await store.log.wait(["t"], timeout_ms=1_000)
    assert deliveries[0].value == b"from afar"
    assert await child == 0
    await store.close()
