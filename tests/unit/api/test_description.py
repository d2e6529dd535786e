"""The description of the API is frozen, sound, and says of every operation who may call it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gristmill.api.describe import describe, render
from gristmill.api.desk.causes import compute_fingerprint
from gristmill.api.desk.closing import make_closing
from gristmill.api.routes import OPERATIONS
from gristmill.deliver.definitions import publish_subscription, read_subscription
from gristmill.domain.front.access import EVERY_TENANT, ROLES, Principal, Role
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.domain.log import DeadLetter, Diagnosis, NewRecord
from gristmill.domain.run import Event
from gristmill.testing.contracts.backend import run_id_of
from tests.faces import Face, face

FROZEN = Path(__file__).parents[3] / "docs" / "openapi.json"
DOCUMENT: dict[str, Any] = json.loads(render(describe(OPERATIONS)))
SOMEBODY = Principal("", "me", "admin", EVERY_TENANT)
SPAM = AppliedLabel("spam", 0.9, "too many links", (), "rules", "screening", "1")

OF_A_TENANT = ("item_id", "dead_letter_id", "closing_id", "token_id", "subscription")
"""Parameters of paths that name somebody's own things."""

Described = tuple[str, str, dict[str, Any]]
"""Path, method, and what the document says of it."""


def operations() -> list[Described]:
    return [(path, method, one) for path, item in DOCUMENT["paths"].items() for method, one in item.items()]


def test_the_frozen_description_is_that_of_the_code() -> None:
    """Run `python -m tests.unit.api.test_description` to freeze it anew, and think of who calls the API."""
    assert FROZEN.read_bytes() == render(describe(OPERATIONS))


def test_every_operation_has_an_id_of_its_own() -> None:
    ids = [one["operationId"] for _, _, one in operations()]
    assert len(ids) == len(set(ids)) == len(OPERATIONS)


def test_every_operation_is_open_to_everybody_or_to_roles() -> None:
    for _, _, one in operations():
        assert ("x-roles" in one) == bool(one["security"]), one["operationId"]
    opened = {one["operationId"] for _, _, one in operations() if "x-roles" not in one}
    assert opened == {"startupz", "livez", "readyz", "getOpenApi", "getProblemType"}


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    """With an item, a dead letter and a token of each of two tenants, and a subscription of one."""
    async with face() as made:
        for number, tenant in ((1, "main"), (2, "acme")):
            item = Item(ItemId(number), source="src", input_id="x", text="x", tenant=tenant)
            told = (Event("run.ended", ItemId(number), run_id_of(number), 1, {}),)
            await made.add_items(number, item=item, labels=(SPAM,), events=told)
            await made.store.log.append("items", [NewRecord(b"{}", headers={"tenant": tenant})])
            [delivery] = await made.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
            await made.store.log.reject(delivery.lease, Diagnosis("ValueError", "no"))
        closing = make_closing(made.services.desk, SOMEBODY, await a_letter(made), "dropped", reason="x")
        await made.store.closings.add([closing])
        await publish_subscription(
            made.store.definitions,
            made.store.deliveries,
            made.store.changes,
            read_subscription(f"subscription: desk\nto: {{webhook: '{made.receivers.add('desk')}'}}\n", file="x"),
            actor="me",
            clock=made.clock,
        )
        yield made


async def a_letter(faced: Face) -> DeadLetter:
    return (await faced.store.log.dead_letters())[0]


CALLERS: list[tuple[Role | None, str]] = [(None, ""), *((role, "main") for role in ROLES), ("admin", "acme")]


@pytest.mark.parametrize("caller", CALLERS, ids=[f"{role}-{tenant}" for role, tenant in CALLERS])
@pytest.mark.parametrize("operation", operations(), ids=[one["operationId"] for _, _, one in operations()])
async def test_a_caller_may_do_what_the_description_says(
    faced: Face, operation: Described, caller: tuple[Role | None, str]
) -> None:
    path, method, described = operation
    role, tenant = caller
    headers = {} if role is None else await faced.token(role, tenant=tenant)
    answer = await call(faced, path, method, described, headers)
    roles: list[str] | None = described.get("x-roles")
    if roles is not None and role is None:
        assert answer.status_code == 401
    elif roles is not None and role not in roles:
        assert answer.status_code == 403
    elif tenant == "acme" and any(f"{{{name}}}" in path for name in OF_A_TENANT):
        assert answer.status_code == 404
    elif tenant == "acme" and described["operationId"] in (
        "publishSource",
        "publishSubscription",
        "listGenerators",
        *("getGenerator", "pauseGenerator", "resumeGenerator", "weighGenerator", "seekGenerator"),
        "metrics",
    ):
        # What the examples publish is for the tenant `main`, and so are numbers of the whole installation.
        assert answer.status_code == 403
    else:
        assert str(answer.status_code) in described["responses"], answer.text
        assert answer.status_code < 400, answer.text
        if tenant == "acme":
            assert '"tenant":"main"' not in answer.text


async def call(
    faced: Face, path: str, method: str, described: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    """Call an operation as its example says, on things of the tenant `main`."""
    victim = await faced.token("viewer", tenant="main")
    token_id = victim["Authorization"].split("_")[1]
    values = {
        "item_id": "1",
        "dead_letter_id": "1",
        "closing_id": "1",
        "cause": compute_fingerprint(await a_letter(faced)),
        "plan": "loud",
        "name": "validation",
        "token_id": token_id,
        "subscription": "desk",
        "generator": "items",
    }
    content: str | None = None
    body = described.get("requestBody")
    if body is not None:
        [(media_type, shape)] = body["content"].items()
        content, headers = json.dumps(shape["example"]), {**headers, "Content-Type": media_type}
    return await faced.client.request(method.upper(), path.format(**values), content=content, headers=headers)


async def test_the_description_is_served(faced: Face) -> None:
    assert (await faced.client.get("/openapi.json")).json() == DOCUMENT


async def test_a_token_for_every_tenant_sees_them_all(faced: Face) -> None:
    headers = await faced.token("viewer", tenant=EVERY_TENANT)
    items = (await faced.client.get("/v1/items", headers=headers)).json()["items"]
    assert {item["tenant"] for item in items} == {"main", "acme"}


if __name__ == "__main__":
    FROZEN.write_bytes(render(describe(OPERATIONS)))
