"""What every memory of closed dead letters must hold."""

from __future__ import annotations

import msgspec
import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.log import Diagnosis
from gristmill.domain.upkeep.closing import Closing
from gristmill.ports.upkeep.closings import CLOSINGS_PER_CALL_MAX, Closings

__all__ = ["ClosingContract"]


def _closing(number: int) -> Closing:
    return Closing(
        kind="edited",
        at_ms=number,
        actor="eve",
        reason="a comma too many",
        dead_letter_id=number,
        topic="posts",
        group="posts",
        offset=number,
        tenant="acme",
        diagnosis=Diagnosis("ValueError", "no number", ("loud",), "shout"),
        original=b"\x00 before",
        edited=b"after",
    )


class ClosingContract:
    """See `ports.upkeep.closings`. A subclass gives it a `closings` fixture."""

    @pytest.fixture
    async def closings(self) -> Closings:
        """Overridden by the test class of a backend."""
        raise NotImplementedError("give the subclass a fixture named closings")

    async def test_closings_are_listed_the_newest_first_and_without_payloads(self, closings: Closings) -> None:
        ids = await closings.add([_closing(1), _closing(2)])
        ids += await closings.add([_closing(3)])
        assert ids == sorted(set(ids))
        first = await closings.before(None, limit=2)
        rest = await closings.before(first[-1].closing_id, limit=2)
        bare = [msgspec.structs.replace(_closing(number), original=b"", edited=b"") for number in (3, 2, 1)]
        assert [msgspec.structs.replace(one, closing_id=0) for one in (*first, *rest)] == bare
        assert [one.closing_id for one in (*first, *rest)] == list(reversed(ids))

    async def test_one_is_found_with_both_payloads(self, closings: Closings) -> None:
        [number] = await closings.add([_closing(1)])
        assert await closings.find(number) == msgspec.structs.replace(_closing(1), closing_id=number)
        assert await closings.find(number + 1) is None

    async def test_what_did_not_happen_is_taken_back(self, closings: Closings) -> None:
        ids = await closings.add([_closing(1), _closing(2)])
        await closings.remove(ids[:1])
        assert [one.closing_id for one in await closings.before(None, limit=9)] == ids[1:]

    async def test_a_call_has_a_bound(self, closings: Closings) -> None:
        with pytest.raises(UsageError, match="limit"):
            await closings.add([_closing(1)] * (CLOSINGS_PER_CALL_MAX + 1))
