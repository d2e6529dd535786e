"""Couriers over a store in memory: what is sent, when again, and what is steered meanwhile."""

from __future__ import annotations

import json

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.deliver.definitions import read_subscription
from gristmill.deliver.steering import pause, replay, resume, rotate_secret, try_receiver
from gristmill.domain.delivery import Progress
from gristmill.domain.errors import ConfigError, StaleRead, Unavailable, UsageError
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.ports.egress import Refused, Sent
from tests.delivery.desk import Desk, Receiver, change
from tests.delivery.webhooks import is_signed

HOOK = "https://x.example/hook"


@pytest.fixture
async def desk() -> Desk:
    return Desk(MemoryStore(SystemClock()))


async def begin(desk: Desk, further: str = "") -> Receiver:
    """Publish a subscription to one receiver."""
    await desk.publish(f"subscription: x\nto: {{webhook: '{desk.receivers.add('x')}'}}\n{further}")
    return desk.receivers.at[HOOK]


async def progress_of(desk: Desk) -> Progress:
    found = await desk.store.deliveries.find("x", tenant="main")
    assert found is not None
    return found


async def wait_for(desk: Desk, status: str) -> Progress:
    while (progress := await progress_of(desk)).status != status:
        await desk.clock.sleep_ms(10)
    return progress


async def test_a_message_tells_the_item_its_labels_and_why(desk: Desk) -> None:
    receiver = await begin(desk, 'columns: [text, "labels.*"]\n')
    await desk.store.state.commit([change(1, 1, text="hello", vals=("spam",))])
    async with desk.delivering():
        await desk.settle()
    [event] = receiver.got
    data = event["data"]
    assert (event["specversion"], event["type"]) == ("1.0", "io.gristmill.item.changed.v1")
    assert (event["source"], event["subject"]) == ("/gristmill/main/subscriptions/x", "items/1")
    assert (data["item_id"], data["revision"], data["point"], data["labels"]) == ("1", 1, "final", ["spam"])
    assert data["changed"] == ["labels.spam", "text"]
    assert data["fields"]["text"] == "hello"
    assert data["fields"]["labels.spam"]["reason"] == "because"
    assert data["cause"]["event"] == "run.ended"


async def test_an_item_that_leaves_is_told_once_and_what_did_not_change_never(desk: Desk) -> None:
    receiver = await begin(desk, 'rows: \'"spam" in item.labels\'\ncolumns: ["labels.*"]\n')
    async with desk.delivering():
        await desk.store.state.commit([change(1, 1, vals=("spam",)), change(2, 2)])
        await desk.settle()
        await desk.store.state.commit([change(1, 3, text="another text", vals=("spam",))])
        await desk.settle()
        assert len(receiver.got) == 1
        for _ in range(2):
            fact = LabelFact(item_id=ItemId(1), val="spam", is_negated=True, actor="eve", reason="no", at_ms=7)
            await desk.store.front.facts.add(fact)
            await desk.settle()
    assert [event["data"]["point"] for event in receiver.got] == ["final", "left"]
    assert receiver.got[1]["data"]["removed"] == ["labels.spam"]
    assert receiver.state == {}


async def test_requests_are_signed_and_a_retry_of_the_same_has_the_same_id(desk: Desk) -> None:
    receiver = await begin(desk)
    receiver.answers = [Sent(500), Sent(302), Unavailable("no answer", advice="cut")]
    await desk.store.state.commit([change(1, 1)])
    async with desk.delivering():
        await desk.settle()
    secret = (await progress_of(desk)).secret
    assert all(is_signed(secret, dict(headers), body) for headers, body in receiver.requests)
    assert len({headers["webhook-id"] for headers, _ in receiver.requests}) == 1
    assert len(receiver.requests) == 4
    attempts = await desk.store.deliveries.attempts((await progress_of(desk)).subscription_id)
    assert [(one.status, one.error) for one in reversed(attempts)] == [
        (500, "status 500"),
        (302, "status 302"),
        (0, "cut"),
        (200, ""),
    ]


async def test_after_a_rotation_both_secrets_sign(desk: Desk) -> None:
    receiver = await begin(desk)
    old = (await progress_of(desk)).secret
    new = await rotate_secret(desk.store.deliveries, "x", tenant="main", clock=desk.clock)
    await try_receiver(
        desk.store.deliveries, desk.store.definitions, desk.sending, "x", tenant="main", clock=desk.clock
    )
    [(headers, body)] = receiver.requests
    assert old != new
    assert is_signed(old, dict(headers), body)
    assert is_signed(new, dict(headers), body)
    assert receiver.got[0]["data"]["point"] == "test"


async def test_a_receiver_that_is_gone_is_told_nothing_more_until_somebody_resumes(desk: Desk) -> None:
    receiver = await begin(desk)
    receiver.answers = [Sent(410)]
    await desk.store.state.commit([change(1, 1)])
    async with desk.delivering():
        progress = await wait_for(desk, "disabled")
        assert "410" in progress.why
        await resume(desk.store.deliveries, "x", tenant="main")
        await desk.settle()
    assert list(receiver.state) == ["1"]


async def test_after_the_last_retry_it_is_paused_and_says_why(desk: Desk) -> None:
    desk.retries_s = (0.01, 0.01)
    receiver = await begin(desk)
    receiver.answers = [Refused("blocked_address", "x.example leads to 10.0.0.1")] * 3
    await desk.store.state.commit([change(1, 1)])
    async with desk.delivering():
        progress = await wait_for(desk, "paused")
    assert "blocked_address" in progress.why
    assert (len(receiver.requests), progress.failures, progress.position) == (3, 3, 0)


async def test_a_paused_one_goes_on_where_it_was(desk: Desk) -> None:
    receiver = await begin(desk)
    async with desk.delivering():
        await pause(desk.store.deliveries, "x", tenant="main", actor="eve")
        await desk.store.state.commit([change(1, 1)])
        await desk.clock.sleep_ms(1_500)
        assert (receiver.got, (await progress_of(desk)).why) == ([], "by eve")
        await resume(desk.store.deliveries, "x", tenant="main")
        await desk.settle()
    assert list(receiver.state) == ["1"]


async def test_a_replay_tells_a_range_again_with_new_ids_whatever_fails(desk: Desk) -> None:
    receiver = await begin(desk)
    await desk.store.state.commit([change(number, number, at_ms=number * 1_000) for number in range(1, 41)])
    async with desk.delivering():
        await desk.settle()
        receiver.answers = [Sent(200), Sent(500)] * 40
        await replay(desk.store.deliveries, desk.store.changes, "x", tenant="main", since="10", until="30")
        await desk.settle()
    again = [event for event in receiver.got if event["id"].endswith("-r1")]
    assert {event["data"]["item_id"] for event in again} == {str(number) for number in range(11, 31)}
    assert len({event["id"] for event in receiver.got}) == 60
    with pytest.raises(UsageError, match="nothing changed"):
        await replay(desk.store.deliveries, desk.store.changes, "x", tenant="main", since="now")


async def test_batches_and_topics(desk: Desk) -> None:
    receiver = await begin(desk, "batch: 10\n")
    await desk.publish("subscription: t\ncolumns: [text]\nto: {topic: delivery.t}\n")
    await desk.store.state.commit([change(number, number) for number in range(1, 26)])
    async with desk.delivering():
        await desk.settle()
    assert [len(json.loads(body)) for _, body in receiver.requests] == [10, 10, 5]
    [records] = [batch async for batch in desk.store.log.read_all("delivery.t")]
    assert [record.key for record in records] == [str(number) for number in range(1, 26)]
    assert json.loads(records[0].value)["data"]["fields"] == {"text": "text 1"}


async def test_an_item_that_is_too_large_is_told_by_its_address(desk: Desk) -> None:
    receiver = await begin(desk)
    await desk.store.state.commit([change(1, 1, text="x" * 40_000)])
    async with desk.delivering():
        await desk.settle()
    [event] = receiver.got
    assert event["dataref"] == "/v1/items/1"
    assert "fields" not in event["data"]


async def test_a_new_revision_is_taken_up_and_one_that_is_not_the_latest_refused(desk: Desk) -> None:
    receiver = await begin(desk)
    async with desk.delivering():
        await desk.store.state.commit([change(1, 1)])
        await desk.settle()
        published = await desk.publish(f"subscription: x\ncolumns: [text]\nto: {{webhook: '{HOOK}'}}\n", expected=1)
        assert (published.revision, published.secret) == (2, "")
        await desk.clock.sleep_ms(1_500)
        await desk.store.state.commit([change(1, 2)])
        await desk.settle()
    assert set(receiver.got[-1]["data"]["fields"]) == {"text"}
    with pytest.raises(StaleRead):
        await desk.publish(f"subscription: x\nto: {{webhook: '{HOOK}'}}\n", expected=1)


@pytest.mark.parametrize(
    ("columns", "told"),
    [("txt", "did you mean 'text'"), ("labls.*", "did you mean 'labels'"), ("labels", "write 'labels.*'")],
)
def test_columns_that_no_item_has_are_refused_where_they_are_new(columns: str, told: str) -> None:
    text = f"subscription: x\nto: {{topic: delivery.x}}\ncolumns: ['*spam', text, ext.main.heat, '{columns}']\n"
    with pytest.raises(ConfigError, match=r"x\.yaml:3: columns") as refused:
        read_subscription(text, file="x.yaml", is_new=True)
    assert told in str(refused.value)
    assert columns in read_subscription(text, file="x.yaml").columns


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("to: {webhook: 'https://x'}", "subscription: is missing"),
        ("subscription: x", "to: is not one receiver"),
        ("subscription: x\nto: {webhook: 'ftp://x'}", "https://"),
        ("subscription: x\nto: {topic: items}", "delivery."),
        ("subscription: x\nto: {webhok: y}", "did you mean 'webhook'"),
        ("subscription: x\nto: {topic: delivery.x}\nrows: 'item.txt == 1'", "did you mean 'text'"),
        ("subscription: x\nto: {topic: delivery.x}\nrows: 'true'", "asks nothing"),
        ("subscription: x\nto: {topic: delivery.x}\nrows: 'item.text =='", "rows"),
        ("subscription: x\nto: {topic: delivery.x}\npoints: [early]", "points"),
        ("subscription: x\nto: {topic: delivery.x}\nbatch: 0", "batch"),
        ("subscription: x\nto: {topic: delivery.x}\nfrom: yesterday", "from"),
        ("subscription: x\nto: {topic: delivery.x}\ncolumn: [text]", "did you mean 'columns'"),
        ("subscription: x\nto: {topic: delivery.x}\ncolumns: ['a b']", "columns"),
        ("subscription: x\nto: {topic: delivery.x}\norder: none\nmax_rate: -1", "max_rate"),
    ],
)
async def test_a_file_that_is_wrong_is_refused_with_what_to_do(desk: Desk, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        await desk.publish(text)
    assert told in str(refused.value)
