"""What every state must hold about input ids and item ids, both ways."""

from __future__ import annotations

import asyncio

import pytest

from gristmill.domain.commit import Committed, Conflict
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import InputKey
from gristmill.domain.item import Item
from gristmill.ports.state import INPUT_IDS_PER_CALL_MAX, State
from gristmill.testing.contracts.backend import Contract, make_commit

__all__ = ["IdentityContract"]

LONG = "https://example.org/" + "é" * 400
"""Above 512 bytes, so it is stored by its hash."""


class IdentityContract(Contract):
    """See `ports.state.State`."""

    async def test_an_input_id_keeps_the_item_id_that_it_got_first(self, state: State) -> None:
        assert await state.map_ids("s", {"a": ItemId(1), "b": ItemId(2)}) == {"a": ItemId(1), "b": ItemId(2)}
        assert await state.map_ids("s", {"a": ItemId(3), "c": ItemId(4)}) == {"a": ItemId(1), "c": ItemId(4)}
        assert await state.resolve("s", ["a", "b", "c", "d"]) == {"a": ItemId(1), "b": ItemId(2), "c": ItemId(4)}

    async def test_of_many_that_ask_at_once_all_get_one_answer(self, state: State) -> None:
        answers = await asyncio.gather(*(state.map_ids("s", {"new": ItemId(number)}) for number in range(1, 51)))
        assert len({answer["new"] for answer in answers}) == 1

    async def test_tenants_and_sources_do_not_share_input_ids(self, state: State) -> None:
        await state.map_ids("s", {"a": ItemId(1)})
        await state.map_ids("t", {"a": ItemId(2)})
        await state.map_ids("s", {"a": ItemId(3)}, tenant="acme")
        assert await state.resolve("s", ["a"]) == {"a": ItemId(1)}
        assert await state.resolve("t", ["a"]) == {"a": ItemId(2)}
        assert await state.resolve("s", ["a"], tenant="acme") == {"a": ItemId(3)}
        assert await state.resolve("t", ["a"], tenant="acme") == {}

    async def test_the_way_back_gives_tenant_source_and_input_id(self, state: State) -> None:
        await state.map_ids("s", {"a": ItemId(1), LONG: ItemId(2)}, tenant="acme")
        await state.commit([make_commit(7, is_new_item=True)])
        assert await state.input_keys([ItemId(1), ItemId(2), ItemId(7), ItemId(99)]) == {
            ItemId(1): InputKey("acme", "s", "a"),
            ItemId(2): InputKey("acme", "s", LONG),
            ItemId(7): InputKey("main", "src", "in-7"),
        }

    async def test_a_long_input_id_is_found_by_itself_and_not_by_its_hash(self, state: State) -> None:
        await state.map_ids("s", {LONG: ItemId(1)})
        assert await state.resolve("s", [LONG, LONG + "x"]) == {LONG: ItemId(1)}
        digest = "sha256:83b8bbd6ff1ab2e8bbba8ee5e2d0b8e7ecb2c4fd5f8f2a2ee7d6b8a9f4e0d1c2"
        await state.map_ids("s", {digest: ItemId(2)})
        assert (await state.input_keys([ItemId(2)]))[ItemId(2)].input_id == digest

    async def test_a_long_input_id_has_one_item_over_commits_too(self, state: State) -> None:
        first = make_commit(1, is_new_item=True, item=Item(ItemId(1), source="s", input_id=LONG))
        second = make_commit(2, is_new_item=True, item=Item(ItemId(2), source="s", input_id=LONG))
        assert await state.commit([first]) == [Committed()]
        assert await state.commit([second]) == [Conflict(ItemId(1))]
        assert await state.resolve("s", [LONG]) == {LONG: ItemId(1)}

    async def test_an_id_mapped_ahead_of_its_first_commit_is_a_conflict_for_any_other(self, state: State) -> None:
        await state.map_ids("s", {"a": ItemId(1)}, tenant="acme")
        other = Item(ItemId(2), source="s", input_id="a", tenant="acme")
        assert await state.commit([make_commit(2, is_new_item=True, item=other)]) == [Conflict(ItemId(1))]
        own = Item(ItemId(1), source="s", input_id="a", tenant="acme")
        assert await state.commit([make_commit(1, is_new_item=True, item=own)]) == [Committed()]
        found = await state.item(ItemId(1))
        assert found is not None
        assert found.tenant == "acme"

    async def test_too_many_input_ids_in_one_call_are_refused(self, state: State) -> None:
        names = [str(number) for number in range(INPUT_IDS_PER_CALL_MAX + 1)]
        with pytest.raises(UsageError, match="too many input ids"):
            await state.resolve("s", names)
        with pytest.raises(UsageError, match="too many input ids"):
            await state.map_ids("s", {name: ItemId(1) for name in names})
