"""Large calls are cut into turns and parts; when only a part of a call is written, the caller is told so."""

from __future__ import annotations

import asyncio
import itertools
import threading
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import FairTurn
from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.file import writer as writer_module
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.log import appending
from gristmill.adapters.sqlite.state import state as state_module
from gristmill.domain.commit import Committed, Conflict, Fenced
from gristmill.domain.errors import InvariantBroken, OutcomeUnknown, Unavailable
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.domain.log import NewRecord
from gristmill.testing.contracts.backend import claim, make_commit
from gristmill.testing.faults import armed


def open_store(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "store.sqlite", clock=SystemClock(), owner="me", synchronous="NORMAL")


async def test_records_beyond_one_part_arrive_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "PART_BYTES_MAX", 10)
    store = open_store(tmp_path)
    values = [bytes([number]) * number for number in range(1, 12)]
    offsets = await store.log.append("t", [NewRecord(value) for value in values])
    deliveries = await claim(store.log, limit=20)
    assert [(delivery.lease.offset, delivery.value) for delivery in deliveries] == list(
        zip(offsets, values, strict=True)
    )
    await store.close()


@pytest.mark.parametrize(
    ("plan", "expected", "written"),
    [("commit.written:raise:after=1", OutcomeUnknown, 2), ("commit.written:raise", Unavailable, 0)],
)
async def test_a_call_that_is_written_in_part_has_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str, expected: type[Exception], written: int
) -> None:
    monkeypatch.setattr(state_module, "COMMIT_US", 2_000)  # Two fit a turn.
    store = open_store(tmp_path)
    commits = [make_commit(number) for number in range(1, 5)]
    with armed(plan), pytest.raises(Unavailable) as caught:
        await store.state.commit(commits)
    assert type(caught.value) is expected
    assert (await store.state.counts())["runs"] == written
    await store.state.commit(commits)
    assert (await store.state.counts())["runs"] == 4
    await store.close()


async def test_a_broken_invariant_is_not_taken_for_an_outage(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(InvariantBroken):
        await store.state.take_segment("post", day=20_261_130, step=10**11 + 1)
    await store.close()


@pytest.mark.parametrize("count", [1, 2, 8, 9, 31, 33, 128, 129, 300])
async def test_any_number_of_rows_is_written_as_it_is(tmp_path: Path, count: int) -> None:
    store = open_store(tmp_path)
    items = [Item(ItemId(number), source="s", input_id=f"i{number}", text=str(number)) for number in range(count)]
    commits = [make_commit(number, item=item, is_new_item=True) for number, item in enumerate(items, 1)]
    assert await store.state.commit(commits) == [Committed()] * count
    keys = await store.state.input_keys([item.item_id for item in items])
    assert [keys[item.item_id].input_id for item in items] == [item.input_id for item in items]
    runs = await store.state.runs_between("gen", after=0, limit=1_000)
    assert [run.position for run in runs] == list(range(1, count + 1))
    await store.close()


async def test_a_small_job_goes_before_a_large_one_that_has_no_place_in_the_turn(tmp_path: Path) -> None:
    path, order = tmp_path / "store.sqlite", list[str]()
    turn, other = FairTurn(path), FairTurn(path)
    writer = Writer(StoreFile(path, "NORMAL"), turn)

    is_taken = threading.Event()

    def job(name: str, work_us: int) -> Job[None]:
        return Job(lambda turn: order.append(name), work_us, idle=lambda turn: is_taken.set())

    with other:
        first = asyncio.ensure_future(writer.do(job("first", 4_000)))
        # The writer has taken the first one and waits for its turn with it.
        assert await asyncio.to_thread(is_taken.wait, 10)
        rest = [writer.do(job(name, work_us)) for name, work_us in (("a", 4_000), ("b", 4_000), ("small", 10))]
        later = asyncio.gather(*rest)
        await asyncio.sleep(0)
    await first
    await later
    assert order == ["first", "a", "small", "b"]
    writer.close()
    writer.close()
    turn.close()
    other.close()


async def test_turns_are_shorter_while_somebody_else_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "SHARED_TURNS", 5)
    path = tmp_path / "store.sqlite"
    turns = [FairTurn(path) for _ in range(3)]
    writer, other = (Writer(StoreFile(path, "NORMAL"), turn) for turn in turns[:2])
    numbers = itertools.count()

    def write(turn: Turn) -> int:
        turn.names.topic(str(next(numbers)))
        return turn.db.data_version()

    async def count_turns() -> int:
        """Return how many turns four jobs take that wait at the same time."""
        is_taken = threading.Event()
        with turns[2]:
            first = asyncio.ensure_future(writer.do(Job(write, 2_000, idle=lambda turn: is_taken.set())))
            assert await asyncio.to_thread(is_taken.wait, 10)
            rest = asyncio.gather(*(writer.do(Job(write, 2_000)) for _ in range(4)))
            await asyncio.sleep(0)
        await first
        return len(set(await rest))

    assert await count_turns() == 2
    await other.do(Job(write))
    assert await count_turns() == 4
    assert await count_turns() == 2
    writer.close()
    other.close()
    for turn in turns:
        turn.close()


async def test_of_two_rivals_for_an_input_id_the_first_that_may_be_written_wins(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    await store.log.append("t", [NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")])
    leases = [delivery.lease for delivery in await claim(store.log)]
    await store.log.accept([leases[0]])
    commits = [
        make_commit(number, lease=lease, item=Item(ItemId(number), input_id="same"), is_new_item=True)
        for number, lease in enumerate(leases, 1)
    ]
    assert await store.state.commit(commits) == [Fenced(), Committed(), Conflict(ItemId(2))]
    assert await store.state.resolve("", ["same"]) == {"same": ItemId(2)}
    await store.close()
