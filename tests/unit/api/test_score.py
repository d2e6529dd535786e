"""A verdict at once: what a plan finds, within its time, and nothing stored unless asked."""

from collections.abc import AsyncIterator

import pytest

from tests.faces import Face, face


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("operator", tenant="main"))
        yield made


async def test_a_plan_is_run_and_nothing_is_stored(faced: Face) -> None:
    answer = await faced.client.post("/v1/score", json={"item": {"text": "hey!"}})
    assert answer.status_code == 200
    scored = answer.json()
    assert (scored["plan"], scored["status"], scored["item_id"]) == ("loud", "done", None)
    assert [(label["val"], label["evidence"]) for label in scored["labels"]] == [("loud", ["!"])]
    assert scored["fields"] == {"shout": {"text": "HEY!"}}
    assert [(task["task"], task["status"]) for task in scored["tasks"]] == [("shout", "done")]
    assert await faced.store.log.topics() == []
    assert (await faced.store.state.counts())["items"] == 0


async def test_a_stored_score_is_published(faced: Face) -> None:
    scored = (await faced.client.post("/v1/score", json={"item": {"id": "a", "text": "hey!"}, "store": True})).json()
    assert await faced.store.state.resolve("items", ["a"]) == {"a": int(scored["item_id"])}
    assert await faced.store.log.end("items") == 1


async def test_a_failed_task_is_told(faced: Face) -> None:
    scored = (await faced.client.post("/v1/score", json={"item": {"text": "break"}})).json()
    assert scored["status"] == "failed"
    assert "broken on purpose" in scored["error"]


async def test_what_takes_too_long_is_given_up(faced: Face) -> None:
    answer = await faced.client.post("/v1/score", json={"item": {"text": "a"}, "plan": "slow", "timeout_ms": 5})
    assert (answer.status_code, answer.json()["type"]) == (504, "/problems/deadline-exceeded")


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 400, ""),
        ({"item": {}}, 400, "/text"),
        ({"item": []}, 400, ""),
        ({"item": {"text": "a"}, "timeout_ms": 0}, 400, "/timeout_ms"),
        ({"item": {"text": "a"}, "odd": 1}, 400, ""),
        ({"item": {"text": "a"}, "plan": "lod"}, 404, None),
        ({"item": {"text": "a"}, "source": "x"}, 404, None),
    ],
)
async def test_what_cannot_be_scored_is_refused(faced: Face, body: object, status: int, pointer: str | None) -> None:
    answer = await faced.client.post("/v1/score", json=body)
    assert answer.status_code == status, answer.text
    if pointer is not None:
        assert pointer in [error["pointer"] for error in answer.json()["errors"]], answer.text
