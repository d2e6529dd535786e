"""What every way into a log that is apart must hold; see `ports.outbox.Outlet`."""

from __future__ import annotations

import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.log import NewRecord
from gristmill.domain.outbox import OutboxRow
from gristmill.ports.log import RECORD_BYTES_MAX
from gristmill.ports.outbox import Outlet
from gristmill.testing.contracts.backend import Backend, Contract, claim, values

__all__ = ["OutletContract"]


class OutletContract(Contract):
    """See `ports.outbox.Outlet`."""

    @pytest.fixture
    def outlet(self, backend: Backend) -> Outlet:
        """The way into the backend's log."""
        assert backend.outlet is not None
        return backend.outlet

    async def test_rows_become_records_at_the_offsets_that_are_told(self, backend: Backend, outlet: Outlet) -> None:
        rows = [_row(1, "a", key="k", headers={"x": "1"}), _row(2, "b")]
        offsets = await outlet.append("t", rows)
        found = await claim(backend.log)
        assert {one.lease.offset: one.value for one in found} == dict(zip(offsets, [b"a", b"b"], strict=True))
        assert {one.value: (one.key, one.headers) for one in found} == {b"a": ("k", {"x": "1"}), b"b": ("", {})}

    async def test_a_row_that_is_sent_again_is_delivered_to_no_group_a_second_time(
        self, backend: Backend, outlet: Outlet
    ) -> None:
        await outlet.append("t", [_row(1, "a"), _row(2, "b")])
        await outlet.append("t", [_row(2, "b"), _row(3, "c")])
        for group in ("g", "h"):
            found = await claim(backend.log, group=group)
            assert sorted(values(found)) == ["a", "b", "c"]
            assert await backend.log.accept([one.lease for one in found]) == [True] * 3
            assert await claim(backend.log, group=group) == []

    async def test_rows_that_are_forgotten_stay_where_they_are(self, backend: Backend, outlet: Outlet) -> None:
        rows = [_row(1, "a"), _row(2, "b", topic="u")]
        await outlet.append("t", rows[:1])
        await outlet.append("u", rows[1:])
        await outlet.forget(rows)
        await outlet.forget(rows)
        assert values(await claim(backend.log)) == ["a"]
        assert values(await claim(backend.log, topic="u")) == ["b"]

    async def test_what_is_in_the_log_is_present(self, outlet: Outlet) -> None:
        offsets = await outlet.append("t", [_row(1, "a"), _row(2, "b")])
        assert await outlet.present("t", offsets) == set(offsets)
        assert await outlet.present("t", [max(offsets) + 1_024 * 1_024]) == set()
        assert await outlet.present("unknown", offsets) == set()
        assert await outlet.present("t", []) == set()

    async def test_a_row_that_the_log_will_not_have_is_refused(self, outlet: Outlet) -> None:
        with pytest.raises(UsageError, match="too large"):
            await outlet.append("t", [_row(1, "x" * (RECORD_BYTES_MAX + 1))])


def _row(
    number: int, text: str, *, topic: str = "t", key: str = "", headers: dict[str, str] | None = None
) -> OutboxRow:
    return OutboxRow(
        outbox_id=f"00000000-0000-7000-8000-{number:012}",
        topic=topic,
        record=NewRecord(text.encode(), key, headers or {}),
        created_at_ms=0,
    )
