"""Items as files: whole, bounded, harmless to open, and of one tenant."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator

import pytest

from gristmill.api.routes import export
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from tests.faces import Face, face

SPAM = AppliedLabel("spam", 0.9, "too many links", (), "rules", "screening", "1")
PATH = "/v1/items:export"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("viewer", tenant="main"))
        yield made


async def table(faced: Face, **query: str) -> list[list[str]]:
    answer = await faced.client.get(PATH, params={"format": "csv", **query})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="items.csv"'
    return list(csv.reader(io.StringIO(answer.content.decode(), newline="")))


async def test_lines_are_items_as_the_list_shows_them(faced: Face) -> None:
    await faced.add_items(1, 2, labels=(SPAM,))
    answer = await faced.client.get(PATH)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    listed = (await faced.client.get("/v1/items")).json()["items"]
    assert [json.loads(line) for line in answer.text.splitlines()] == listed


async def test_a_table_has_the_columns_that_were_asked_for(faced: Face) -> None:
    await faced.add_items(1, 2, labels=(SPAM,))
    assert await table(faced, columns="input_id,labels,status") == [
        ["input_id", "labels", "status"],
        ["in-2", "spam", "done"],
        ["in-1", "spam", "done"],
    ]
    assert (await table(faced))[0][:3] == ["item_id", "time", "status"]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", '=HYPERLINK("http://x")', "\u00a0=1"],
)
async def test_a_spreadsheet_is_given_nothing_to_calculate(faced: Face, text: str) -> None:
    await faced.add_items(1, item=Item(ItemId(1), text=text, author=text))
    [_, [shown, author]] = await table(faced, columns="text,author")
    assert shown == author == f"'{text}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a;=1", "a;'=1"),
        ('a; "=1', "a; \"'=1"),
        ("a\n-1\t+2", "a\n'-1\t'+2"),
        (";@x", ";'@x"),
        ("=1;=2", "'=1;'=2"),
        ("a - b, -c =d", "a - b, -c =d"),
    ],
)
async def test_nor_is_one_that_separates_columns_by_semicolons(faced: Face, text: str, shown: str) -> None:
    await faced.add_items(1, item=Item(ItemId(1), text=text))
    assert await table(faced, columns="text") == [["text"], [shown]]


async def test_long_runs_of_separators_take_no_time(faced: Face) -> None:
    text = "a" + ';" \n' * 30_000 + "b"
    await faced.add_items(1, item=Item(ItemId(1), text=text))
    async with asyncio.timeout(5):
        assert await table(faced, columns="text") == [["text"], [text]]


async def test_quotes_commas_and_line_ends_survive(faced: Face) -> None:
    text = 'a "b", c\r\nd\ne'
    await faced.add_items(1, item=Item(ItemId(1), text=text))
    assert await table(faced, columns="text") == [["text"], [text]]


async def test_a_file_that_is_cut_says_where_to_go_on(faced: Face) -> None:
    await faced.add_items(*range(1, 251))
    lines = [json.loads(line) for line in (await faced.client.get(PATH, params={"limit": 120})).text.splitlines()]
    assert (len(lines), lines[119]["item_id"]) == (121, "131")
    rest = (await faced.client.get(PATH, params={"cursor": lines[120]["next"]})).text.splitlines()
    assert [json.loads(line)["item_id"] for line in rest] == [str(number) for number in range(130, 0, -1)]
    [last] = (await table(faced, limit="120", columns="item_id"))[-1]
    assert last == f"more: go on with cursor={lines[120]['next']}"
    assert (await table(faced, limit="250", columns="item_id"))[-1] == ["1"]


async def test_a_file_looks_through_a_bounded_number_of_items(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "SCANNED_MAX", 100)
    await faced.add_items(*range(1, 251))
    lines = (await faced.client.get(PATH, params={"text": "no such text"})).text.splitlines()
    rest = (await faced.client.get(PATH, params={"cursor": json.loads(lines[0])["next"]})).text.splitlines()
    assert (len(lines), json.loads(rest[0])["item_id"]) == (1, "150")


async def test_items_of_another_tenant_are_in_no_file(faced: Face) -> None:
    await faced.add_items(1, item=Item(ItemId(1), text="theirs", tenant="acme"))
    assert (await faced.client.get(PATH)).text == ""
    assert (await faced.client.get(PATH, params={"tenant": "acme"})).text == ""


@pytest.mark.parametrize(
    "query", ["format=xlsx", "columns=none", "since=x", "limit=0", "limit=10001", "cursor=x", "a=b"]
)
async def test_an_odd_question_is_refused_before_anything_is_sent(faced: Face, query: str) -> None:
    assert (await faced.client.get(f"{PATH}?{query}")).status_code == 400
