"""Acceptance checks of understanding: what becomes of pictures between an address and a tile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from gristmill.adapters.egress import AddressPolicy, EgressMetrics, GuardedEgress
from gristmill.adapters.media import ChildImageReader, GuardedFetcher, ReaderLimits, ReaderMetrics
from gristmill.domain.item import freeze
from gristmill.engine.driver import Driver, Ended
from gristmill.flows.screen import ImageOptions, build_plan
from gristmill.plans.compile import compile_plan
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import Need
from gristmill.ports.media import Fetched, ImageClassifier, ImageEmbedder, ImageReader, MediaFetcher, Missing, Picture
from gristmill.testing.media import FakeImageModel, draw_picture, encode_png
from tests.driving import ITEM, JumpingClock, drive_with, statuses
from tests.media_server import MediaServer, answer

PICTURE = encode_png(draw_picture(1))
OOPS = answer(status="500 Oops")


class Screen:
    """The flow `screen` over a real fetcher and a real reader."""

    def __init__(self, reader: ChildImageReader, *allow: str) -> None:
        self.registry = CollectorRegistry()
        self.clock = JumpingClock()
        egress = GuardedEgress(AddressPolicy(allow), metrics=EgressMetrics(self.registry))
        self.fetcher = GuardedFetcher(egress, clock=self.clock)
        model = FakeImageModel()
        self._resources: dict[Need, object] = {
            Need(MediaFetcher, "images"): self.fetcher,
            Need(ImageReader, "images"): reader,
            Need(ImageClassifier, "nudity"): model,
            Need(ImageEmbedder, "copies"): model,
        }

    async def run(self, *images: str, options: ImageOptions | None = None) -> Ended:
        plan = build_plan(images=options or ImageOptions())
        driver = Driver(
            RegisteredPlan(compile_plan(plan), "screen", "shadow"), resources=self._resources, clock=self.clock
        )
        try:
            return await drive_with(driver, replace(ITEM, ext=freeze({"images": list(images)})))
        finally:
            driver.close()

    async def fetch(self, url: str) -> Fetched | Missing:
        async with self.fetcher.open(url) as fetched:
            return fetched

    def count(self, outcome: str) -> float:
        return self.registry.get_sample_value("gristmill_egress_ended_total", {"outcome": outcome}) or 0.0


@pytest.fixture
async def reader() -> AsyncIterator[ChildImageReader]:
    reader = ChildImageReader(metrics=ReaderMetrics(CollectorRegistry()), limits=ReaderLimits(children=1))
    yield reader
    await reader.close()


def images_of(ended: Ended) -> Any:
    return next(each.value for each in ended.cells if each.field == "images")


@pytest.mark.parametrize(("size", "tile"), [((1000, 500), (448, 224)), ((4000, 10), (448, 8))])
async def test_AC_UN_040_a_tile_keeps_proportions_and_is_padded_to_8(
    reader: ChildImageReader, size: tuple[int, int], tile: tuple[int, int]
) -> None:
    picture = await reader.read(encode_png(draw_picture(1, width=size[0], height=size[1])))
    assert isinstance(picture, Picture)
    assert (picture.width, picture.height) == size
    assert (picture.tile_width, picture.tile_height) == tile


async def test_AC_UN_041_a_picture_that_is_gone_leaves_the_post_without_it_and_the_plan_goes_on(
    reader: ChildImageReader,
) -> None:
    async with MediaServer({"/a.png": [answer(PICTURE)]}) as server:
        screen = Screen(reader, server.authority)
        ended = await screen.run(server.url("/a.png"), server.url("/gone.png"))
    assert ended.status == "done", ended.error
    assert set(statuses(ended).values()) == {"done"}
    found = images_of(ended)
    assert [each.reference for each in found.images] == [server.url("/a.png")]
    assert [(each.reference, each.reason) for each in found.missing_media] == [(server.url("/gone.png"), "absent")]
    assert server.asked.count("/gone.png") == 1


async def test_AC_UN_041_a_server_that_fails_twice_fails_the_task_or_leaves_missing_media(
    reader: ChildImageReader,
) -> None:
    async with MediaServer({"/a.png": [OOPS]}) as server:
        screen = Screen(reader, server.authority)
        failed = await screen.run(server.url("/a.png"))
        assert (failed.status, failed.failed_task) == ("failed", "pictures")
        assert (len(server.asked), screen.clock.waits_ms) == (2, [1_000])
        degraded = await screen.run(server.url("/a.png"), options=ImageOptions(on_missing="degrade"))
    assert degraded.status == "done"
    assert [each.reason for each in images_of(degraded).missing_media] == ["unavailable"]


async def test_AC_UN_041_a_server_that_fails_once_is_asked_again(reader: ChildImageReader) -> None:
    async with MediaServer({"/a.png": [OOPS, answer(PICTURE)]}) as server:
        ended = await Screen(reader, server.authority).run(server.url("/a.png"))
    assert len(images_of(ended).images) == 1


async def test_AC_UN_043_inner_addresses_are_never_connected_to(
    reader: ChildImageReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[str] = []

    async def connect(host: str, port: int, **_: object) -> None:
        connected.append(host)
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio, "open_connection", connect)
    screen = Screen(reader)
    found = await screen.fetch("http://169.254.169.254/x.mp4")
    assert isinstance(found, Missing)
    assert (found.reason, screen.count("blocked_address")) == ("blocked_address", 1)
    ended = await screen.run("http://169.254.169.254/x.jpg")
    assert [each.reason for each in images_of(ended).missing_media] == ["blocked_address"]
    assert [each.val for each in ended.labels if each.task == "image_facts"] == ["unscreened"]
    assert screen.count("blocked_address") == 2
    assert connected == []


async def test_AC_UN_043_a_redirect_inwards_is_not_followed(reader: ChildImageReader) -> None:
    async with MediaServer({"/secret.png": [answer(PICTURE)]}) as inner:
        moved = answer(status="302 Found", headers=f"Location: {inner.url('/secret.png')}\r\n")
        plain = answer(status="301 Moved", headers="Location: http://127.0.0.1/secret.png\r\n")
        async with MediaServer({"/a.png": [moved], "/b.png": [plain]}) as outer:
            screen = Screen(reader, outer.authority)
            ended = await screen.run(outer.url("/a.png"), outer.url("/b.png"))
        assert inner.asked == []
    assert [each.reason for each in images_of(ended).missing_media] == ["blocked_port", "blocked_address"]
    assert screen.count("blocked_address") == 1
