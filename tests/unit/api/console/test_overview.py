"""The overview: rates, waits with their reasons, traffic and changes; and where ids lead."""

import html
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gristmill.domain.errors import Unavailable
from gristmill.domain.front.health import HealthReport, ServiceHealth
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.testing.contracts.backend import run_id_of
from tests.faces import Face, face

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.clock.advance(2 * DAY_MS)
        yield made


async def show(faced: Face, **headers: str) -> str:
    answer = await faced.client.get("/console", headers={**await faced.token("admin"), **headers})
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def tiles(page: str) -> dict[str, str]:
    found = re.findall(r'<dt>([^<]+)</dt><dd class="figure">(?:<a[^>]*>)?([^<]*)', page)
    return {name: value for name, value in found}


async def test_rates_are_measured_between_two_looks(faced: Face) -> None:
    assert tiles(await show(faced))["In / s"] == "–"
    await faced.store.log.append("items", [NewRecord(b"{}")] * 120)
    deliveries = await faced.store.log.claim("items", "items", owner="me", limit=60, lease_ms=MINUTE_MS)
    await faced.store.log.accept([delivery.lease for delivery in deliveries[:30]])
    faced.clock.advance(10_000)
    found = tiles(await show(faced))
    assert (found["In / s"], found["Done / s"]) == ("12", "3.0")
    assert (found["Not handed out"], found["In flight"], found["Oldest wait"]) == ("60", "30", "10 s")


async def test_records_that_wait_say_why_in_page_and_api_alike(faced: Face) -> None:
    await faced.store.log.append("items", [NewRecord(b"{}")])
    assert "nobody has claimed these records yet" in await show(faced)
    faced.is_full = True
    faced.health = HealthReport("serving", (ServiceHealth("", ("the dispatcher is away",)), ServiceHealth("engine")))
    page = await show(faced)
    assert "Back-pressure: publishing to items is refused" in page
    assert "the dispatcher is away" in page
    [generator] = (await faced.client.get("/v1/generators", headers=await faced.token())).json()["generators"]
    assert generator["waits"] == ["not-serving", "backlog-full"]


async def test_traffic_of_the_day_is_drawn_and_asked_for_once(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    await faced.store.log.append("items", [NewRecord(b"{}")] * 10)
    await faced.add_items(1, 2, ended_at_ms=faced.clock.now_ms())
    faced.clock.advance(5 * MINUTE_MS)
    times, came, ended = json.loads(re.search(r'data-series="(\[.*?\])"', await show(faced))[1])  # type: ignore[index]
    assert (len(times), came[-2], ended[-2], sum(came), sum(ended)) == (13, 2.0, 0.4, 2.0, 0.4)
    count, asked = faced.store.front.traffic.count, []

    async def listen(**window: Any) -> Any:
        asked.append(window["limit"])
        return await count(**window)

    monkeypatch.setattr(faced.store.front.traffic, "count", listen)
    await show(faced)
    faced.clock.advance(10 * MINUTE_MS)
    await show(faced)
    assert asked == [2, 1], "two intervals that are over by now, and the running one"


async def test_whatever_comes_in_counts_at_once_files_too_but_nothing_twice(faced: Face) -> None:
    await faced.store.log.append("run.posts.0123.1", [NewRecord(b"{}")] * 30)
    await faced.store.log.append("run.posts.0123.1.recovery", [NewRecord(b"{}")] * 7)
    page = await show(faced)
    assert "30 in, 0 ended in 24 h" in page
    _, came, _ = json.loads(re.search(r'data-series="(\[.*?\])"', page)[1])  # type: ignore[index]
    assert came[-1] > 0
    await faced.store.log.append("items", [NewRecord(b"{}")] * 5)
    assert "30 in, 0 ended in 24 h" in await show(faced), "it is asked once a second at most"
    faced.clock.advance(1_000)
    assert "35 in, 0 ended in 24 h" in await show(faced)


async def test_the_day_is_drawn_from_where_something_happens(faced: Face) -> None:
    async def draw() -> list[float]:
        found: list[float] = json.loads(re.search(r'data-series="(\[.*?\])"', await show(faced))[1])[0]  # type: ignore[index]
        return found

    assert len(await draw()) == 13, "the last hour where nothing has happened"
    began_ms = faced.clock.now_ms()
    await faced.store.log.append("items", [NewRecord(b"{}")])
    faced.clock.advance(3 * 60 * MINUTE_MS)
    assert (await draw())[0] < began_ms < (await draw())[2]
    faced.clock.advance(20 * 60 * MINUTE_MS)
    assert len(await draw()) == 23 * 12 + 2


async def test_a_dead_letter_counts_whoever_serves_its_topic(faced: Face) -> None:
    assert tiles(await show(faced))["Dead letters"] == "0"
    await faced.store.log.append("run.posts.0123.1", [NewRecord(b"{}")])
    [delivery] = await faced.store.log.claim("run.posts.0123.1", "g", owner="me", limit=1, lease_ms=MINUTE_MS)
    await faced.store.log.reject(delivery.lease, Diagnosis("ValueError", "odd"))
    assert tiles(await show(faced))["Dead letters"] == "1"


async def test_what_changed_is_told_to_those_who_may_know(faced: Face) -> None:
    await faced.add_items(1)
    fact = LabelFact(
        item_id=ItemId(1), val="spam", is_negated=True, actor="ann", reason="a quote", at_ms=faced.clock.now_ms()
    )
    await faced.store.front.facts.add(fact)
    page = await show(faced)
    assert "Token" in page
    assert "negated by" in page
    theirs = await faced.client.get("/console", headers=await faced.token("viewer", tenant="acme"))
    assert "negated by" not in theirs.text
    assert "admin of *" not in theirs.text
    faced.clock.advance(DAY_MS + 1)
    assert "Nothing in the last 24 hours" in html.unescape(
        (await faced.client.get("/console", headers=await faced.token("viewer"))).text
    )


async def test_a_store_that_cannot_be_read_is_said(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr(faced.services.state, "counts", fail)
    answer = await faced.client.get("/console", headers=await faced.token("viewer"))
    assert (answer.status_code, "Wait a moment" in answer.text) == (503, True)


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("1", "/console/items/1"),
        (" 1 ", "/console/items/1"),
        (str(run_id_of(1)), "/console/items/1"),
        ("c-1", "/console/items/"),
        ("#12", "/console/dead-letters/12"),
    ],
)
async def test_an_id_leads_to_its_page(faced: Face, wanted: str, place: str) -> None:
    await faced.add_items(1)
    headers = await faced.token("operator", tenant="main")
    published = await faced.client.post("/v1/items", json={"id": "c-1", "text": "a"}, headers=headers)
    item_id = int(published.json()["item_id"])
    await faced.add_items(item_id)
    answer = await faced.client.get("/console/jump", params={"q": wanted}, headers=headers)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(place)
    theirs = await faced.token("viewer", tenant="acme")
    if not wanted.startswith("#"):
        hidden = await faced.client.get("/console/jump", params={"q": wanted}, headers=theirs)
        assert (hidden.status_code, "Nothing is called" in hidden.text) == (404, True)
