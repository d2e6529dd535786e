"""Whatever comes in over HTTP, it is answered with what the description lists, and never with a failure of ours."""

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gristmill.domain.item import AppliedLabel
from tests.faces import Face, face
from tests.unit.api.test_description import DOCUMENT, Described, operations

EXAMPLES_MAX = 20
BROKEN_REQUESTS = 3_000
SPAM = AppliedLabel("spam", 0.9, "too many links", (), "rules", "screening", "1")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


@schemathesis.serializer("application/x-ndjson")
def to_lines(_: Any, value: Any) -> bytes:
    return b"\n".join([json.dumps(value).encode()] * 3)


@pytest.mark.parametrize("described", operations(), ids=[one["operationId"] for _, _, one in operations()])
def test_no_generated_call_fails(described: Described) -> None:
    path, method, _ = described
    operation = SCHEMA[path][method.upper()]
    with asyncio.Runner() as runner:
        opened = face()
        faced = runner.run(opened.__aenter__())
        runner.run(faced.add_items(1, 2, 3, labels=(SPAM,)))
        faced.client.headers.update(runner.run(faced.token("admin")))

        @settings(
            max_examples=EXAMPLES_MAX,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def judge(case: Any) -> None:
            answer = runner.run(send(faced, case))
            case.validate_response(answer, checks=CHECKS)

        judge()
        runner.run(opened.__aexit__(None, None, None))


async def send(faced: Face, case: Any) -> httpx.Response:
    """Send a generated call in process."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="http://face")).prepare()
    headers: dict[str, Any] = {**prepared.headers, "Authorization": faced.client.headers["authorization"]}
    content: Any = prepared.body
    return await faced.client.request(str(prepared.method), str(prepared.url), headers=headers, content=content)


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        await made.add_items(1, 2, 3, labels=(SPAM,))
        made.client.headers.update(await made.token("admin"))
        yield made


async def test_three_thousand_broken_requests_are_refused(faced: Face) -> None:
    """Good requests, each broken in one of many ways; a seed tells which."""
    draw = Random(20_261_130)
    seen: set[int] = set()
    for number in range(BROKEN_REQUESTS):
        request = broken(draw)
        answer = await faced.client.request(**request)
        assert 400 <= answer.status_code < 500, (number, request, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
        seen.add(answer.status_code)
    assert seen >= {400, 401, 404, 405, 413, 415}
    assert (await faced.client.get("/v1/items/1")).status_code == 200
    assert await faced.store.log.topics() == []
    assert await faced.store.front.facts.of([1, 2, 3]) == {}  # type: ignore[list-item]


JSON = {"Content-Type": "application/json"}
POSTS: dict[str, Any] = {
    "/v1/items": {"text": "a"},
    "/v1/score": {"item": {"text": "a"}},
    "/v1/items/1/labels:negate": {"val": "spam", "reason": "a"},
    "/v1/items/1/labels:apply": {"val": "spam", "reason": "a"},
    "/v1/sources": {"definition": "source: a"},
    "/v1/tokens": {"name": "a", "role": "viewer"},
}
WRONG_VALUES: list[Any] = [None, 0, -1, 1.5, True, [], {}, "", "\x00", "a\x00b", ["a"], {"a": "b"}, "é" * 3_000]
WRONG_BYTES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"a"',
    b"\xff\xfe",
    b'{"a": \xc3}',
    b"{}{}",
    b'{"a": NaN}',
    b"\x00",
    b"[" * 50_000,
]
WRONG_PATHS = [
    "/v1/items/x",
    "/v1/items/0/runs",
    "/v1/items/99999999999999999999",
    "/v2/items",
    "/v1/plans/none",
    "/v1",
]
WRONG_QUERIES = [
    "limit=0",
    "limit=x",
    "cursor=%00",
    "status=%F0",
    "a=b",
    "limit=1&limit=1",
    "since=now",
    "label=" + "a" * 200,
]


def broken(draw: Random) -> dict[str, Any]:
    """Return a request with something wrong in it."""
    path = draw.choice(list(POSTS))
    match draw.randrange(10):
        case 0:
            return {"method": "POST", "url": path, "content": draw.choice(WRONG_BYTES), "headers": JSON}
        case 1:  # A good body, cut short.
            whole = json.dumps(POSTS[path]).encode()
            return {"method": "POST", "url": path, "content": whole[: draw.randrange(len(whole))], "headers": JSON}
        case 2:  # Bytes of it are others.
            other = bytearray(json.dumps(POSTS[path]).encode())
            other[draw.randrange(len(other))] = draw.choice(b"\x00\x01\xff\xc0\x80")
            return {"method": "POST", "url": path, "content": bytes(other), "headers": JSON}
        case 3:  # A value has another type.
            name = draw.choice(list(POSTS[path]))
            value = draw.choice([one for one in WRONG_VALUES if not (path == "/v1/score" and one == {"a": "b"})])
            if name in ("text", "reason", "definition", "name") and isinstance(value, str) and len(value) > 1_000:
                value = None  # A long text is a good text.
            body = json.dumps({**POSTS[path], name: value}).encode()
            return {"method": "POST", "url": path, "content": body, "headers": JSON}
        case 4:
            kind = draw.choice(["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "\x7f"])
            return {"method": "POST", "url": path, "content": b"{}", "headers": {"Content-Type": kind}}
        case 5:
            return {"method": "GET", "url": draw.choice(WRONG_PATHS)}
        case 6:
            return {"method": "GET", "url": "/v1/items?" + draw.choice(WRONG_QUERIES)}
        case 7:
            token = draw.choice(["", "Bearer", "Bearer gm_a_b", "Basic x", "Bearer " + "a" * 5_000, "gm_a_b"])
            return {"method": "GET", "url": "/v1/items", "headers": {"Authorization": token}}
        case 8:
            return {"method": "POST", "url": path, "content": b"x" * 3_000_000, "headers": JSON}
        case _:
            method = draw.choice(["PUT", "DELETE", "PATCH", "TRACE", "ODD"])
            return {"method": method, "url": path, "content": b"x"}
