"""A slow disk reaches every process that is started for it, and none else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.testing.slow_disk import SlowFsync, read_tallies, slow_disk_environment

PROGRAM = """
import sys
from pathlib import Path
import asyncio
from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord

async def main():
    store = SqliteStore.open(Path(sys.argv[1]), clock=SystemClock(), owner="me")
    await store.log.append("t", [NewRecord(b"x")])
    await store.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("is_slow", [True, False])
def test_a_process_that_is_started_for_it_waits_for_every_sync(tmp_path: Path, is_slow: bool) -> None:
    tallies = tmp_path / "tallies"
    tallies.mkdir()
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env = slow_disk_environment(plain, delay_ms=4, tallies=tallies) if is_slow else plain
    command = [sys.executable, "-P", "-c", PROGRAM, str(tmp_path / "store.sqlite")]
    subprocess.run(command, env=env, check=True, timeout=60)
    found = read_tallies(tallies)
    assert len(found) == is_slow
    assert all(tally.syncs >= 2 and tally.least_us >= 4_000 for tally in found)


def test_an_environment_keeps_the_path_that_it_has() -> None:
    env = slow_disk_environment({"PYTHONPATH": "mine", "HOME": "home"}, delay_ms=2.5)
    assert env["PYTHONPATH"].split(os.pathsep)[1:] == ["mine"]
    assert (env["HOME"], env["GRISTMILL_SLOW_FSYNC_MS"]) == ("home", "2.5")


def test_a_layer_of_a_block_is_gone_after_it(tmp_path: Path) -> None:
    import apsw

    with SlowFsync.registered("slow", delay_ms=1) as disk:
        connection = apsw.Connection(str(tmp_path / "a"), vfs="slow")
        connection.execute("CREATE TABLE a(b)")
        connection.close()
        assert disk.sync_count > 0
        assert "slow" in apsw.vfs_names()
    assert "slow" not in apsw.vfs_names()
