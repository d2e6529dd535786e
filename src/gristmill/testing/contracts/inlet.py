"""What every front must hold about publishing: one step, and once."""

from __future__ import annotations

import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.ports.front import PUBLICATIONS_PER_CALL_MAX, Inlet
from gristmill.testing.contracts.backend import Backend, Contract, claim, values

__all__ = ["InletContract"]


class InletContract(Contract):
    """See `ports.front.Inlet`."""

    @pytest.fixture
    def inlet(self, backend: Backend) -> Inlet:
        """The backend's inlet."""
        assert backend.front is not None
        return backend.front.inlet

    async def test_a_publication_is_a_record_and_an_item_id(self, backend: Backend, inlet: Inlet) -> None:
        assert await inlet.publish([_publication("a", 1), _publication("b", 2)]) == Published((ItemId(1), ItemId(2)))
        assert values(await claim(backend.log)) == ["a", "b"]
        assert await backend.state.resolve("s", ["a", "b"]) == {"a": ItemId(1), "b": ItemId(2)}

    async def test_an_input_id_that_has_an_item_keeps_it(self, backend: Backend, inlet: Inlet) -> None:
        await inlet.publish([_publication("a", 1)])
        again = [_publication("a", 5), _publication("b", 6), _publication("b", 7)]
        assert await inlet.publish(again) == Published((ItemId(1), ItemId(6), ItemId(6)))
        other = _publication("a", 8, tenant="acme")
        assert await inlet.publish([other]) == Published((ItemId(8),))
        assert await backend.log.end("t") == 5

    async def test_headers_and_topics_are_kept(self, backend: Backend, inlet: Inlet) -> None:
        marked = _publication("a", 1, topic="u", headers={"x": "1"})
        await inlet.publish([_publication("b", 2), marked, _publication("c", 3)])
        assert values(await claim(backend.log)) == ["b", "c"]
        [delivery] = await claim(backend.log, topic="u")
        assert delivery.headers == {"x": "1"}

    async def test_a_repeated_call_writes_nothing_and_gets_the_first_answer(
        self, backend: Backend, inlet: Inlet
    ) -> None:
        once = Once("key", "print", backend.clock.now_ms() + 1_000)
        assert await inlet.publish([_publication("a", 1)], once=once) == Published((ItemId(1),))
        assert await inlet.publish([_publication("z", 9)], once=once) == Published((ItemId(1),), is_replay=True)
        assert await backend.log.end("t") == 1
        assert await backend.state.resolve("s", ["z"]) == {}

    async def test_a_key_with_another_fingerprint_is_taken(self, backend: Backend, inlet: Inlet) -> None:
        until_ms = backend.clock.now_ms() + 1_000
        await inlet.publish([_publication("a", 1)], once=Once("key", "print", until_ms))
        assert await inlet.publish([_publication("b", 2)], once=Once("key", "other", until_ms)) == KeyTaken()
        assert await backend.log.end("t") == 1

    async def test_a_key_is_free_again_when_its_time_is_over(self, backend: Backend, inlet: Inlet) -> None:
        await inlet.publish([_publication("a", 1)], once=Once("key", "print", backend.clock.now_ms() + 1_000))
        backend.clock.advance(1_001)
        again = Once("key", "other", backend.clock.now_ms() + 1_000)
        assert await inlet.publish([_publication("b", 2)], once=again) == Published((ItemId(2),))

    async def test_nothing_or_too_much_is_refused(self, inlet: Inlet) -> None:
        with pytest.raises(UsageError, match="at least one"):
            await inlet.publish([])
        with pytest.raises(UsageError, match="too many publications"):
            await inlet.publish([_publication("a", 1)] * (PUBLICATIONS_PER_CALL_MAX + 1))

    async def test_what_was_answered_outlasts_the_process(self, backend: Backend, inlet: Inlet) -> None:
        if backend.reopen is None:
            pytest.skip("backend is not durable")
        once = Once("key", "print", backend.clock.now_ms() + 1_000)
        await inlet.publish([_publication("a", 1)], once=once)
        again = await backend.reopen()
        assert again.front is not None
        assert await again.front.inlet.publish([_publication("a", 2)]) == Published((ItemId(1),))
        replayed = await again.front.inlet.publish([_publication("a", 3)], once=once)
        assert replayed == Published((ItemId(1),), is_replay=True)
        assert await again.log.end("t") == 2


def _publication(
    text: str, item_id: int, *, tenant: str = "main", topic: str = "t", headers: dict[str, str] | None = None
) -> Publication:
    """Make a publication whose input id is its text."""
    return Publication(
        topic=topic,
        record=NewRecord(text.encode(), headers=headers or {}),
        tenant=tenant,
        source="s",
        input_id=text,
        proposed=ItemId(item_id),
    )
