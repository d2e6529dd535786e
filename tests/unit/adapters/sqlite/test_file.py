"""How one file is opened, shared, filled up and broken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import FairTurn
from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.file import checkpointer as checkpointer_module
from gristmill.adapters.sqlite.file import writer as writer_module
from gristmill.adapters.sqlite.file.checkpointer import WriteAheadLog
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.errors import translate
from gristmill.adapters.sqlite.file.schema import APPLICATION_ID, SCHEMA_VERSION
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.domain.errors import (
    ConfigError,
    GristmillError,
    InvariantBroken,
    OutcomeUnknown,
    Unavailable,
    UsageError,
)
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import InputKey
from gristmill.domain.log import NewRecord
from gristmill.testing.slow_disk import SlowFsync

PATIENCE_S = 10


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def open_store(path: Path, owner: str = "me", *, vfs: str | None = None) -> SqliteStore:
    return SqliteStore.open(path, clock=SystemClock(), owner=owner, synchronous="NORMAL", vfs=vfs)


def _write_foreign(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs(a)")
    connection.close()


def _write_garbage(path: Path) -> None:
    path.write_bytes(b"this was never a database" * 1_000)


@pytest.mark.parametrize("write", [_write_foreign, _write_garbage])
def test_a_file_that_is_no_store_is_refused(path: Path, write: Callable[[Path], None]) -> None:
    write(path)
    with pytest.raises(ConfigError, match=r"store\.sqlite"):
        open_store(path)


async def test_a_store_of_a_newer_schema_is_refused(path: Path) -> None:
    await open_store(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE schema_version SET version = ?", (SCHEMA_VERSION + 1,))
    connection.close()
    with pytest.raises(ConfigError, match="schema version"):
        open_store(path)


async def test_a_store_of_version_1_is_brought_up_to_date(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute((Path(__file__).parent / "schema_1.sql").read_text(encoding="utf-8"))
    connection.execute("INSERT INTO schema_version VALUES(1); INSERT INTO tally VALUES('position', 0)")
    connection.execute("INSERT INTO id_map VALUES('posts', 'a', 7), ('posts', 'b', 8)")
    connection.execute("INSERT INTO quarantine VALUES(1, 'g', 3, 'posts', 'r', 5, x'91a176', x'00')")
    connection.pragma("application_id", APPLICATION_ID)
    connection.close()
    store = open_store(path)
    assert await store.state.resolve("posts", ["a", "b"]) == {"a": 7, "b": 8}
    assert await store.state.input_keys([ItemId(7)]) == {7: InputKey("main", "posts", "a")}
    [quarantined] = await store.state.quarantined()
    assert (quarantined.violations, quarantined.source_revision) == (("v",), 0)
    await store.close()
    await open_store(path).close()


async def test_an_old_store_has_the_tables_of_a_new_one(path: Path, tmp_path: Path) -> None:
    old = apsw.Connection(str(path))
    old.execute((Path(__file__).parent / "schema_1.sql").read_text(encoding="utf-8"))
    old.execute("INSERT INTO schema_version VALUES(1)")
    old.pragma("application_id", APPLICATION_ID)
    old.close()
    shapes = []
    for file in (path, tmp_path / "new.sqlite"):
        await open_store(file).close()
        connection = apsw.Connection(str(file))
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY name")]
        columns = {
            name: list(connection.execute(f"SELECT name, type, pk FROM pragma_table_info('{name}')")) for name in names
        }
        shapes.append((names, columns))
        connection.close()
    assert shapes[0] == shapes[1]


def test_a_path_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="may write"):
        open_store(tmp_path / "file" / "store.sqlite")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        open_store(tmp_path)


async def test_opening_and_closing_again_keeps_everything(path: Path) -> None:
    store = open_store(path)
    await store.log.append("t", [NewRecord(b"a")])
    await store.close()
    await store.close()
    store = open_store(path)
    assert await store.log.end("t") == 1
    await store.close()


async def test_a_closed_store_is_unavailable(path: Path) -> None:
    store = open_store(path)
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await store.log.append("t", [NewRecord(b"a")])
    with pytest.raises(Unavailable, match="closed"):
        await store.log.end("t")


async def test_two_stores_on_one_file_see_each_other(path: Path) -> None:
    one, two = open_store(path, "one"), open_store(path, "two")
    waiting = asyncio.ensure_future(two.log.wait(["t"], timeout_ms=1_000))
    await asyncio.gather(*(store.log.append("t", [NewRecord(b"x")] * 10) for store in (one, two) for _ in range(5)))
    await waiting
    claimed = await asyncio.gather(
        *(store.log.claim("t", "g", owner="me", limit=60, lease_ms=10_000) for store in (one, two))
    )
    assert len({delivery.lease.offset for deliveries in claimed for delivery in deliveries}) == 100
    assert sum(len(deliveries) for deliveries in claimed) == 100
    await one.close()
    await two.close()


async def test_readers_and_idle_claims_need_no_turn(path: Path) -> None:
    store = open_store(path)
    await store.log.append("t", [NewRecord(b"a")])
    [delivery] = await store.log.claim("t", "g", owner="me", limit=1, lease_ms=60_000)
    other = FairTurn(path)
    async with asyncio.timeout(PATIENCE_S):
        with other:
            assert await store.log.end("t") == 1
            assert await store.log.claim("t", "g", owner="me", limit=1, lease_ms=60_000) == []
            assert await store.log.reclaim(me="me") == 0
        await store.log.accept([delivery.lease])
    other.close()
    await store.close()


async def test_calls_that_wait_share_one_sync(path: Path) -> None:
    with SlowFsync.registered("slow for sharing", delay_ms=5) as disk:
        store = SqliteStore.open(path, clock=SystemClock(), owner="me", vfs="slow for sharing")
        before = disk.sync_count
        await asyncio.gather(*(store.log.append("t", [NewRecord(b"x")]) for _ in range(50)))
        assert disk.sync_count - before <= 6
        assert await store.log.end("t") == 50
        await store.close()


async def test_a_claim_waits_for_no_sync_but_what_ends_it_does(path: Path) -> None:
    with SlowFsync.registered("slow for claims", delay_ms=1) as disk:
        store = SqliteStore.open(path, clock=SystemClock(), owner="me", vfs="slow for claims")
        await store.log.append("t", [NewRecord(b"x")])
        before = disk.sync_count
        [delivery] = await store.log.claim("t", "g", owner="me", limit=1, lease_ms=60_000)
        assert disk.sync_count == before
        await store.log.accept([delivery.lease])
        assert disk.sync_count == before + 1
        await store.close()


async def test_one_sync_makes_the_commits_of_several_stores_durable(path: Path) -> None:
    with SlowFsync.registered("slow for two", delay_ms=20) as disk:
        stores = [SqliteStore.open(path, clock=SystemClock(), owner=f"me{n}", vfs="slow for two") for n in range(4)]
        await stores[0].log.append("t", [NewRecord(b"x")])
        before = disk.sync_count
        for _ in range(5):
            await asyncio.gather(*(store.log.append("t", [NewRecord(b"x")]) for store in stores))
        # Of four that commit at about the same time, the first syncs alone and the second for the others too.
        assert 5 <= disk.sync_count - before < 20
        assert await stores[0].log.end("t") == 21
        for store in stores:
            await store.close()


async def test_a_full_disk_is_unavailable_and_heals(path: Path) -> None:
    file = StoreFile(path)
    turn = FairTurn(path)
    writer = Writer(file, turn)
    await writer.do(Job(lambda turn: turn.db.pragma("max_page_count", turn.db.pragma("page_count") + 1)))

    def fill(turn: Turn) -> None:
        turn.db.execute("INSERT INTO cache VALUES('k', zeroblob(200000), 0)")

    with pytest.raises(Unavailable, match="disk is full") as caught:
        await writer.do(Job(fill))
    assert str(path) in str(caught.value)
    await writer.do(Job(lambda turn: turn.db.pragma("max_page_count", 1_000_000)))
    await writer.do(Job(fill))
    writer.close()
    turn.close()


async def test_a_job_that_fails_takes_no_neighbour_with_it(path: Path) -> None:
    turn = FairTurn(path)
    writer = Writer(StoreFile(path), turn)

    def break_it(turn: Turn) -> None:
        turn.names.topic("broken")
        raise UsageError("broken")

    def topic(name: str) -> Job[int]:
        return Job(lambda turn: turn.names.topic(name))

    with turn:  # Nothing can run yet, so all of them meet in one turn.
        jobs = [writer.do(topic("a")), writer.do(Job(break_it)), writer.do(topic("b")), writer.do(topic("a"))]
        calls = asyncio.gather(*jobs, return_exceptions=True)
        await asyncio.sleep(0)
    a, error, b, again = await calls
    assert isinstance(error, UsageError)
    assert a == again != b
    assert await writer.do(Job(lambda turn: turn.names.try_topic("broken"))) is None
    writer.close()
    turn.close()


async def test_a_job_that_breaks_the_writer_does_not_leave_its_caller_waiting(path: Path) -> None:
    turn = FairTurn(path)
    writer = Writer(StoreFile(path), turn)

    def break_it(turn: Turn, answer: object = None) -> None:
        raise ZeroDivisionError

    async with asyncio.timeout(PATIENCE_S):
        for job in (Job(break_it), Job(lambda turn: None, idle=break_it), Job(lambda turn: None, finish=break_it)):
            with pytest.raises(ZeroDivisionError):
                await writer.do(job)
    writer.close()
    turn.close()


class _BrokenSync(SlowFsync):
    """A disk whose syncs fail while `is_broken`."""

    is_broken = False

    def wait(self) -> None:
        if self.is_broken:
            raise apsw.IOError("sync failed")


async def test_a_failed_sync_leaves_the_outcome_unknown(path: Path) -> None:
    with _BrokenSync.registered("broken", delay_ms=0) as disk:
        store = SqliteStore.open(path, clock=SystemClock(), owner="me", vfs="broken")
        await store.log.append("t", [NewRecord(b"a")])
        assert isinstance(disk, _BrokenSync)
        disk.is_broken = True
        with pytest.raises(OutcomeUnknown):
            await store.log.append("t", [NewRecord(b"b")])
        disk.is_broken = False
        await store.log.append("t", [NewRecord(b"c")])
        assert await store.log.end("t") == 3
        await store.close()


async def test_as_long_as_the_disk_fails_nothing_more_is_written(path: Path) -> None:
    with _BrokenSync.registered("broken for long", delay_ms=0) as disk:
        store = SqliteStore.open(path, clock=SystemClock(), owner="me", vfs="broken for long")
        assert isinstance(disk, _BrokenSync)
        disk.is_broken = True
        with pytest.raises(OutcomeUnknown):
            await store.log.append("t", [NewRecord(b"a")])
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                await store.log.append("t", [NewRecord(b"b")])
            assert type(caught.value) is Unavailable
        disk.is_broken = False
        assert await store.log.append("t", [NewRecord(b"c")]) == [2]
        await store.close()


async def test_a_log_that_was_copied_to_its_end_starts_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointer_module, "LOG_PAGES_MAX", 60)
    monkeypatch.setattr(checkpointer_module, "PAGES_PER_TURN_MAX", 0)
    store = open_store(path)
    log = WriteAheadLog(StoreFile(path))
    sizes = []
    for _ in range(4):
        await store.log.append("t", [NewRecord(b"x" * 8_000)] * 100)
        sizes.append(path.with_name(path.name + "-wal").stat().st_size)
        log.copy()
    assert sizes[0] > 100 * 8_192
    assert max(sizes) < 2 * sizes[0]
    log.close()
    await store.close()


async def test_tables_that_are_not_ours_are_no_reason_to_try_again(path: Path) -> None:
    store = open_store(path)
    foreign = apsw.Connection(str(path))
    foreign.execute("DROP TABLE id_segment; ALTER TABLE log RENAME COLUMN value TO other")
    foreign.close()
    with pytest.raises(InvariantBroken, match="no such table"):
        await store.state.take_segment("post", day=20_261_130, step=1)
    with pytest.raises(InvariantBroken, match=r"no such column|no column named"):
        await store.log.append("t", [NewRecord(b"x")])
    with pytest.raises(InvariantBroken, match="no such column"):
        _ = [batch async for batch in store.log.read_all("t")]
    await store.close()


async def test_the_log_is_copied_while_others_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "CHECKPOINT_PAGES", 5)
    store = open_store(path)
    for _ in range(20):
        await store.log.append("t", [NewRecord(b"x" * 8_000)] * 10)
    assert await store.log.end("t") == 200
    await store.close()


@pytest.mark.parametrize(
    ("error", "is_committing", "expected"),
    [
        (apsw.FullError("x"), True, Unavailable),
        (apsw.CorruptError("x"), False, ConfigError),
        (apsw.NotADBError("x"), False, ConfigError),
        (apsw.ReadOnlyError("x"), False, Unavailable),
        (apsw.CantOpenError("x"), False, Unavailable),
        (apsw.IOError("x"), False, Unavailable),
        (apsw.IOError("x"), True, OutcomeUnknown),
        (apsw.BusyError("x"), False, Unavailable),
        (apsw.NoMemError("x"), False, Unavailable),
        (apsw.TooBigError("x"), False, UsageError),
        (apsw.ConstraintError("x"), False, InvariantBroken),
        (apsw.SQLError("no such column: x"), False, InvariantBroken),
        (apsw.SQLError("x"), True, InvariantBroken),
    ],
)
def test_an_error_says_what_the_caller_can_do(
    error: apsw.Error, is_committing: bool, expected: type[GristmillError]
) -> None:
    translated = translate(error, Path("a.db"), is_committing=is_committing)
    assert type(translated) is expected
    assert "a.db" in str(translated)
    assert translated.advice
