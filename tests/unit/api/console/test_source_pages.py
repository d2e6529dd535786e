"""Sources: how far generators are, and pausing, weighing and moving them from the page."""

import html
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from gristmill.domain.log import NewRecord
from tests.faces import Face, face

OURS = {"Sec-Fetch-Site": "same-origin"}
ONE = "/console/sources/items"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update({**OURS, **await made.token("operator", tenant="main")})
        yield made


async def show(faced: Face, path: str, **query: str) -> str:
    answer = await faced.client.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


async def post(faced: Face, verb: str, **fields: str) -> httpx.Response:
    return await faced.client.post(f"{ONE}/{verb}", data=fields)


async def fill(faced: Face, *, count: int, done: int) -> None:
    await faced.store.log.append("items", [NewRecord(b"{}")] * count)
    if done:
        claimed = await faced.store.log.claim("items", "items", owner="me", limit=done, lease_ms=60_000)
        await faced.store.log.accept([one.lease for one in claimed])


async def test_the_list_tells_how_far_each_generator_is(faced: Face) -> None:
    await show(faced, "/console/sources")
    await fill(faced, count=30, done=10)
    faced.clock.advance(10_000)
    page = await show(faced, "/console/sources")
    assert "items items not-claimed 20 10 s 3.0 1.0 100 % 100 % 0 0 0 0" in page
    assert "not seen yet" not in page


async def test_a_pause_is_asked_for_with_a_reason_and_told_with_it(faced: Face) -> None:
    await fill(faced, count=1, done=0)
    assert (await post(faced, "pause", reason=" ")).status_code == 400
    answer = await post(faced, "pause", reason="the judge <b>is</b> down")
    assert answer.status_code == 303
    page = await show(faced, answer.headers["location"])
    assert "Paused the judge <b>is</b> down" in page
    assert "gristmill generator resume items" in page
    assert "items is paused the judge" in await show(faced, "/console/sources")
    await post(faced, "resume")
    page = await show(faced, ONE)
    assert "open , by operator of main" in page
    assert "paused: the judge" in page


async def test_a_weight_is_shown_beside_the_declared_one(faced: Face) -> None:
    await post(faced, "weigh", weight="2.5")
    assert "2.5 ordered, instead of 1" in await show(faced, ONE)
    await post(faced, "weigh", weight="")
    assert "ordered, instead" not in await show(faced, ONE)
    for odd in ("-1", "nan", "inf", "many"):
        assert (await post(faced, "weigh", weight=odd)).status_code == 400


async def test_a_move_is_counted_before_it_is_done(faced: Face) -> None:
    await fill(faced, count=3, done=2)
    page = await show(faced, f"{ONE}/seek", to="earliest")
    assert "Come again 2 records" in page
    assert "gristmill generator seek items --to earliest --yes" in page
    assert (await faced.store.log.lag("items", "items")).waiting == 0
    assert (await post(faced, "seek", to="earliest", topic="items", count="5")).status_code == 409
    answer = await post(faced, "seek", to="earliest", topic="items", count="2")
    assert "Moved: 2 come again, 0 skipped" in await show(faced, answer.headers["location"])
    assert (await faced.store.log.lag("items", "items")).waiting == 2


async def test_a_move_of_many_records_wants_their_number_typed(faced: Face) -> None:
    await fill(faced, count=1_001, done=1)
    assert "Type 1000" not in await show(faced, f"{ONE}/seek", to="now")
    await fill(faced, count=1, done=1)
    await fill(faced, count=2, done=1)
    page = await show(faced, f"{ONE}/seek", to="now")
    assert "Type 1001 to go on" in page
    assert (await post(faced, "seek", to="now", topic="items", count="1001", typed="no")).status_code == 400
    assert (await post(faced, "seek", to="now", topic="items", count="1001", typed="1001")).status_code == 303


@pytest.mark.parametrize(("to", "topic"), [("soon", ""), ("", ""), ("now", "elsewhere")])
async def test_a_place_that_means_none_is_told(faced: Face, to: str, topic: str) -> None:
    answer = await faced.client.get(f"{ONE}/seek", params={"to": to, "topic": topic})
    assert answer.status_code == 400


async def test_a_viewer_looks_and_is_told_what_steering_needs(faced: Face) -> None:
    faced.client.headers.update(await faced.token("viewer", tenant="main"))
    assert "Steering needs the role operator" in await show(faced, ONE)
    assert (await post(faced, "resume")).status_code == 403


async def test_a_tenant_sees_no_numbers_of_all_together(faced: Face) -> None:
    await fill(faced, count=7, done=0)
    faced.client.headers.update(await faced.token("admin", tenant="acme"))
    page = await show(faced, "/console/sources")
    assert ("not shown to a token of one of them" in page, " 7 " in page) == (True, False)
    assert (await faced.client.get(ONE)).status_code == 403
