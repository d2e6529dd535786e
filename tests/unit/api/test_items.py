"""Items over HTTP: found, shown, explained, and hidden from other tenants."""

from collections.abc import AsyncIterator

import pytest

from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.testing.contracts.backend import run_id_of
from tests.faces import Face, face

SPAM = AppliedLabel("spam", 0.9, "too many links", ("http://a",), "rules", "screening", "1")


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("viewer", tenant="main"))
        yield made


async def test_an_item_is_shown_with_its_labels(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    answer = await faced.client.get("/v1/items/1")
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["item_id"], shown["status"], shown["text"]) == ("1", "done", "text 1")
    assert [(one["val"], one["negated"]) for one in shown["labels"]] == [("spam", False)]


async def test_an_etag_spares_an_answer_that_is_known(faced: Face) -> None:
    await faced.add_items(1)
    first = await faced.client.get("/v1/items/1")
    etag = first.headers["etag"]
    assert (await faced.client.get("/v1/items/1", headers={"If-None-Match": etag})).status_code == 304
    await faced.add_items(1, run_id=run_id_of(2), position=2)
    assert (await faced.client.get("/v1/items/1", headers={"If-None-Match": etag})).status_code == 200


@pytest.mark.parametrize("text", ["2", "0", "-1", "x", "1.5", "9" * 19, "9" * 40, "%F0%9F", "%00", "١"])
async def test_an_item_that_does_not_exist_is_not_found(faced: Face, text: str) -> None:
    answer = await faced.client.get(f"/v1/items/{text}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "/problems/not-found"


async def test_items_of_another_tenant_do_not_exist(faced: Face) -> None:
    item = Item(ItemId(7), source="src", input_id="x", text="theirs", tenant="acme")
    await faced.add_items(7, item=item)
    for path in ("", "/runs", "/events", "/explain"):
        assert (await faced.client.get(f"/v1/items/7{path}")).status_code == 404
    assert (await faced.client.get("/v1/items")).json() == {"items": [], "next": None}
    theirs = await faced.token("viewer", tenant="acme")
    assert (await faced.client.get("/v1/items/7", headers=theirs)).json()["text"] == "theirs"


async def test_a_list_is_paged_from_the_newest(faced: Face) -> None:
    await faced.add_items(*range(1, 6))
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await faced.client.get("/v1/items", params={"limit": 2, "cursor": cursor})).json()
        seen += [item["item_id"] for item in page["items"]]
        cursor = page["next"]
    assert seen == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("label=spam", ["2"]),
        ("label=-spam", []),
        ("status=failed", ["3"]),
        ("kind=comment", ["4"]),
        ("author=ann", ["4"]),
        ("text=TEXT 1", ["1"]),
        ("source=nowhere", []),
        ("since=2026-11-30T00:00:00Z", ["4"]),
        ("until=2026-11-30T00:00:00%2B00:00&status=done", ["2", "1"]),
    ],
)
async def test_items_are_found_by_what_is_known_of_them(faced: Face, query: str, found: list[str]) -> None:
    await faced.add_items(1)
    await faced.add_items(2, labels=(SPAM,))
    await faced.add_items(3, status="failed", error="no")
    written = Item(ItemId(4), "comment", "src", "in-4", 4, "four", "ann", 1_796_000_000_000)
    await faced.add_items(4, item=written)
    page = (await faced.client.get(f"/v1/items?{query}")).json()
    assert [item["item_id"] for item in page["items"]] == found


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("labels=spam", "labels"),
        ("status=odd", "status"),
        ("since=yesterday", "since"),
        ("since=2026-11-30", "since"),
        ("cursor=abc", "cursor"),
        ("cursor=%F0%9F", "cursor"),
        ("cursor=MTotNQ", "cursor"),
    ],
)
async def test_a_query_that_makes_no_sense_is_pointed_at(faced: Face, query: str, pointer: str) -> None:
    answer = await faced.client.get(f"/v1/items?{query}")
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_an_item_is_explained(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    explained = (await faced.client.get("/v1/items/1/explain")).json()
    assert explained["item"]["item_id"] == "1"
    assert [run["plan"] for run in explained["runs"]] == ["plan"]
    assert [label["val"] for label in explained["labels"]] == ["spam"]
    assert (await faced.client.get("/v1/items/1/runs")).json()["runs"] == explained["runs"]
    assert (await faced.client.get("/v1/items/1/events")).json()["events"] == explained["events"]


@pytest.mark.parametrize("at_ms", [-(1 << 62), -62_135_596_800_001, 253_402_300_800_000, 1 << 62])
async def test_a_time_that_no_calendar_knows_spoils_no_list(faced: Face, at_ms: int) -> None:
    await faced.add_items(1)
    await faced.add_items(2, item=Item(ItemId(2), source="src", input_id="b", text="b", created_at_ms=at_ms))
    listed = (await faced.client.get("/v1/items")).json()["items"]
    assert [(one["item_id"], one["created_at"]) for one in listed] == [("2", None), ("1", None)]
    for path in ("/v1/items/2", "/v1/items/2/explain", "/v1/items:export", "/v1/items:export?format=csv"):
        assert (await faced.client.get(path)).status_code == 200
    for path in ("/console/items", "/console/items/2"):
        assert (await faced.client.get(path)).status_code == 200


async def test_columns_are_fetched_by_id_and_what_is_missing_is_told(faced: Face) -> None:
    await faced.add_items(1, 2, labels=(SPAM,))
    theirs = Item(ItemId(7), source="src", input_id="x", text="theirs", tenant="acme")
    await faced.add_items(7, item=theirs)
    wanted = {"item_ids": ["2", "7", "9", "1", "2", "9" * 19], "columns": ["text", "labels.*"]}
    answer = (await faced.client.post("/v1/items:fetch", json=wanted)).json()
    assert [(one["item_id"], one["columns"]["text"]) for one in answer["items"]] == [("2", "text 2"), ("1", "text 1")]
    assert set(answer["items"][0]["columns"]) == {"text", "labels.spam"}
    assert answer["items"][0]["columns"]["labels.spam"]["reason"] == "too many links"
    assert (answer["missing"], answer["left"]) == (["7", "9", "9" * 19], [])


async def test_what_an_answer_has_no_room_for_is_left_to_be_asked_again(
    faced: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.api.routes.items.FETCH_BYTES_MAX", 100)
    await faced.add_items(*range(1, 51))
    left = [str(number) for number in range(1, 51)]
    seen: list[str] = []
    while left:
        answer = (await faced.client.post("/v1/items:fetch", json={"item_ids": left})).json()
        assert answer["items"]
        seen += [one["item_id"] for one in answer["items"]]
        left = answer["left"]
    assert seen == [str(number) for number in range(1, 51)]


@pytest.mark.parametrize("body", [{}, {"item_ids": []}, {"item_ids": ["x"]}, {"item_ids": ["1"], "columns": []}])
async def test_a_fetch_that_names_nothing_is_refused(faced: Face, body: dict[str, object]) -> None:
    answer = await faced.client.post("/v1/items:fetch", json=body)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/validation")
