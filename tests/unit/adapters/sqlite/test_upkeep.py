"""Copies of a store that others write, and stores that come out of a backup."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.schema import APPLICATION_ID, SCHEMA_VERSION
from gristmill.adapters.sqlite.upkeep import copy_store, fit_restored
from gristmill.domain.errors import ConfigError
from gristmill.domain.ids import IDS_PER_DAY
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.domain.upkeep.loss import Loss, skip_numbers, skip_positions
from gristmill.testing.contracts.backend import claim, make_commit, records

LOSS = Loss(elapsed_ms=60_000, day=20261130, since_midnight_ms=1_000, namespaces=("items",))


def open_store(path: Path, owner: str = "me") -> SqliteStore:
    return SqliteStore.open(path, clock=SystemClock(), owner=owner, synchronous="NORMAL")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = open_store(path)
    yield opened
    await opened.close()


def integrity(path: Path) -> str:
    connection = apsw.Connection(str(path))
    found = str(connection.pragma("integrity_check"))
    connection.close()
    return found


async def test_a_copy_is_the_store_at_one_moment_whatever_is_written_meanwhile(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    await store.log.append("t", [NewRecord(b"x" * 4_000)] * 5_000)
    steps = 0
    loop, written = asyncio.get_running_loop(), threading.Event()

    def write(done: int, total: int) -> None:
        nonlocal steps
        steps += 1
        assert 0 < done <= total
        # Between any two steps somebody commits: a copy without a snapshot of its own would begin again each time.
        written.clear()
        adding = asyncio.run_coroutine_threadsafe(store.log.append("t", records("more")), loop)
        adding.add_done_callback(lambda _: written.set())
        assert written.wait(10)

    copy = tmp_path / "copy.sqlite"
    copied = await asyncio.to_thread(copy_store, StoreFile(path), copy, on_progress=write)
    assert steps > 1
    assert copied.schema_version == SCHEMA_VERSION
    assert copied.counts["records"] == 5_000
    assert await store.log.end("t") == 5_000 + steps
    assert not copy.with_name("copy.sqlite-wal").exists()
    assert integrity(copy) == "ok"
    other = open_store(copy)
    assert await other.log.end("t") == 5_000
    await other.close()


def test_another_programs_file_is_not_copied(path: Path, tmp_path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs(a)")
    connection.close()
    with pytest.raises(ConfigError, match="not a Gristmill store"):
        copy_store(StoreFile(path), tmp_path / "copy.sqlite")


async def test_a_damaged_store_gives_no_copy(path: Path, tmp_path: Path) -> None:
    store = open_store(path)
    await store.log.append("t", [NewRecord(b"x" * 4_000)] * 200)
    await store.close()
    with path.open("r+b") as file:
        file.seek(-60_000, 2)
        file.write(b"\xff" * 40_000)
    with pytest.raises(ConfigError):
        copy_store(StoreFile(path), tmp_path / "copy.sqlite")


async def test_after_a_restore_every_lease_is_free_and_charged_to_nobody(store: SqliteStore, path: Path) -> None:
    await store.log.append("t", records("a", "b", "c"))
    await claim(store.log, limit=2)
    await store.close()
    assert fit_restored(StoreFile(path), LOSS).freed == 2
    other = open_store(path, "other")
    deliveries = await claim(other.log, owner="other")
    assert [(delivery.value, delivery.attempt) for delivery in deliveries] == [(b"a", 1), (b"b", 1), (b"c", 1)]
    await other.close()


async def test_after_a_restore_nothing_is_issued_twice(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    await store.log.append("t", records("a"))
    segment = await store.state.take_segment("items", day=20261130, step=1_000)
    await store.close()
    copy_store(StoreFile(path), tmp_path / "copy.sqlite")
    lost = open_store(path)
    lost_offsets = await lost.log.append("t", records("b"))
    lost_segment = await lost.state.take_segment("items", day=20261130, step=1_000_000)
    [first, second] = await claim(lost.log)
    await lost.log.reject(first.lease, Diagnosis(error_class="E", error_text="broken"))
    [lost_letter] = await lost.log.dead_letters()
    await lost.close()

    fit_restored(StoreFile(tmp_path / "copy.sqlite"), LOSS)
    restored = open_store(tmp_path / "copy.sqlite")
    assert (await restored.log.append("t", records("c")))[0] > lost_offsets[0] + skip_positions(LOSS) - 2
    assert (await restored.state.take_segment("items", day=20261130, step=1)).start >= lost_segment.stop > segment.stop
    again = await claim(restored.log)
    await restored.log.reject(again[0].lease, Diagnosis(error_class="E", error_text="broken"))
    [letter] = await restored.log.dead_letters()
    assert letter.dead_letter_id > lost_letter.dead_letter_id + skip_numbers(LOSS) - 2
    assert second.lease.offset == lost_offsets[0]
    await restored.close()


async def test_a_namespace_that_began_after_the_backup_does_not_begin_again(path: Path) -> None:
    await open_store(path).close()
    fit_restored(StoreFile(path), LOSS)
    store = open_store(path)
    segment = await store.state.take_segment("items", day=20261130, step=1)
    assert 0 < segment.start < IDS_PER_DAY
    await store.close()


async def test_a_restored_store_of_an_older_schema_is_brought_up_to_date(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute((Path(__file__).parent / "schema_1.sql").read_text(encoding="utf-8"))
    connection.execute("INSERT INTO schema_version VALUES(1); INSERT INTO tally VALUES('position', 0)")
    connection.execute("INSERT INTO id_map VALUES('posts', 'a', 7)")
    connection.pragma("application_id", APPLICATION_ID)
    connection.close()
    copied = copy_store(StoreFile(path), path.with_name("copy.sqlite"))
    assert copied.schema_version == 1
    fit_restored(StoreFile(path.with_name("copy.sqlite")), LOSS)
    store = open_store(path.with_name("copy.sqlite"))
    assert await store.state.resolve("posts", ["a"]) == {"a": 7}
    await store.state.commit([make_commit(1)])
    await store.close()
