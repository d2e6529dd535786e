"""Plans, generators, dead letters, quarantine, sources and tokens over HTTP."""

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from gristmill.domain.commit import Quarantine
from gristmill.domain.log import DeadLetter, Diagnosis, NewRecord
from tests.faces import Face, face

SOURCE = """
source: reviews
type: post/1
identity: {biz_id: "$.review.id"}
map:
  - {to: text, path: "$.review.body", required: true}
"""


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("admin", tenant="main"))
        yield made


async def bury(faced: Face, *, headers: dict[str, str] | None = None, topic: str = "items") -> DeadLetter:
    await faced.store.log.append(topic, [NewRecord(b"\xff{}", headers=headers or {})])
    [delivery] = await faced.store.log.claim(topic, "items", owner="me", limit=1, lease_ms=1_000)
    await faced.store.log.reject(delivery.lease, Diagnosis("ValueError", "no", history=((1, "me", "no"),)))
    return (await faced.store.log.dead_letters())[-1]


async def test_plans_and_generators_are_listed(faced: Face) -> None:
    [loud, slow] = (await faced.client.get("/v1/plans")).json()["plans"]
    assert (loud["key"], loud["generators"], [task["name"] for task in loud["tasks"]]) == ("loud", ["items"], ["shout"])
    assert (await faced.client.get("/v1/plans/slow")).json() == slow
    missing = await faced.client.get("/v1/plans/lod")
    assert (missing.status_code, "'loud'" in missing.json()["detail"]) == (404, True)
    await faced.client.post("/v1/items", json={"text": "a"})
    [generator] = (await faced.client.get("/v1/generators")).json()["generators"]
    assert (generator["type"], generator["undelivered"]) == ("items", 1)


async def test_a_dead_letter_is_shown_and_requeued(faced: Face) -> None:
    number = (await bury(faced)).dead_letter_id
    [listed] = (await faced.client.get("/v1/dead-letters")).json()["dead_letters"]
    assert (listed["error_class"], listed["value"]) == ("ValueError", "\\xff{}")
    assert (await faced.client.get(f"/v1/dead-letters/{number}")).json() == listed
    assert (await faced.client.post(f"/v1/dead-letters/{number}/requeue")).json()["status"] == "requeued"
    assert (await faced.client.post(f"/v1/dead-letters/{number}/requeue")).status_code == 404
    assert (await faced.client.get("/v1/dead-letters")).json() == {"dead_letters": [], "next": None}


async def test_a_dropped_dead_letter_is_gone(faced: Face) -> None:
    number = (await bury(faced)).dead_letter_id
    with capture_logs() as told:
        answer = await faced.client.post(f"/v1/dead-letters/{number}/drop?reason=a+test")
    assert answer.json()["status"] == "dropped"
    assert [line["reason"] for line in told if line["event"] == "dead letter"] == ["a test"]
    assert (await faced.client.get(f"/v1/dead-letters/{number}")).status_code == 404


async def test_dead_letters_are_paged_and_hidden_from_other_tenants(faced: Face) -> None:
    for tenant in ("main", "acme", "main"):
        await bury(faced, headers={"tenant": tenant})
    await bury(faced, headers={"tenant": "acme"}, topic="elsewhere")
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await faced.client.get("/v1/dead-letters", params={"limit": 1, "cursor": cursor})).json()
        seen += [letter["dead_letter_id"] for letter in page["dead_letters"]]
        cursor = page["next"]
    # On a topic that others write to, a header decides nothing.
    assert seen == ["1", "3", "4"]
    assert (await faced.client.post("/v1/dead-letters/2/requeue")).status_code == 404
    theirs = await faced.token("operator", tenant="acme")
    assert (await faced.client.post("/v1/dead-letters/2/requeue", headers=theirs)).status_code == 200


async def test_the_quarantine_is_listed(faced: Face) -> None:
    entry = Quarantine(
        lease=None, source="s", generator="g", position=3, raw=b"{", reason="json", violations=("a: b",), at_ms=5
    )
    await faced.store.state.commit([entry])
    [shown] = (await faced.client.get("/v1/quarantine")).json()["quarantine"]
    assert (shown["raw"], shown["violations"], shown["position"]) == ("{", ["a: b"], "3")
    theirs = await faced.token("admin", tenant="acme")
    assert (await faced.client.get("/v1/quarantine", headers=theirs)).json()["quarantine"] == []


async def test_a_source_is_published_and_maps_what_is_published_for_it(faced: Face) -> None:
    published = await faced.client.post("/v1/sources", json={"definition": SOURCE})
    assert published.status_code == 200, published.text
    assert published.json()["revision"] == 1
    [listed] = (await faced.client.get("/v1/sources")).json()["sources"]
    assert (listed["name"], listed["definition"]) == ("reviews", SOURCE)
    stale = await faced.client.post("/v1/sources", json={"definition": SOURCE + "# x\n", "expected_revision": 0})
    assert stale.status_code == 409
    body = {"review": {"id": "r-1", "body": "fine"}}
    answer = await faced.client.post("/v1/items?source=reviews", json=body)
    assert (answer.status_code, answer.json()["input_id"]) == (202, "r-1"), answer.text
    [delivery] = await faced.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
    assert getattr(faced.decode(delivery, faced.native), "text", "") == "fine"
    wrong = await faced.client.post("/v1/items?source=reviews", json={"text": "a"})
    assert wrong.status_code == 400


async def test_a_wrong_source_is_refused_with_its_fault(faced: Face) -> None:
    answer = await faced.client.post("/v1/sources", json={"definition": "source: [\n"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/definition")


async def test_tokens_are_handed_out_within_a_tenant(faced: Face) -> None:
    made = await faced.client.post("/v1/tokens", json={"name": "service", "role": "operator"})
    assert made.status_code == 201
    token_id = made.json()["token_id"]
    assert made.json()["token"].startswith(f"gm_{token_id}_")
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    assert (await faced.client.post("/v1/items", json={"text": "a"}, headers=headers)).status_code == 202
    listed = (await faced.client.get("/v1/tokens")).json()["tokens"]
    assert [one["tenant"] for one in listed] == ["main", "main"]
    assert "secret" not in str(listed)
    assert (await faced.client.post(f"/v1/tokens/{token_id}/revoke")).json()["revoked_at"]
    assert (await faced.client.post(f"/v1/tokens/{token_id}/revoke")).status_code == 409
    for tenant in ("acme", "*"):
        body = {"name": "x", "role": "viewer", "tenant": tenant}
        assert (await faced.client.post("/v1/tokens", json=body)).status_code == 403
    theirs = await faced.token("admin", tenant="acme")
    assert (await faced.client.post(f"/v1/tokens/{token_id}/revoke", headers=theirs)).status_code == 404
