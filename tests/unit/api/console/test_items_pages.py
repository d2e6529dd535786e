"""The items explorer: every part of a question is in the address, and nothing of it or of content breaks the page."""

import re
from collections.abc import AsyncIterator
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import InputKey
from gristmill.domain.item import AppliedLabel, Item
from tests.faces import Face, face

SPAM = AppliedLabel("spam", 0.9, "too many links", (), "rules", "screening", "1")
ITEMS = "/console/items"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("viewer", tenant="main"))
        yield made


async def page(faced: Face, query: str = "", status: int = 200) -> str:
    answer = await faced.client.get(f"{ITEMS}?{query}" if query else ITEMS)
    assert answer.status_code == status, answer.text[:2000]
    return answer.text


def links(text: str) -> list[str]:
    return [unescape(found) for found in re.findall(r'href="([^"]*)"', text)]


def shown_ids(text: str) -> list[str]:
    return re.findall(r'<a class="mono" href="/console/items/(\d+)">', text)


def query_of(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query))


async def test_an_empty_store_teaches_how_to_fill_it_and_what_to_ask(faced: Face) -> None:
    text = await page(faced)
    assert "No content has been taken in yet" in text
    assert "http://face/v1/items" in text
    assert {"text": "subscribe", "label": "spam"} in [query_of(link) for link in links(text)]


async def test_items_are_listed_with_counts_and_how_far_they_reach(faced: Face) -> None:
    await faced.add_items(1, 2, labels=(SPAM,))
    await faced.add_items(3, item=Item(ItemId(3), kind="comment", author="ann", created_at_ms=9_000_000, text="hello"))
    text = await page(faced)
    assert shown_ids(text) == ["3", "2", "1"]
    assert "All 3 items searched" in text
    assert "3 found over time" in text
    assert '<svg class="bars"' in text
    assert {"label": "spam"} in [query_of(link) for link in links(text)]
    assert {"kind": "comment"} in [query_of(link) for link in links(text)]


async def test_a_count_leads_to_a_question_and_back(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    await faced.add_items(2)
    text = await page(faced, "label=spam&columns=item_id,labels")
    assert shown_ids(text) == ["1"]
    assert '<a href="/console/items?columns=item_id%2Clabels" aria-current="true">' in text
    assert '<th scope="col">Text</th>' not in text


async def test_what_a_person_negated_is_found_and_struck_out(faced: Face) -> None:
    await faced.add_items(1, 2, labels=(SPAM,))
    fact = LabelFact(item_id=ItemId(1), val="spam", is_negated=True, actor="ann", reason="a quote", at_ms=5)
    await faced.store.front.facts.add(fact)
    assert shown_ids(await page(faced, "label=-spam")) == ["1"]
    text = await page(faced)
    assert "<s>spam</s>" in text
    assert {"label": "-spam"} in [query_of(link) for link in links(text)]


async def test_pages_follow_one_another_and_keep_the_question(faced: Face) -> None:
    await faced.add_items(*range(1, 8))
    text, seen = await page(faced, "limit=3&text=text"), []
    for _ in range(3):
        seen += shown_ids(text)
        following = [link for link in links(text) if "cursor=" in link]
        if not following:
            break
        assert query_of(following[0])["text"] == "text"
        text = await page(faced, urlsplit(following[0]).query)
    assert seen == ["7", "6", "5", "4", "3", "2", "1"]
    assert "which is the oldest" in text


async def test_a_question_that_finds_nothing_says_what_was_searched(faced: Face) -> None:
    await faced.add_items(1, 2)
    text = await page(faced, "text=nowhere")
    assert "Nothing found in 2 items" in text
    assert "Searched items 2 down to 1" in text


async def test_a_time_is_read_as_utc_and_goes_back_into_its_field(faced: Face) -> None:
    await faced.add_items(1, item=Item(ItemId(1), created_at_ms=1_796_025_600_000))
    for since in ("2026-11-30T07:59", "2026-11-30T08:59:00%2B01:00", "2026-11-30T07:59:00Z"):
        text = await page(faced, f"since={since}&until=2026-11-30T08:01:00")
        assert shown_ids(text) == ["1"]
        assert 'name="since" value="2026-11-30T07:59:00"' in text
    assert shown_ids(await page(faced, "since=2026-11-30T08:01:00")) == []


async def test_columns_are_chosen_in_the_address(faced: Face) -> None:
    await faced.add_items(1)
    text = await page(faced, "columns=item_id,source,plans,input_id,kind,revision,negated,tenant")
    assert re.findall(r'<th scope="col">(\w[\w ]*)</th>', text)[-8:] == [
        *("Item", "Source", "Plans", "Input id", "Kind", "Revision", "Negated", "Tenant"),
    ]
    toggled = [query_of(link)["columns"] for link in links(text) if "columns=" in link and ITEMS in link]
    assert "item_id,negated,kind,source,input_id,plans,revision,tenant,text" not in toggled
    assert any("text" in columns for columns in toggled)


async def test_files_are_offered_for_what_is_asked(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    text = await page(faced, "label=spam")
    [table] = [link for link in links(text) if "format=csv" in link]
    assert (await faced.client.get(table)).text.splitlines()[0] == "item_id,time,text,labels,status"
    [lines] = [link for link in links(text) if "format=jsonl" in link]
    assert len((await faced.client.get(lines)).text.splitlines()) == 1


@pytest.mark.parametrize("field", ["text", "author", "kind", "source", "input_id", "tenant"])
async def test_what_others_wrote_stays_text(faced: Face, field: str) -> None:
    faced.client.headers.update(await faced.token("viewer"))
    await faced.add_items(1, item=Item(ItemId(1), **{field: HOSTILE}))  # type: ignore[arg-type]
    text = await page(faced, "columns=item_id,text,author,kind,source,input_id,tenant")
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize("name", ["text", "label", "kind", "source", "author", "plan", "tenant"])
async def test_a_hostile_question_stays_text(faced: Face, name: str) -> None:
    await faced.add_items(1)
    text = (await faced.client.get(ITEMS, params={name: HOSTILE})).text
    assert "<script>alert" not in text
    assert "<img src=x" not in text


@pytest.mark.parametrize(
    "query",
    [
        *("status=odd", "limit=0", "limit=201", "limit=x", "cursor=x", "cursor=MTotMQ", "since=yesterday", "until=1"),
        *("since=9999-99-99T00:00:00Z", "columns=none", "columns=" + "a" * 600, "nothing=1", "text=a&text=b"),
        *("label=" + "a" * 200, "text=" + "a" * 300, "since=0001-01-01T00:00:00%2B14:00"),
    ],
)
async def test_an_odd_question_is_refused_as_a_page(faced: Face, query: str) -> None:
    await faced.add_items(1)
    answer = await faced.client.get(f"{ITEMS}?{query}")
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "query",
    [
        *(
            "text=%00",
            "text=%F0%9F%92%A9",
            "label=-",
            "label=%2D%2D",
            "author=%E2%80%AEevil",
            "kind=%22%3E",
            "text=%25",
        ),
        *("since=0001-01-01T00:00:00Z", "until=9999-12-31T23:59:59Z", "columns=,,text,,text", "text=%20", "status="),
    ],
)
async def test_a_strange_question_is_answered(faced: Face, query: str) -> None:
    await faced.add_items(1)
    await page(faced, query)


@pytest.mark.parametrize("at_ms", [-(2**62), -1, 0, 253_402_300_800_000, 2**62])
async def test_times_that_no_calendar_knows_break_nothing(faced: Face, at_ms: int) -> None:
    await faced.add_items(1, item=Item(ItemId(1), created_at_ms=at_ms))
    await faced.add_items(2)
    assert shown_ids(await page(faced)) == ["2", "1"]
    assert (await faced.client.get(f"{ITEMS}/1")).status_code == 200


async def test_items_of_another_tenant_do_not_exist_nor_count(faced: Face) -> None:
    await faced.add_items(1, item=Item(ItemId(1), text="theirs", author="stranger", tenant="acme"))
    for query in ("", "tenant=acme", "author=stranger"):
        text = await page(faced, query)
        assert shown_ids(text) == []
        assert "theirs" not in text
    everybody = await faced.token("viewer")
    text = (await faced.client.get(ITEMS, headers=everybody)).text
    assert "theirs" in text
    assert {"tenant": "acme"} in [query_of(link) for link in links(text)]


async def test_an_item_is_found_by_what_its_source_calls_it(faced: Face) -> None:
    await faced.store.state.map_ids("items", {"c/1 ü": ItemId(5)})
    await faced.store.state.map_ids("items", {"theirs": ItemId(6)}, tenant="acme")
    for query in ({"input_id": " c/1 ü ", "source": "items"}, {"input_id": "c/1 ü", "source": ""}):
        answer = await faced.client.get("/console/lookup", params=query)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/items/5")
    for odd in (
        {"input_id": "none"},
        {},
        {"input_id": "theirs", "tenant": "acme"},
        {"input_id": HOSTILE, "source": HOSTILE},
    ):
        answer = await faced.client.get("/console/lookup", params=odd)
        assert answer.status_code == 404
        assert "<script>alert" not in answer.text
    assert await faced.store.state.input_keys([ItemId(5)]) == {ItemId(5): InputKey("main", "items", "c/1 ü")}


async def test_the_explorer_asks_for_a_token(faced: Face) -> None:
    faced.client.headers.pop("Authorization")
    answer = await faced.client.get(f"{ITEMS}?label=spam")
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/console/login?next=%2Fconsole%2Fitems%3Flabel%3Dspam",
    )
