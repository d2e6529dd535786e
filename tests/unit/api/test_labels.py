"""People negate and apply labels; what they said stays, and outlasts the plans."""

from collections.abc import AsyncIterator

import pytest

from gristmill.domain.item import AppliedLabel
from gristmill.testing.contracts.backend import run_id_of
from tests.faces import Face, face

SPAM = AppliedLabel("spam", 0.9, "too many links", (), "rules", "screening", "1")


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("reviewer", tenant="main"))
        await made.add_items(1, labels=(SPAM,))
        yield made


async def test_a_label_is_negated_with_actor_and_reason(faced: Face) -> None:
    answer = await faced.client.post("/v1/items/1/labels:negate", json={"val": "spam", "reason": "a quote"})
    [label] = answer.json()["labels"]
    assert (label["negated"], label["actor"], label["said"]) == (True, "reviewer of main", "a quote")
    assert label["reason"] == "too many links"
    assert (await faced.client.get("/v1/items?label=spam")).json()["items"] == []
    [found] = (await faced.client.get("/v1/items?label=-spam")).json()["items"]
    assert found["item_id"] == "1"
    [event] = [e for e in (await faced.client.get("/v1/items/1/events")).json()["events"] if "label" in e["kind"]]
    assert (event["kind"], event["body"]["actor"]) == ("label.negated", "reviewer of main")


async def test_a_negated_label_stays_so_when_a_plan_gives_it_again(faced: Face) -> None:
    await faced.client.post("/v1/items/1/labels:negate", json={"val": "spam", "reason": "a quote", "actor": "ann"})
    await faced.add_items(1, run_id=run_id_of(2), position=2, labels=(SPAM,))
    [label] = (await faced.client.get("/v1/items/1")).json()["labels"]
    assert (label["negated"], label["actor"]) == (True, "ann by reviewer of main")


async def test_a_label_is_applied_and_applied_again_after_a_negation(faced: Face) -> None:
    for path, val in (("negate", "spam"), ("apply", "spam"), ("apply", "hateful")):
        body = {"val": val, "reason": "looked at it"}
        assert (await faced.client.post(f"/v1/items/1/labels:{path}", json=body)).status_code == 200
    labels = (await faced.client.get("/v1/items/1")).json()["labels"]
    assert [(one["val"], one["negated"], one["task"]) for one in labels] == [
        ("hateful", False, "person"),
        ("spam", False, "rules"),
    ]


async def test_an_edit_of_what_has_changed_meanwhile_is_refused(faced: Face) -> None:
    etag = (await faced.client.get("/v1/items/1")).headers["etag"]
    body = {"val": "spam", "reason": "a quote"}
    first = await faced.client.post("/v1/items/1/labels:negate", json=body, headers={"If-Match": etag})
    assert first.status_code == 200
    second = await faced.client.post("/v1/items/1/labels:apply", json=body, headers={"If-Match": etag})
    assert (second.status_code, second.json()["type"]) == (412, "/problems/precondition-failed")
    third = await faced.client.post("/v1/items/1/labels:apply", json=body, headers={"If-Match": first.headers["etag"]})
    assert third.status_code == 200


async def test_half_a_surrogate_pair_is_no_reason(faced: Face) -> None:
    body = b'{"val": "spam", "reason": "\\ud800"}'
    headers = {"Content-Type": "application/json"}
    assert (await faced.client.post("/v1/items/1/labels:negate", content=body, headers=headers)).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("1/labels:negate", {"val": "other", "reason": "x"}, 409),
        ("2/labels:negate", {"val": "spam", "reason": "x"}, 404),
        ("1/labels:negate", {"val": "!hide", "reason": "x"}, 400),
        ("1/labels:negate", {"val": "spam"}, 400),
        ("1/labels:negate", {"val": "spam", "reason": ""}, 400),
        ("1/labels:apply", {"val": "spam", "reason": "a\u0000b"}, 400),
        ("1/labels:apply", {"val": "spam", "reason": "x", "score": 1.5}, 400),
        ("1/labels:apply", {"val": "spam", "reason": "x", "score": "NaN"}, 400),
    ],
)
async def test_what_cannot_be_said_is_refused(faced: Face, path: str, body: object, status: int) -> None:
    assert (await faced.client.post(f"/v1/items/{path}", json=body)).status_code == status
    assert await faced.store.front.facts.of([1]) == {}  # type: ignore[list-item]
