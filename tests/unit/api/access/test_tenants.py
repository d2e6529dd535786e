"""Whoever has a token of one tenant learns nothing of another's: no word, no id, and not how much there is of it."""

import re
from collections.abc import AsyncIterator

import pytest

from gristmill.api.console.pages import PAGES, overview
from gristmill.api.routes import OPERATIONS
from gristmill.domain.front.access import Principal
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.domain.log import Diagnosis, NewRecord
from tests.faces import Face, face

WORD = "zyzzyva"
"""Stands in everything of the other tenant, and nowhere else."""

ADDRESSES = sorted(
    {*(page.path for page in PAGES if page.method == "GET"), *(one.path for one in OPERATIONS if one.method == "GET")}
)
THEIRS, OURS = ItemId(2026113000000000071), ItemId(2026113000000000072)


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        item = Item(THEIRS, source=WORD, input_id=WORD, text=WORD, author=WORD, kind="post")
        await made.add_items(1, item=item, reason=WORD, error=WORD)
        await made.add_items(
            2, item=Item(OURS, source="items", input_id="ours", text="ours", kind="post", tenant="acme")
        )
        fact = LabelFact(
            item_id=THEIRS, val="spam", is_negated=True, actor=WORD, reason=WORD, at_ms=made.clock.now_ms()
        )
        await made.store.front.facts.add(fact)
        for value, headers in ((WORD, {WORD: WORD}), ("ours", {"tenant": "acme"})):
            await made.store.log.append("items", [NewRecord(value.encode(), headers=headers)])
            [delivery] = await made.store.log.claim("items", "items", owner=value, limit=1, lease_ms=1_000)
            await made.store.log.reject(delivery.lease, Diagnosis(value, value, (value,), value))
        await made.token("admin", tenant="main")
        yield made


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("number", ["1", str(THEIRS), WORD])
async def test_no_address_tells_of_another_tenant(faced: Face, address: str, number: str) -> None:
    path = re.sub(r"\{\w+\}", number, address)
    headers = await faced.token("admin", tenant="acme")
    for query in ({}, {"tenant": "main"}, {"q": str(THEIRS)}, {"input_id": WORD, "source": WORD}):
        answer = await faced.client.get(path, params=query, headers=headers)
        assert answer.status_code < 500
        told = answer.text + answer.headers.get("location", "")
        given = (*query.values(), path)
        for word in (WORD, str(THEIRS)):
            assert any(word in one for one in given) or word not in told, (path, query)


async def test_numbers_of_all_tenants_are_for_those_of_the_default_one(faced: Face) -> None:
    for tenant, may in (("acme", False), ("main", True), ("*", True)):
        headers = await faced.token("viewer", tenant=tenant)
        page = (await faced.client.get("/console", headers=headers)).text
        tiles = re.findall(r"<dt>([^<]+)</dt><dd class=\"figure\">", page)
        assert ("Items stored" in tiles, "data-series" in page, "Not handed out" in page) == (may, may, may)
        assert "Dead letters" in tiles
        for path in ("/v1/generators", "/metrics"):
            assert (await faced.client.get(path, headers=headers)).status_code == (200 if may else 403)


async def test_what_is_looked_through_is_counted_as_far_as_it_may_be_seen(faced: Face) -> None:
    page = (await faced.client.get("/console/items", headers=await faced.token("viewer", tenant="acme"))).text
    assert "All 1 items searched" in page
    none = await faced.client.get("/console/items?text=none", headers=await faced.token("viewer", tenant="acme"))
    assert f"Searched items {OURS} down to {OURS}" in none.text


def test_what_has_no_tenant_belongs_to_the_default_one() -> None:
    seen = {tenant: Principal("id", "name", "viewer", tenant).sees_whole for tenant in ("*", "main", "acme")}
    assert seen == {"*": True, "main": True, "acme": False}


async def test_letters_of_others_hide_none_of_ours(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "DEAD_MAX", 1)
    page = (await faced.client.get("/console", headers=await faced.token("viewer", tenant="acme"))).text
    assert ">1+</a>" in page, "the oldest letter is another's"
