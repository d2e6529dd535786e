"""The dead-letter desk over HTTP: by cause, tried, mended, closed together, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gristmill.api.reading import letters as reading
from gristmill.domain.errors import OutcomeUnknown
from gristmill.domain.log import Diagnosis, NewRecord
from tests.faces import Face, face


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("operator", tenant="main"))
        yield made


async def bury(
    faced: Face,
    value: bytes = b'{"text": "break"}',
    *,
    error: str = "no item 17",
    plans: tuple[str, ...] = ("loud",),
    topic: str = "items",
    group: str = "items",
    tenant: str = "main",
) -> int:
    headers = {"tenant": tenant, "input-id": "c-1"}
    await faced.store.log.append(topic, [NewRecord(value, key="k", headers=headers)])
    [delivery] = await faced.store.log.claim(topic, group, owner="me", limit=1, lease_ms=1_000)
    await faced.store.log.reject(delivery.lease, Diagnosis("ValueError", error, plans, "shout"))
    return (await faced.store.log.dead_letters(limit=10_000))[-1].dead_letter_id


async def post(faced: Face, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = await faced.client.post(f"/v1/{path}", json=body)
    return answer.status_code, answer.json()


async def open_numbers(faced: Face) -> list[int]:
    return [letter.dead_letter_id for letter in await faced.store.log.dead_letters(limit=10_000)]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("no item 17", "no item 2026113000000000042", True),
        ("run 0192a4c6-7def-7abc-8123-0123456789ab failed", "run 0192a4c6-1234-7fff-9aaa-a123456789ab failed", True),
        ("user c-17 is gone", "user post_1a2b3c is gone", True),
        ("host 'a' away", "host 'b' away", True),
        ("took 1.5 s", "took 22 s", True),
        ("no item 17", "no user 17", False),
    ],
)
async def test_numbers_and_ids_do_not_split_a_cause(faced: Face, one: str, other: str, is_same: bool) -> None:
    await bury(faced, error=one)
    await bury(faced, error=other)
    found = (await faced.client.get("/v1/dead-letter-causes")).json()
    assert [cause["count"] for cause in found["causes"]] == ([2] if is_same else [1, 1])
    assert found["complete"]
    assert found["causes"][0] | {"error": "", "cause": ""} == {
        "cause": "",
        "count": 2 if is_same else 1,
        "plans": ["loud"],
        "task": "shout",
        "error_class": "ValueError",
        "error": "",
        "first_failed_at": found["causes"][0]["first_failed_at"],
        "last_failed_at": found["causes"][0]["last_failed_at"],
        "newest": "2" if is_same else found["causes"][0]["newest"],
    }


async def test_a_record_is_tried_with_another_payload_and_nothing_is_written(faced: Face) -> None:
    number = await bury(faced)
    status, as_it_is = await post(faced, f"dead-letters/{number}/try")
    [run] = as_it_is["runs"]
    assert (status, run["status"], run["error"]) == (200, "failed", "ValueError: broken on purpose")
    status, mended = await post(faced, f"dead-letters/{number}/try", payload='{"text": "hi!"}')
    [run] = mended["runs"]
    assert (run["status"], [label["val"] for label in run["labels"]], run["fields"]) == (
        "done",
        ["loud"],
        {"shout": {"text": "HI!"}},
    )
    assert await open_numbers(faced) == [number]
    assert await faced.store.log.topics() == ["items"]
    assert await faced.store.front.listing.items_before(None, limit=9) == []
    assert (await faced.client.get("/v1/closed-dead-letters")).json()["closed"] == []


async def test_a_payload_that_is_no_item_is_told_with_every_fault_and_runs_nothing(faced: Face) -> None:
    number = await bury(faced)
    status, tried = await post(faced, f"dead-letters/{number}/try", payload='{"text": 7}')
    assert (status, tried["runs"], [fault["pointer"] for fault in tried["faults"]]) == (200, [], ["/text"])
    for payload in ('{"text": 7}', "{", ""):
        status, told = await post(faced, f"dead-letters/{number}/edit", payload=payload)
        assert (status, told["type"]) == (400, "/problems/validation"), payload
    assert await open_numbers(faced) == [number]
    assert await faced.store.log.topics() == ["items"]


async def test_plans_that_are_not_loaded_are_named(faced: Face) -> None:
    number = await bury(faced, b'{"text": "hi"}', plans=("loud", "gone"))
    _, tried = await post(faced, f"dead-letters/{number}/try")
    assert ([run["plan"] for run in tried["runs"]], tried["unknown_plans"]) == (["loud"], ["gone"])


async def test_a_plan_that_does_not_end_is_cut_off(faced: Face) -> None:
    number = await bury(faced, b'{"text": "hi"}', plans=("slow",))
    status, told = await post(faced, f"dead-letters/{number}/try", timeout_ms=20)
    assert (status, told["type"]) == (504, "/problems/deadline-exceeded")


async def test_P25_an_edited_record_goes_back_to_its_plans_alone_and_the_original_is_kept(faced: Face) -> None:
    number = await bury(faced)
    status, told = await post(faced, f"dead-letters/{number}/edit", payload='{"text": "mended"}', reason="a typo")
    assert (status, told) == (200, {"dead_letter_id": str(number), "status": "edited"})
    assert await open_numbers(faced) == []
    [record] = [record async for part in faced.store.log.read_all("items.recovery") for record in part]
    headers = record.headers
    assert (record.value, record.key, headers["gristmill-plans"]) == (b'{"text": "mended"}', "k", "loud")
    assert (headers["gristmill-origin-topic"], headers["gristmill-origin-offset"]) == ("items", "1")
    assert (headers["tenant"], headers["gristmill-edited"]) == ("main", "1")
    [closed] = (await faced.client.get("/v1/closed-dead-letters")).json()["closed"]
    assert (closed["status"], closed["reason"], closed["actor"]) == ("edited", "a typo", "operator of main")
    detail = (await faced.client.get(f"/v1/closed-dead-letters/{closed['closing_id']}")).json()
    assert (detail["original"], detail["edited"]) == ('{"text": "break"}', '{"text": "mended"}')


async def test_a_letter_that_may_be_closed_keeps_its_trace(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    number = await bury(faced)
    drop = faced.store.log.drop

    async def lose_the_answer(dead_letter_id: int) -> bool:
        await drop(dead_letter_id)
        raise OutcomeUnknown("log")

    monkeypatch.setattr(faced.store.log, "drop", lose_the_answer)
    status, _ = await post(faced, f"dead-letters/{number}/drop")
    assert (status, await open_numbers(faced)) == (503, [])
    [closed] = (await faced.client.get("/v1/closed-dead-letters")).json()["closed"]
    assert (closed["status"], closed["dead_letter_id"]) == ("dropped", str(number))


async def test_an_edit_that_changes_nothing_is_refused(faced: Face) -> None:
    number = await bury(faced)
    status, told = await post(faced, f"dead-letters/{number}/edit", payload='{"text": "break"}')
    assert (status, told["errors"][0]["message"]) == (400, "is as it was: requeue the letter instead")


async def test_a_record_of_somebody_unknown_cannot_be_edited(faced: Face) -> None:
    number = await bury(faced, group="elsewhere")
    for act in ("try", "edit"):
        status, told = await post(faced, f"dead-letters/{number}/{act}", payload='{"text": "a"}')
        assert (status, told["type"], "'elsewhere'" in told["detail"]) == (409, "/problems/conflict", True)
    assert await open_numbers(faced) == [number]


async def test_a_cause_is_closed_in_steps_as_it_was_shown(faced: Face) -> None:
    for _ in range(5):
        await bury(faced)
    [cause] = (await faced.client.get("/v1/dead-letter-causes")).json()["causes"]
    path = f"dead-letter-causes/{cause['cause']}"
    await bury(faced)
    assert (await post(faced, f"{path}/drop", count=5, newest="5"))[0] == 400
    assert (await post(faced, f"{path}/drop", count=4, newest="5", reason="tests"))[0] == 409
    assert await post(faced, f"{path}/drop", count=5, newest="5", reason="tests", limit=2) == (
        200,
        {"closed": 2, "left": 3},
    )
    assert await post(faced, f"{path}/requeue", count=3, newest="5") == (200, {"closed": 3, "left": 0})
    assert await open_numbers(faced) == [6]
    closed = (await faced.client.get("/v1/closed-dead-letters", params={"limit": 3})).json()
    assert [one["status"] for one in closed["closed"]] == ["requeued"] * 3
    older = (await faced.client.get("/v1/closed-dead-letters", params={"cursor": closed["next"]})).json()
    assert [(one["status"], one["reason"]) for one in older["closed"]] == [("dropped", "tests")] * 2
    assert older["next"] is None


async def test_what_somebody_else_had_closed_is_not_told_as_closed_by_us(faced: Face) -> None:
    number = await bury(faced)
    real = faced.store.log.drop

    async def drop_twice(dead_letter_id: int) -> bool:
        await real(dead_letter_id)
        return await real(dead_letter_id)

    faced.store.log.drop = drop_twice  # type: ignore[method-assign]
    assert (await faced.client.post(f"/v1/dead-letters/{number}/drop?reason=x")).status_code == 409
    assert (await faced.client.get("/v1/closed-dead-letters")).json()["closed"] == []


async def test_others_see_nothing_of_a_tenant_at_the_desk(faced: Face) -> None:
    number = await bury(faced, tenant="acme")
    theirs = await faced.token("operator", tenant="acme")
    for act in ("try", "edit"):
        assert (await post(faced, f"dead-letters/{number}/{act}", payload='{"text": "a"}'))[0] == 404
    body = json.dumps({"payload": '{"text": "a"}'})
    json_type = {"Content-Type": "application/json"}
    answer = await faced.client.post(f"/v1/dead-letters/{number}/edit", content=body, headers=theirs | json_type)
    assert answer.status_code == 200
    assert (await faced.client.get("/v1/closed-dead-letters")).json()["closed"] == []
    assert (await faced.client.get("/v1/closed-dead-letters/1")).status_code == 404
    assert (await faced.client.get("/v1/closed-dead-letters/1", headers=theirs)).status_code == 200


async def test_a_list_of_large_letters_comes_in_pages_of_bounded_size(
    faced: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE_BYTES_MAX", 200_000)
    for _ in range(12):
        await bury(faced, b'{"text": "' + b"x" * 90_000 + b'"}')
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = await faced.client.get("/v1/dead-letters", params={"limit": 200, "cursor": cursor})
        assert len(answer.content) < 200_000 + 80_000
        seen += [letter["dead_letter_id"] for letter in answer.json()["dead_letters"]]
        cursor = answer.json()["next"]
    assert seen == [str(number) for number in range(1, 13)]


SOURCE = """
source: reviews
type: post/1
identity: {biz_id: "$.review.id"}
map:
  - {to: text, path: "$.review.body", required: true}
"""


async def test_a_payload_is_checked_by_the_mapping_of_its_source(faced: Face) -> None:
    admin = await faced.token("admin", tenant="main")
    assert (await faced.client.post("/v1/sources", json={"definition": SOURCE}, headers=admin)).status_code == 200
    body = {"review": {"id": "r-1", "body": "break"}}
    assert (await faced.client.post("/v1/items?source=reviews", json=body)).status_code == 202
    [delivery] = await faced.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
    await faced.store.log.reject(delivery.lease, Diagnosis("ValueError", "no", ("loud",), "shout"))
    native = '{"text": "in our own shape"}'
    status, told = await post(faced, "dead-letters/1/edit", payload=native)
    assert (status, "review" in str(told["errors"])) == (400, True), told
    mended = '{"review": {"id": "r-1", "body": "fine!"}}'
    [run] = (await post(faced, "dead-letters/1/try", payload=mended))[1]["runs"]
    assert run["fields"] == {"shout": {"text": "FINE!"}}
    assert (await post(faced, "dead-letters/1/edit", payload=mended))[0] == 200
