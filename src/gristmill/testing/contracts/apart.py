"""What every state must hold that is used with a log apart from it: fences, repetition, and acceptance by others."""

from __future__ import annotations

import msgspec
import pytest

from gristmill.domain.commit import Committed, Fenced, Quarantine
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Lease
from gristmill.ports.state import State
from gristmill.testing.contracts.backend import Contract, make_commit, run_id_of

__all__ = ["ApartContract"]

FIRST = Lease("t", "g", 7, "first", 1)
SECOND = Lease("t", "g", 7, "second", 2)
FAR_MS = 1 << 50


class ApartContract(Contract):
    """See `ports.state.State.fence`; the backend's state must not claim `shares_log`."""

    @pytest.fixture
    def state(self, backend: object) -> State:
        """The backend's state."""
        state: State = backend.state  # type: ignore[attr-defined]
        assert "shares_log" not in state.capabilities
        return state

    async def test_a_commit_asks_no_log(self, state: State) -> None:
        assert await state.commit([make_commit(1, lease=FIRST, accept=False)]) == [Committed()]
        assert await state.ended([run_id_of(1)]) == {run_id_of(1)}

    async def test_P4_a_late_holder_writes_nothing_once_the_next_one_has_begun(self, state: State) -> None:
        await state.fence([SECOND], until_ms=FAR_MS)
        neighbour = make_commit(2, lease=Lease("t", "g", 8, "first", 1), accept=False)
        late = make_commit(1, lease=FIRST, accept=False)
        assert await state.commit([late, neighbour]) == [Fenced(), Committed()]
        assert await state.item(ItemId(1)) is None
        assert await state.commit([make_commit(1, lease=SECOND, accept=False)]) == [Committed()]

    async def test_P4_a_fence_is_never_lowered(self, state: State) -> None:
        await state.fence([SECOND], until_ms=FAR_MS)
        await state.fence([FIRST], until_ms=FAR_MS)
        assert await state.commit([make_commit(1, lease=FIRST, accept=False)]) == [Fenced()]

    async def test_what_was_written_before_the_fence_is_found_after_it(self, state: State) -> None:
        await state.commit([make_commit(1, lease=FIRST, accept=False)])
        await state.fence([SECOND], until_ms=FAR_MS)
        assert await state.ended([run_id_of(1)]) == {run_id_of(1)}

    async def test_fences_of_other_topics_and_groups_are_strangers(self, state: State) -> None:
        others = [msgspec.structs.replace(SECOND, topic="u"), msgspec.structs.replace(SECOND, group="h")]
        await state.fence(others, until_ms=FAR_MS)
        assert await state.commit([make_commit(1, lease=FIRST, accept=False)]) == [Committed()]

    async def test_a_record_that_comes_again_is_in_quarantine_once(self, state: State) -> None:
        odd = Quarantine(
            lease=FIRST, source="s", generator="g", position=7, raw=b"x", reason="r", violations=(), at_ms=1
        )
        again = msgspec.structs.replace(odd, lease=SECOND)
        assert await state.commit([odd]) == [Committed()]
        assert await state.commit([again]) == [Committed()]
        assert len(await state.quarantined()) == 1
        assert (await state.counts())["quarantined"] == 1
