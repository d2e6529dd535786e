"""Long texts are looked through a piece at a time, and a page ends where they are too many."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.front import listing as listing_module
from gristmill.api.reading import search as search_module
from gristmill.api.reading import text_core
from gristmill.api.reading.text_core import cut_text
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.testing.clock import FakeClock
from tests.faces import Face, face


@pytest.fixture
async def faced(tmp_path: Path) -> AsyncIterator[Face]:
    store = SqliteStore.open(tmp_path / "s.sqlite", clock=FakeClock(), owner="me", synchronous="NORMAL")
    async with face(store) as made:
        made.client.headers.update(await made.token("viewer"))
        yield made
    await store.close()


async def add(faced: Face, *texts: str) -> None:
    for number, text in enumerate(texts, start=1):
        await faced.add_items(
            number, item=Item(ItemId(number), source="s", input_id=str(number), text=text, kind="post")
        )


LETTERS = st.text(st.sampled_from("aßẞſKİé"), max_size=12)


@given(LETTERS, LETTERS, st.integers(1, 5))
def test_a_word_is_in_one_of_the_pieces_where_it_is_in_the_text(text: str, word: str, piece_chars: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_core, "PIECE_CHARS", piece_chars)
        folded = word.casefold()
        found = any(folded in piece.casefold() for piece in cut_text(text, overlap=len(folded)))
    assert found == (folded in text.casefold())


async def test_a_word_is_found_wherever_a_long_text_is_cut(faced: Face) -> None:
    await add(faced, "é" * (text_core.PIECE_CHARS - 3) + "Needle" + "é" * text_core.PIECE_CHARS)
    found = (await faced.client.get("/v1/items", params={"text": "nEEdle"})).json()["items"]
    assert [one["item_id"] for one in found] == ["1"]
    assert (await faced.client.get("/v1/items", params={"text": "needles"})).json()["items"] == []


async def test_others_have_their_turn_while_long_texts_are_looked_through(faced: Face) -> None:
    await add(faced, *["é" * 10 * text_core.PIECE_CHARS] * 3)
    turns, asking = 0, asyncio.create_task(faced.client.get("/v1/items", params={"text": "needle"}))
    while not asking.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 30


@pytest.mark.parametrize("path", ["/v1/items", "/console/items"])
async def test_a_page_ends_where_texts_are_too_long_and_goes_on(
    faced: Face, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "SCANNED_CHARS_MAX", 300)
    monkeypatch.setattr("gristmill.api.reading.explore.SCANNED_CHARS_MAX", 300)
    monkeypatch.setattr(search_module, "STRETCH_CHARS", 100)
    monkeypatch.setattr(listing_module, "LISTED_BYTES_MAX", 250)
    await add(faced, "needle", *["x" * 100] * 7)
    cursor, pages = "", 0
    while True:
        answer = await faced.client.get(path, params={"text": "needle", "cursor": cursor})
        pages += 1
        if path == "/console/items":
            if "Search older items" not in answer.text:
                assert ">needle<" in answer.text.replace("</bdi>", "<")
                break
            cursor = answer.text.split("cursor=")[-1].split('"')[0].split("&")[0]
        else:
            if answer.json()["next"] is None:
                assert [one["item_id"] for one in answer.json()["items"]] == ["1"]
                break
            cursor = answer.json()["next"]
    assert pages == 3


async def test_pages_show_the_beginning_of_a_long_text(faced: Face) -> None:
    await add(faced, "é" * 1_000_000)
    listed = (await faced.client.get("/console/items")).text
    assert len(listed) < 100_000
    shown = (await faced.client.get("/console/items/1")).text
    assert "of 1\u202f000\u202f000 characters are shown" in shown
    assert len(shown) < 200_000


async def test_however_many_search_at_once_two_stretches_are_looked_at(
    faced: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(faced, *["x"] * 5)
    choose, active, most = search_module._choose, 0, 0

    async def watch(*arguments: Any) -> Any:
        nonlocal active, most
        active += 1
        most = max(most, active)
        for _ in range(5):
            await asyncio.sleep(0)
        active -= 1
        return await choose(*arguments)

    monkeypatch.setattr(search_module, "_choose", watch)
    paths = ["/v1/items", "/v1/items:export", "/console/items"] * 4
    answers = await asyncio.gather(*(faced.client.get(path) for path in paths))
    assert {answer.status_code for answer in answers} == {200}
    assert most == 2
