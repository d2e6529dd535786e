"""The service over HTTP: answers, probes, shedding and counters (specification, sections 8, 13, 14 and 17)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from gristmill.adapters.memory import MemoryStore
from gristmill.api.app import build_app
from gristmill.api.describe import describe, render
from gristmill.api.metrics import ApiMetrics
from gristmill.api.recent import RECENT_OPERATIONS, Admission, RecentServices
from gristmill.api.security import RequestRates, TokenGate, make_token
from gristmill.domain.front.access import Role
from gristmill.domain.front.health import HealthReport, ServiceHealth
from gristmill.recent import Event, EventKind, LatestRequest, pack_answer
from gristmill.recent.core.tally import FACTS, OUTCOMES
from gristmill.recent.metrics import StoreCollector
from gristmill.recent.serving import RecentServing
from gristmill.testing.clock import FakeClock
from tests.recent.making import ids
from tests.recent.stage import append_frames, make_serving, running


class Service:
    """A server over a log in memory, and clients of it."""

    def __init__(self, *, qps: int = 8_000) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.serving: RecentServing = make_serving(self.store.log, self.clock)
        self.registry = CollectorRegistry()
        self.registry.register(StoreCollector(self.serving.store, self.serving.gate))
        self.admission = Admission(self.clock, queries_per_s=qps)
        self.app = build_app(
            RecentServices(
                gate=TokenGate(self.store.front.tokens, self.clock),
                rates=RequestRates(self.clock),
                tally=ApiMetrics(self.registry),
                clock=self.clock,
                health=self.report,
                metrics=self.scrape,
                description=render(describe(RECENT_OPERATIONS)),
                serving=self.serving,
                admission=self.admission,
                timeout_ms=200,
            ),
            operations=RECENT_OPERATIONS,
        )

    def report(self) -> HealthReport:
        return HealthReport("serving" if self.serving.gate.is_open else "starting", (ServiceHealth(""),))

    async def scrape(self) -> str:
        return generate_latest(self.registry).decode()

    @asynccontextmanager
    async def client(self, role: Role = "viewer", tenant: str = "main") -> AsyncIterator[httpx.AsyncClient]:
        made = make_token("me", role=role, tenant=tenant, now_ms=self.clock.now_ms())
        await self.store.front.tokens.add(made.stored)
        headers = {"Authorization": f"Bearer {made.text}"}
        transport = httpx.ASGITransport(app=self.app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://recent", headers=headers) as client:
            yield client

    def events(self) -> list[Event]:
        now_ms = self.clock.now_ms()
        return [
            Event(item=1, author=7, at_ms=now_ms - 900, tag=3),
            Event(item=2, author=7, at_ms=now_ms - 800, flags=4),
            Event(item=3, author=8, at_ms=now_ms - 700, answered_item=1, answered_author=7, conversation=1),
            Event(item=4, author=8, at_ms=now_ms - 600, flags=2, source_item=2, source_author=7),
            Event(item=5, author=7, at_ms=now_ms - 500),
            Event(kind=EventKind.HIDE, item=5, at_ms=now_ms),
        ]


@asynccontextmanager
async def serving_service(**further: Any) -> AsyncIterator[Service]:
    service = Service(**further)
    await append_frames(service.store.log, service.events())
    async with running(service.serving):
        yield service


async def test_AC_RS_022_nothing_is_answered_before_everything_is_read() -> None:
    service = Service()
    async with service.client() as client:
        answer = await client.post("/v1/recent/latest", json={"authors": ["7"]})
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/not-ready")
        probes = {name: (await client.get(name)).status_code for name in ("/livez", "/readyz", "/startupz")}
        assert probes == {"/livez": 200, "/readyz": 503, "/startupz": 503}
        assert (await client.get("/v1/recent/stats")).json()["state"] == "loading"
        async with running(service.serving):
            assert (await client.post("/v1/recent/latest", json={"authors": ["7"]})).json()["items"] == []
            assert (await client.get("/readyz")).status_code == 200


async def test_AC_RS_045_what_is_packed_is_the_same_over_http_and_in_process() -> None:
    async with serving_service() as service, service.client() as client:
        packed_ids = base64.b64encode(ids(7, 8).tobytes()).decode()
        bodies = [{"authors": ["7", 8], "format": "packed"}, {"authors": packed_ids, "format": "packed"}]
        answers = [await client.post("/v1/recent/latest", json=body) for body in bodies]
        direct = pack_answer(service.serving.latest(LatestRequest(authors=ids(7, 8))))
        assert [answer.content for answer in answers] == [direct, direct]
        assert answers[0].headers["content-type"] == "application/vnd.gristmill.recent-answer"


async def test_AC_RS_045_records_tell_what_an_item_is_and_where_the_next_page_begins() -> None:
    async with serving_service() as service, service.client() as client:
        body = {"authors": ["7", "8"], "max_results": 3}
        answer = (await client.post("/v1/recent/latest", json=body)).json()
        now_ms = service.clock.now_ms()
        assert answer["items"] == [
            {
                "item_id": "4",
                "author_id": "8",
                "created_at_ms": now_ms - 600,
                "kinds": ["repost"],
                "source_item": "2",
                "source_author": "7",
            },
            {
                "item_id": "3",
                "author_id": "8",
                "created_at_ms": now_ms - 700,
                "kinds": ["reply"],
                "in_reply_to_item": "1",
                "in_reply_to_author": "7",
                "conversation_id": "1",
            },
            {
                "item_id": "2",
                "author_id": "7",
                "created_at_ms": now_ms - 800,
                "kinds": ["original"],
                "is_video": True,
            },
        ]
        assert [answer[name] for name in ("partial", "stale", "truncated")] == [False, False, False]
        page = (await client.post("/v1/recent/latest", json={**body, "before": answer["next"]})).json()
        assert [item["item_id"] for item in page["items"]] == ["1"]
        end = (await client.post("/v1/recent/latest", json={**body, "before": page["next"]})).json()
        assert (end["items"], end["next"]) == ([], None)
        only = (await client.post("/v1/recent/latest", json={"authors": ["7", "8"], "kinds": ["reply"]})).json()
        assert [item["item_id"] for item in only["items"]] == ["3"]


async def test_AC_RS_045_what_is_hidden_is_shown_to_reviewers_alone() -> None:
    async with serving_service() as service, service.client() as viewer, service.client("reviewer") as reviewer:
        asked = {"authors": ["7"], "include_hidden": True}
        assert (await viewer.post("/v1/recent/latest", json=asked)).status_code == 403
        shown = (await reviewer.post("/v1/recent/latest", json=asked)).json()["items"]
        assert (shown[0]["item_id"], shown[0]["is_hidden"]) == ("5", True)
        got = (await viewer.post("/v1/recent/get", json={"items": ["5", "1", "77"]})).json()
        assert ([item["item_id"] for item in got["items"]], got["missing"]) == (["1"], ["5", "77"])
        got = (await reviewer.post("/v1/recent/get", json={"items": ["5"]})).json()
        assert got["missing"] == []
        newest = (await viewer.post("/v1/recent/newest", json={"authors": ["8", "9"]})).json()["newest"]
        assert newest == {"8": service.clock.now_ms() - 600}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/recent/latest", {"authors": ["x"]}),
        ("/v1/recent/latest", {"authors": [2**64]}),
        ("/v1/recent/latest", {"authors": [-1]}),
        ("/v1/recent/latest", {"authors": "AAAA"}),
        ("/v1/recent/latest", {"authors": ["7"], "requester": str(2**64)}),
        ("/v1/recent/latest", {"authors": ["7"], "algorithm": "clever"}),
        ("/v1/recent/latest", {"authors": ["7"], "colour": "red"}),
        ("/v1/recent/get", {"items": []}),
    ],
)
async def test_AC_RS_042_a_call_that_is_wrong_is_refused(path: str, body: dict[str, Any]) -> None:
    async with serving_service() as service, service.client() as client:
        answer = await client.post(path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/validation")


async def test_AC_RS_045_nobody_asks_without_a_token_or_for_one_tenant_alone() -> None:
    async with serving_service() as service, service.client(tenant="acme") as client:
        assert (await client.post("/v1/recent/latest", json={"authors": ["7"]})).status_code == 403
        headers = {"Authorization": ""}
        answer = await client.post("/v1/recent/latest", json={"authors": ["7"]}, headers=headers)
        assert answer.status_code == 401


async def test_AC_RS_047_what_is_too_much_at_once_is_refused_at_once() -> None:
    async with serving_service(qps=10) as service, service.client() as client:
        calls = [client.post("/v1/recent/latest", json={"authors": ["7"]}) for _ in range(30)]
        statuses = sorted([answer.status_code for answer in await asyncio.gather(*calls)])
        assert statuses == [200] * 10 + [429] * 20
        assert service.admission.shed == 20
        service.clock.advance(500)
        many = [str(number) for number in range(4_000)]
        assert (await client.post("/v1/recent/latest", json={"authors": many})).status_code == 200
        refused = await client.post("/v1/recent/latest", json={"authors": ["7"]})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1"), "a large one costs more"


async def test_AC_RS_058_counters_equal_a_recount() -> None:
    async with serving_service() as service, service.client() as client:
        text = (await client.get("/metrics")).text
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        entities = {name: float(lines[f'gristmill_recent_entities{{type="{name}"}}']) for name in ("items", "authors")}
        assert entities == {"items": 5, "authors": 2}
        queues = [float(lines[f'gristmill_recent_entities{{type="{name}"}}']) for name in ("originals", "secondary")]
        assert queues == [3, 2]
        assert float(lines['gristmill_recent_entities{type="videos"}']) == 2
        assert float(lines["gristmill_store_ready"]) == 1
        assert float(lines["gristmill_recent_read_total"]) == 6
        stats = (await client.get("/v1/recent/stats")).json()
        assert (stats["state"], stats["engine"], stats["events"]["inserted"]) == ("ready", "numpy", 5)


async def test_AC_RS_060_every_counter_stands_at_0_before_its_first_event() -> None:
    service = Service()
    async with service.client() as client:
        text = (await client.get("/metrics")).text
        for name in (*OUTCOMES, *FACTS):
            assert f'gristmill_recent_events_total{{outcome="{name}"}} 0.0' in text
