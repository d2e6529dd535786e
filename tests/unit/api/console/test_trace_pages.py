"""The trace of an item: why it is labelled so, and the forms by which a person says otherwise."""

import re
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from gristmill.domain.commit import Contributed
from gristmill.domain.contribution import Count, Join
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Cell, Item
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.domain.run import Effect, TaskReport
from gristmill.testing.contracts.backend import run_id_of
from tests.faces import Face, face

SPAM = AppliedLabel("spam", 0.9, "too many links", ("http://a.example",), "rules", "screening", "7")
OTHER = AppliedLabel("toxic", 0.5, "insults", (), "rules", "screening", "7")
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
PAGE = "/console/items/1"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update(await made.token("reviewer", tenant="main"))
        made.client.headers["Sec-Fetch-Site"] = "same-origin"
        yield made


async def show(faced: Face, path: str = PAGE, status: int = 200) -> str:
    answer = await faced.client.get(path)
    assert answer.status_code == status, answer.text[:2000]
    return answer.text


async def say(faced: Face, **fields: str) -> Any:
    return await faced.client.post(PAGE, data=fields)


def seen(text: str) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', text)
    assert found
    return unescape(found[1])


async def test_labels_cells_and_tasks_stand_with_their_cause(faced: Face) -> None:
    tasks = (
        TaskReport("shout", "done", 2, 10, 1_500),
        TaskReport("gone", "skipped", 0, 0, 0, "nothing to shout about"),
    )
    cell = Cell("shout", {"text": "LOUD", "labels": []}, "shout", "shouting", "3")
    await faced.add_items(1, labels=(SPAM,), tasks=tasks, cells=(cell,))
    text = await show(faced)
    assert "too many links" in text
    assert '<q><bdi dir="auto" class="said">http://a.example</bdi></q>' in text
    assert 'task <a href="#task-rules">rules</a>, operator screening, revision <span class="mono">7</span>' in text
    assert "2 attempts" in text
    assert "nothing to shout about" in text
    assert "operator shouting, revision" in text
    assert "&#34;LOUD&#34;" in text
    assert '<svg class="plan"' in text
    assert "another version" in text


async def test_a_run_on_the_plan_that_is_loaded_is_drawn_with_its_graph(faced: Face) -> None:
    await faced.add_items(1, plan="loud", tasks=(TaskReport("shout", "done", 1, 0, 5),))
    text = await show(faced)
    assert "another version" not in text
    assert "Plan loud, version 1" in text


async def test_the_run_that_the_address_names_is_drawn(faced: Face) -> None:
    await faced.add_items(1)
    await faced.add_items(1, run_id=run_id_of(2), position=2, plan="other", status="failed", error="it broke")
    assert "Run of plan other" in await show(faced)
    assert "it broke" in await show(faced)
    assert "Run of plan plan" in await show(faced, f"{PAGE}?run={run_id_of(1)}")
    assert "Run of plan other" in await show(faced, f"{PAGE}?run=nonsense")


async def test_a_run_leads_to_its_item(faced: Face) -> None:
    await faced.add_items(1)
    answer = await faced.client.get(f"/console/runs/{run_id_of(1).upper()}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?run={run_id_of(1)}#run")
    for odd in (run_id_of(2), "x", "%3Cscript%3E", "%00"):
        assert (await faced.client.get(f"/console/runs/{odd}")).status_code == 404


async def test_what_an_item_shares_leads_to_the_others(faced: Face) -> None:
    joined = Contributed(Join("exact", ("k",), "duplicate", "same as {leader}"), "keys", "keys", "1")
    counted = Contributed(Count("text", "k", 5, 60_000, 3, "spam", "again"), "keys", "keys", "1")
    await faced.add_items(1, contributions=(joined, counted))
    await faced.add_items(2, contributions=(joined,))
    theirs = Item(ItemId(3), text="theirs", tenant="acme")
    await faced.add_items(3, item=theirs, contributions=(joined,))
    text = await show(faced)
    assert "3 members" in text
    assert 'href="/console/items/2"' in text
    assert 'href="/console/items/3"' not in text
    assert "theirs" not in text
    assert "1 of 2 others are listed" in text
    assert "seen 1 of 3 times within 1 min" in text
    assert '<span class="badge plain">leads</span> <a class="mono" href="/console/items/1">' in await show(
        faced, "/console/items/2"
    )


async def test_everything_that_happened_stands_in_one_order(faced: Face) -> None:
    [offset] = await faced.store.log.append("items", [NewRecord(b'{"text": "text 1"}', headers={"from": "me"})])
    await faced.add_items(1, generator="items", position=offset, labels=(SPAM,), started_at_ms=1_800_000_000_000)
    await say(faced, act="negate", val="spam", reason="a quote")
    text = await show(faced)
    told = ["record appended to the log", "label spam does not hold", "run started"]
    places = [text.index(one) for one in told]
    assert places == sorted(places)
    assert "&#34;text&#34;: &#34;text 1&#34;" in text
    assert "from" in text


async def test_effects_are_told_with_their_mode(faced: Face) -> None:
    effect = Effect("mailer", "warn", "ann", task="warn", mode="shadow")
    await faced.add_items(1, effects=(effect,))
    text = await show(faced)
    assert "recorded only (shadow)" in text
    assert "through mailer, by task warn" in text


async def test_dead_letters_of_its_records_stand_with_their_history(faced: Face) -> None:
    log = faced.store.log
    [offset] = await log.append("items", [NewRecord(b"{}")])
    [delivery] = await log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
    history = ((5, "engine-1", "first failure"),)
    await log.reject(delivery.lease, Diagnosis("ValueError", "it broke", ("loud",), "shout", history))
    await faced.add_items(1, generator="items", position=offset, status="failed", error="it broke")
    text = await show(faced)
    assert "given up as dead letter 1" in text
    assert "first failure" in text
    assert 'href="/console/dead-letters/1"' in text


ORIGIN = {
    "gristmill-origin-topic": "items",
    "gristmill-origin-offset": "77",
    "gristmill-arrived-at-ms": "5",
    "gristmill-recovery": "2",
    "gristmill-plans": "loud",
    "gristmill-error": "ValueError: it broke",
    "gristmill-history": '[[6, "engine-1", "first failure"], [7, "engine-2", "second failure"]]',
}


async def test_a_record_that_was_set_aside_tells_its_failures(faced: Face) -> None:
    await faced.store.log.append("items.recovery", [NewRecord(b"{}", headers=ORIGIN), NewRecord(b"of others")])
    await faced.add_items(1, generator="items", position=77, status="failed")
    text = await show(faced)
    assert "set aside for attempt 3" in text
    assert text.index("first failure") < text.index("second failure")
    assert "given up" not in text


async def test_a_record_that_comes_again_says_who_has_it_and_until_when(faced: Face) -> None:
    log = faced.store.log
    due_at_ms = faced.clock.now_ms() + 90_000
    await log.append("items.recovery", [NewRecord(b"{}", headers=ORIGIN, due_at_ms=due_at_ms)])
    await faced.add_items(1, generator="items", position=77, status="failed")
    assert "waits until <time" in await show(faced)
    faced.clock.advance(90_000)
    assert "waits to be handed out, after 0 attempts" in await show(faced)
    [delivery] = await log.claim("items.recovery", "items", owner="engine-1", limit=1, lease_ms=30_000)
    assert re.search(r"under lease of .*engine-1.* until <time .* after 1 attempt\.", await show(faced))
    await log.accept([delivery.lease])
    assert "No record of it is under a lease" in await show(faced)


async def fail_with_origin(faced: Face, topic: str) -> None:
    """Give up a record whose headers say that it first stood elsewhere, and store a failed run of that place."""
    log = faced.store.log
    await log.append(topic, [NewRecord(b"{}", headers=ORIGIN)])
    [delivery] = await log.claim(topic, "items", owner="me", limit=1, lease_ms=1_000)
    await log.reject(delivery.lease, Diagnosis("ValueError", "it broke"))
    await faced.add_items(1, generator="items", position=77, status="failed")


async def test_a_dead_letter_from_the_recovery_topic_is_its_too(faced: Face) -> None:
    await fail_with_origin(faced, "items.recovery")
    assert "given up as dead letter 1" in await show(faced)


async def test_what_a_publisher_says_of_an_origin_is_not_believed(faced: Face) -> None:
    await fail_with_origin(faced, "items")
    assert "given up" not in await show(faced)


async def test_a_record_that_is_no_json_is_shown_as_text(faced: Face) -> None:
    [offset] = await faced.store.log.append("items", [NewRecord(b"\xff not <json>")])
    await faced.add_items(1, generator="items", position=offset)
    assert "\ufffd not &lt;json&gt;" in await show(faced)


async def test_a_picture_is_named_and_never_shown(faced: Face) -> None:
    item = Item(ItemId(1), ext={"image": "https://pics.example/a.jpg", "images": ["data:image/png;base64,AAAA"]})
    await faced.add_items(1, item=item)
    text = await show(faced)
    assert "not shown here" in text
    assert "https://pics.example/a.jpg" in text
    assert "<img" not in text


@pytest.mark.parametrize("field", ["text", "author", "kind", "source", "input_id"])
async def test_what_others_wrote_stays_text(faced: Face, field: str) -> None:
    label = AppliedLabel("spam", 0.9, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE, HOSTILE)
    item = Item(ItemId(1), **{field: HOSTILE}, ext={HOSTILE: HOSTILE})  # type: ignore[arg-type]
    await faced.add_items(
        1,
        item=item,
        labels=(label,),
        reason=HOSTILE,
        tasks=(TaskReport(HOSTILE, "failed", 1, 0, 5, HOSTILE),),
        cells=(Cell("field", {HOSTILE: HOSTILE}, HOSTILE, HOSTILE, HOSTILE),),
        contributions=(Contributed(Join(HOSTILE, (HOSTILE,), "a", HOSTILE), HOSTILE, HOSTILE, HOSTILE),),
    )
    await faced.client.post("/v1/items/1/labels:negate", json={"val": "spam", "reason": HOSTILE, "actor": "<b>"})
    text = await show(faced)
    assert "<script>alert" not in text
    assert "<img" not in text


async def test_a_label_is_negated_and_taken_back_with_actor_and_reason(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM, OTHER))
    answer = await say(faced, act="negate", val="spam", reason=" a quote ", seen=seen(await show(faced)))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?judged=spam")
    text = await show(faced, f"{PAGE}?judged=spam")
    assert "<s>spam</s>" in text
    assert "reviewer of main" in text
    assert ">Undo</button>" in text
    answer = await say(faced, act="apply", val="spam", reason="taken back", seen=seen(text))
    assert answer.status_code == 303
    labels = (await faced.client.get("/v1/items/1")).json()["labels"]
    assert [(one["val"], one["negated"], one["said"]) for one in labels] == [
        ("spam", False, "taken back"),
        ("toxic", False, None),
    ]


async def test_a_label_is_added_by_hand(faced: Face) -> None:
    await faced.add_items(1)
    assert (await say(faced, act="add", val="off-topic", reason="looked at it")).status_code == 303
    assert "off-topic" in await show(faced)


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"act": "negate", "val": "spam", "reason": "  "}, 400, "Give a reason"),
        ({"act": "negate", "val": "spam"}, 400, "Give a reason"),
        ({"act": "add", "val": "Not A Label", "reason": "x"}, 400, "short name"),
        ({"act": "negate", "val": "other", "reason": "x"}, 409, "no label"),
        ({"act": "negate", "val": "spam", "reason": "kept words", "seen": '"old"'}, 412, "kept words"),
        ({"act": "negate", "val": "spam", "reason": "a\x00b"}, 400, "NUL"),
        ({"act": HOSTILE, "val": HOSTILE, "reason": HOSTILE}, 400, "short name"),
        ({"act": "negate"}, 400, "Not said"),
        ({"act": "negate", "val": "spam", "reason": "x" * 2_001}, 400, "Give a reason"),
    ],
)
async def test_what_cannot_be_said_is_told_on_the_page(
    faced: Face, fields: dict[str, str], status: int, told: str
) -> None:
    await faced.add_items(1, labels=(SPAM,))
    answer = await say(faced, **fields)
    assert answer.status_code == status
    assert told in answer.text
    assert 'role="alert"' in answer.text
    assert "<script>alert" not in answer.text
    assert await faced.store.front.facts.of([ItemId(1)]) == {}


async def test_two_people_who_judge_at_once_do_not_overwrite_each_other(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    etag = seen(await show(faced))
    assert (await say(faced, act="negate", val="spam", reason="mine", seen=etag)).status_code == 303
    second = await say(faced, act="negate", val="spam", reason="mine too", seen=etag)
    assert second.status_code == 412
    assert "Look once more" in second.text


async def test_a_viewer_reads_and_judges_nothing(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    faced.client.headers.update(await faced.token("viewer", tenant="main"))
    assert "It does not hold" not in await show(faced)
    assert (await say(faced, act="negate", val="spam", reason="x")).status_code == 403
    assert await faced.store.front.facts.of([ItemId(1)]) == {}


async def test_a_form_from_elsewhere_is_refused(faced: Face) -> None:
    await faced.add_items(1, labels=(SPAM,))
    faced.client.headers["Sec-Fetch-Site"] = "cross-site"
    assert (await say(faced, act="negate", val="spam", reason="x")).status_code == 403


async def test_items_of_another_tenant_do_not_exist(faced: Face) -> None:
    await faced.add_items(1, item=Item(ItemId(1), text="theirs", tenant="acme"), labels=(SPAM,))
    for path in (PAGE, f"/console/runs/{run_id_of(1)}"):
        assert (await faced.client.get(path)).status_code == 404
    assert (await say(faced, act="negate", val="spam", reason="x")).status_code == 404


async def test_what_was_published_and_not_processed_is_pending(faced: Face) -> None:
    await faced.store.state.map_ids("items", {"c-1": ItemId(1)})
    await faced.store.state.map_ids("items", {"c-2": ItemId(2)}, tenant="acme")
    assert "not processed yet" in await show(faced)
    await show(faced, "/console/items/2", 404)


@pytest.mark.parametrize(
    "path", ["2", "0", "-1", "x", "1.5", "9" * 40, "%00", "%F0%9F", "1?run=" + "a" * 65, "1?odd=1"]
)
async def test_an_odd_address_is_a_page_of_its_own(faced: Face, path: str) -> None:
    await faced.add_items(1)
    answer = await faced.client.get(f"/console/items/{path}")
    assert answer.status_code in (400, 404)
    assert answer.headers["content-type"].startswith("text/html")
