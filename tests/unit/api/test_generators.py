"""Generators over HTTP: how far their groups are, pausing, weighing and moving them."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.faces import Face, face

ME = "operator of main"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("operator", tenant="main"))
        yield made


async def publish(faced: Face, *texts: str) -> None:
    for text in texts:
        assert (await faced.client.post("/v1/items", json={"text": text})).status_code < 300


async def finish(faced: Face, limit: int) -> None:
    log = faced.store.log
    claimed = await log.claim("items", "items", owner="me", limit=limit, lease_ms=1_000)
    await log.accept([one.lease for one in claimed])


async def steer(faced: Face, verb: str, **body: object) -> httpx.Response:
    return await faced.client.post(f"/v1/generators/items/{verb}", json=body)


async def test_a_generator_is_shown_with_its_partitions(faced: Face) -> None:
    await publish(faced, "a", "b")
    await finish(faced, 1)
    shown = (await faced.client.get("/v1/generators/items")).json()
    assert (shown["generator"]["undelivered"], shown["generator"]["lost"]) == (1, 0)
    [partition] = shown["partitions"]
    assert (partition["topic"], partition["position"], partition["end"], partition["undelivered"]) == (
        "items",
        "1",
        "2",
        1,
    )
    missing = await faced.client.get("/v1/generators/itms")
    assert (missing.status_code, "'items'" in missing.json()["detail"]) == (404, True)


async def test_a_pause_is_kept_with_its_reason_and_shown_until_it_is_resumed(faced: Face) -> None:
    await publish(faced, "a")
    paused = (await steer(faced, "pause", reason="the judge is down")).json()["generator"]
    assert (paused["paused"], paused["pause_reason"], paused["waits"]) == (True, "the judge is down", ["paused"])
    [listed] = (await faced.client.get("/v1/generators")).json()["generators"]
    assert listed == paused
    resumed = (await faced.client.post("/v1/generators/items/resume")).json()
    assert (resumed["generator"]["paused"], resumed["generator"]["pause_reason"]) == (False, "")
    assert [(one["actor"], one["paused"], one["reason"]) for one in resumed["steered"]] == [
        (ME, False, ""),
        (ME, True, "the judge is down"),
    ]


async def test_a_pause_without_a_reason_is_refused(faced: Face) -> None:
    for reason in ("", "  "):
        assert (await steer(faced, "pause", reason=reason)).status_code == 400
    assert not faced.services.orders.of("items").is_paused


async def test_a_weight_is_ordered_and_taken_back(faced: Face) -> None:
    assert (await steer(faced, "weigh", weight=3)).json()["generator"]["ordered_weight"] == 3
    assert faced.services.orders.of("items").weight == 3
    assert (await steer(faced, "weigh", weight=0)).status_code == 400
    assert (await steer(faced, "weigh", weight=None)).json()["generator"]["ordered_weight"] is None


async def test_a_seek_is_counted_first_and_done_when_it_is_still_the_same(faced: Face) -> None:
    await publish(faced, "a", "b", "c")
    await finish(faced, 2)
    preview = (await steer(faced, "seek", to="earliest")).json()
    assert preview == {"again": 2, "skipped": 0, "in_flight": 0, "preview": True}
    assert (await faced.store.log.lag("items", "items")).waiting == 0
    assert (await steer(faced, "seek", to="earliest", preview=False, expected=3)).status_code == 409
    done = (await steer(faced, "seek", to="earliest", preview=False, expected=2)).json()
    assert done == {**preview, "preview": False}
    assert (await faced.store.log.lag("items", "items")).waiting == 2
    [told] = (await faced.client.get("/v1/generators/items")).json()["steered"]
    assert (told["action"], told["actor"], told["to"], told["again"]) == ("sought", ME, "earliest", 2)


@pytest.mark.parametrize("to", ["yesterday", "2026-11-30T12:00:00", "-1", "9" * 19, "٣"])
async def test_a_place_that_means_none_is_refused(faced: Face, to: str) -> None:
    answer = await steer(faced, "seek", to=to)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/to")


async def test_a_topic_that_the_generator_does_not_read_is_refused(faced: Face) -> None:
    answer = await steer(faced, "seek", to="now", topic="elsewhere")
    assert "items.recovery" in answer.json()["errors"][0]["message"]


async def test_whoever_is_confined_to_a_tenant_steers_nothing(faced: Face) -> None:
    theirs = await faced.token("operator", tenant="acme")
    assert (await faced.client.get("/v1/generators/items", headers=theirs)).status_code == 403
    answer = await faced.client.post("/v1/generators/items/resume", headers=theirs)
    assert answer.status_code == 403
