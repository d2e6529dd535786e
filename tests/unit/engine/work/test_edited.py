"""A record that goes back with another payload is newer than the one that failed, and older than what came since."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.frame import Frame
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Lease
from gristmill.engine.core.recovery import resubmit
from gristmill.engine.work.admit import Admission
from gristmill.plans.plan import Generator
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit

POSTS = Generator(type="posts", topic="posts", plans=("loud", "calm"))


class OneItem:
    """Every input is the item 1."""

    async def resolve(self, source: str, input_ids: Sequence[str], *, tenant: str = "main") -> dict[str, ItemId]:
        return {input_id: ItemId(1) for input_id in input_ids}

    async def issue(self, count: int) -> list[ItemId]:
        raise AssertionError("there is an item already")


@pytest.mark.parametrize(
    ("payload", "stored", "revision"),
    [
        (b'{"id": "a", "text": "mended"}', 17, 18),
        (b'{"id": "a", "text": "mended"}', 30, 17),
        (b'{"id": "a", "text": "mended"}', 16, 17),
    ],
    ids=["as it failed", "newer meanwhile", "never written"],
)
async def test_an_edited_payload_counts_behind_the_failed_one_alone(payload: bytes, stored: int, revision: int) -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    item = Item(ItemId(1), source="posts", input_id="a", revision=stored, text="broken")
    await store.state.commit([make_commit(1, item=item)])
    letter = DeadLetter(1, "posts", "posts", 17, 0, b"{", "", {}, 1, Diagnosis("E", "no", ("loud",)), clock.now_ms())
    record = resubmit(letter, payload, recovery_topic="posts.recovery")
    lease = Lease("posts.recovery", "posts", 99, "me", 1)
    delivery = Delivery(lease, record.value, record.key, record.headers, 1, clock.now_ms())
    admission = Admission(
        state=store.state,
        clock=clock,
        ids=OneItem(),  # type: ignore[arg-type]
        decode=RecordDecoder({}),
        generators={"posts": POSTS},
    )
    [work] = await admission.admit(Frame(1, "posts", (delivery,)), connection=1)
    assert work.item is not None
    assert (work.item.text, work.item.revision) == ("mended", revision)
    assert [todo.plan for todo in work.todos] == ["loud"]
