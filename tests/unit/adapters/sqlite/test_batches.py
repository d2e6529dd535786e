"""Large calls are cut into turns and slabs; when only a part of a call is written, the caller is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.log import appending
from gristmill.adapters.sqlite.state import state as state_module
from gristmill.domain.errors import InvariantBroken, OutcomeUnknown, Unavailable
from gristmill.domain.log import NewRecord
from gristmill.testing.contracts.backend import claim, make_commit
from gristmill.testing.faults import armed


def open_store(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "store.sqlite", clock=SystemClock(), owner="me", synchronous="NORMAL")


async def test_records_beyond_one_slab_arrive_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "SLAB_BYTES_MAX", 10)
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
    monkeypatch.setattr(state_module, "COMMITS_PER_TURN", 2)
    monkeypatch.setattr(state_module, "COMMIT_US", 1_000_000)  # Every part takes a turn of its own.
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
