"""Publishing over HTTP: what is answered is durable, what is wrong is pointed at, what is repeated happens once."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gristmill.domain.ids import ItemId
from tests.faces import Face, face

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("operator", tenant="main"))
        yield made


async def test_a_published_item_is_in_the_log_and_has_an_id(faced: Face) -> None:
    answer = await faced.client.post("/v1/items", json={"id": "c-1", "text": "hello", "author": "ann"})
    assert answer.status_code == 202
    published = answer.json()
    assert (published["status"], published["input_id"]) == ("accepted", "c-1")
    item_id = ItemId(int(published["item_id"]))
    assert answer.headers["location"] == f"/v1/items/{item_id}"
    assert await faced.store.state.resolve("items", ["c-1"]) == {"c-1": item_id}
    assert await faced.store.log.end("items") == 1
    shown = (await faced.client.get(f"/v1/items/{item_id}")).json()
    assert (shown["status"], shown["input_id"], shown["text"]) == ("pending", "c-1", "")


async def test_the_same_id_is_the_same_item(faced: Face) -> None:
    answers = [await faced.client.post("/v1/items", json={"id": "c-1", "text": text}) for text in ("a", "b")]
    assert answers[0].json()["item_id"] == answers[1].json()["item_id"]
    assert await faced.store.log.end("items") == 2


async def test_an_item_without_an_id_is_called_by_its_item_id(faced: Face) -> None:
    published = (await faced.client.post("/v1/items", json={"text": "hello"})).json()
    assert published["input_id"] == published["item_id"]
    resolved = await faced.store.state.resolve("items", [published["input_id"]])
    assert resolved == {published["input_id"]: int(published["item_id"])}
    [delivery] = await faced.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
    mapped = faced.decode(delivery, faced.native)
    assert getattr(mapped, "input_id", "") == published["input_id"]


async def test_a_record_carries_the_trace_of_its_call_unless_it_is_nonsense(faced: Face) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for header in (f"{trace}-and-more", "nonsense"):
        answer = await faced.client.post("/v1/items", json={"text": "hello"}, headers={"traceparent": header})
        assert answer.status_code == 202
    traced, other = await faced.store.log.claim("items", "items", owner="me", limit=2, lease_ms=1_000)
    assert traced.headers["traceparent"] == trace
    assert "traceparent" not in other.headers


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"", ""),
        (b"{", ""),
        (b"[]", ""),
        (b'"x"', ""),
        (b"\xff", ""),
        (b'{"text": ""}', "/text"),
        (b'{"text": 1}', "/text"),
        (b'{"id": 1}', "/text"),
        (b'{"text": "a\\u0000b"}', "/text"),
        (b'{"text": "a\x00b"}', ""),
        (b'{"text": "\\ud800"}', ""),
        (b'{"text": "a", "id": {}}', "/id"),
        (b'{"text": "a", "created_at": "soon"}', "/created_at"),
        (b"[" * 100_000, ""),
        (b'{"text": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}", ""),
        (json.dumps({"text": "a", "id": "i" * 9_000}).encode(), "/id"),
    ],
)
async def test_what_is_wrong_with_an_item_is_pointed_at(faced: Face, body: bytes, pointer: str) -> None:
    answer = await faced.client.post("/v1/items", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert pointer in [error["pointer"] for error in answer.json()["errors"]], answer.text
    assert await faced.store.log.end("items") == 0


async def test_only_json_is_taken(faced: Face) -> None:
    assert (await faced.client.post("/v1/items", content=b'{"text": "a"}')).status_code == 415
    form = await faced.client.post("/v1/items", data={"text": "a"})
    assert form.json()["type"] == "/problems/unsupported-media-type"
    assert (await faced.client.post("/v1/items:batch", json={"text": "a"})).status_code == 415


async def test_a_body_above_its_bound_is_refused_before_it_is_read(faced: Face) -> None:
    answer = await faced.client.post("/v1/items", json={"text": "a" * (3 * 1024 * 1024)})
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536

    answer = await faced.client.post("/v1/items", content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


async def test_a_batch_tells_what_became_of_each_line(faced: Face) -> None:
    body = b'{"id": "a", "text": "one"}\n\n{"id": "b"}\nnot json\n{"id": "a", "text": "two"}\r\n'
    batch = (await faced.client.post("/v1/items:batch", content=body, headers=NDJSON)).json()
    assert (batch["accepted"], batch["refused"]) == (2, 2)
    assert [(one["line"], one["status"]) for one in batch["items"]] == [
        (1, "accepted"),
        (3, "refused"),
        (4, "refused"),
        (5, "accepted"),
    ]
    assert batch["items"][0]["item_id"] == batch["items"][3]["item_id"]
    assert batch["items"][1]["errors"][0]["pointer"] == "/text"
    assert await faced.store.log.end("items") == 2


async def test_a_batch_has_bounds(faced: Face) -> None:
    line = b'{"text": "a"}\n'
    assert (await faced.client.post("/v1/items:batch", content=line * 1_000, headers=NDJSON)).status_code == 200
    assert (await faced.client.post("/v1/items:batch", content=line * 1_001, headers=NDJSON)).status_code == 413
    assert (await faced.client.post("/v1/items:batch", content=b"\n\n", headers=NDJSON)).status_code == 400
    big = b'{"text": "' + b"a" * (11 * 1024 * 1024) + b'"}'
    assert (await faced.client.post("/v1/items:batch", content=big, headers=NDJSON)).status_code == 413


async def test_a_key_makes_a_repeated_call_happen_once(faced: Face) -> None:
    async def publish(key: str, **body: Any) -> tuple[int, Any]:
        answer = await faced.client.post("/v1/items", json=body, headers={"Idempotency-Key": key})
        return answer.status_code, answer.json()

    first = await publish("k", text="a")
    assert await publish("k", text="a") == first
    assert await faced.store.log.end("items") == 1
    status, document = await publish("k", text="b")
    assert (status, document["type"]) == (409, "/problems/key-reused")
    faced.client.headers.update(await faced.token("operator", tenant="main"))
    other = await publish("k", text="b")
    assert other[1]["item_id"] != first[1]["item_id"]
    for key in ("", "k" * 129, "k\x7f"):
        assert (await publish(key, text="a"))[0] == 400


async def test_a_batch_is_repeated_once_too(faced: Face) -> None:
    headers = {**NDJSON, "Idempotency-Key": "k"}
    body = b'{"text": "one"}\n{"id": "b", "text": "two"}\n'
    first = (await faced.client.post("/v1/items:batch", content=body, headers=headers)).json()
    assert (await faced.client.post("/v1/items:batch", content=body, headers=headers)).json() == first
    assert await faced.store.log.end("items") == 2
    # Another path is another call.
    answer = await faced.client.post("/v1/items", json={"text": "one"}, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 409


async def test_a_token_publishes_for_its_own_tenant(faced: Face) -> None:
    answer = await faced.client.post("/v1/items?tenant=acme", json={"id": "a", "text": "a"})
    assert answer.status_code == 403
    faced.client.headers.update(await faced.token("operator", tenant="acme"))
    item_id = int((await faced.client.post("/v1/items", json={"id": "a", "text": "a"})).json()["item_id"])
    assert await faced.store.state.resolve("items", ["a"], tenant="acme") == {"a": item_id}
    [delivery] = await faced.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
    assert getattr(faced.decode(delivery, faced.native), "tenant", "") == "acme"
    faced.client.headers.update(await faced.token("viewer", tenant="main"))
    assert (await faced.client.get(f"/v1/items/{item_id}")).status_code == 404


async def test_an_unknown_source_is_not_found(faced: Face) -> None:
    answer = await faced.client.post("/v1/items?source=nowhere", json={"text": "a"})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
