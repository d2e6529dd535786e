"""Subscriptions in the console: how far each is, what was sent and answered, and how they are steered."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator

import msgspec
import pytest

from gristmill.deliver import steering
from gristmill.deliver.definitions import publish_subscription, read_subscription
from gristmill.domain.delivery import Progress
from gristmill.domain.ids import ItemId
from gristmill.domain.run import Event
from gristmill.ports.egress import Sent
from gristmill.testing.contracts.backend import run_id_of
from tests.delivery.desk import Receiver, change
from tests.faces import Face, face

OURS = {"Sec-Fetch-Site": "same-origin"}
HOME = "/console/subscriptions"
DESK = f"{HOME}/main/desk"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update({**OURS, **await made.token("operator", tenant="main")})
        yield made


async def publish(faced: Face, *, name: str = "desk", tenant: str = "main", to: str = "", rows: str = "") -> None:
    if not to:
        url = f"{faced.receivers.add(name)}?key=topsecret"
        faced.receivers.at[url] = Receiver()
        to = f"webhook: '{url}'"
    text = f"subscription: {name}\ntenant: {tenant}\nrows: {rows!r}\nto: {{{to}}}\nfrom: earliest\n"
    await publish_subscription(
        faced.store.definitions,
        faced.store.deliveries,
        faced.store.changes,
        read_subscription(text, file="x"),
        actor="me",
        clock=faced.clock,
    )


async def progress(faced: Face) -> Progress:
    found = await faced.store.deliveries.find("desk", tenant="main")
    assert found is not None
    return found


async def test_subscriptions_are_listed_with_state_and_lag(faced: Face) -> None:
    await publish(faced)
    await publish(faced, name="theirs", tenant="acme")
    at_ms = faced.clock.now_ms()
    told = (Event("run.ended", ItemId(1), run_id_of(1), at_ms, {}),)
    await faced.add_items(1, events=told)
    faced.clock.advance(90_000)
    listed = (await faced.client.get(HOME)).text
    assert ("1 min 30 s, 1 position" in listed, "theirs" in listed, "topsecret" in listed) == (True, False, False)
    viewer = (await faced.client.get(HOME, headers=await faced.token("viewer", tenant="main"))).text
    assert (DESK in viewer, "desk" in viewer) == (False, True)
    for path in (f"{HOME}/acme/theirs", f"{HOME}/main/theirs", f"{HOME}/main/none"):
        assert (await faced.client.get(path)).status_code == 404


async def test_requests_and_responses_are_told_and_none_of_the_secrets(faced: Face) -> None:
    await publish(faced)
    faced.receivers.at["https://desk.example/hook?key=topsecret"].answers = [Sent(500, body=b"<b>no disk</b>")]
    failed = await faced.client.post(f"{DESK}/test")
    assert "did+not+take" in failed.headers["location"]
    assert "took+the+test" in (await faced.client.post(f"{DESK}/test")).headers["location"]
    page = (await faced.client.get(failed.headers["location"])).text
    for told in ("io.gristmill.subscription.test.v1", "&lt;b&gt;no disk&lt;/b&gt;", "500", "msg_"):
        assert told in page
    secret = (await progress(faced)).secret
    assert (secret in page, "topsecret" in html.unescape(page).split("Definition")[0]) == (False, False)
    detail = (await faced.client.get("/v1/subscriptions/desk")).json()["attempts"]
    assert [(one["response"], one["request"][:15]) for one in detail] == [
        ("", '{"specversion":'),
        ("<b>no disk</b>", '{"specversion":'),
    ]


async def test_a_subscription_is_paused_and_resumed(faced: Face) -> None:
    await publish(faced)
    assert (await faced.client.post(f"{DESK}/pause")).status_code == 303
    paused = (await faced.client.get(DESK)).text
    assert ("by operator of main" in paused, 'id="resume"' in paused, 'id="pause"' in paused) == (True, True, False)
    await faced.client.post(f"{DESK}/resume")
    assert (await progress(faced)).status == "active"


async def test_a_new_secret_is_shown_once(faced: Face) -> None:
    await publish(faced)
    old = (await progress(faced)).secret
    shown = await faced.client.post(f"{DESK}/rotate")
    found = await progress(faced)
    assert (found.secret in html.unescape(shown.text), found.old_secret) == (True, old)
    page = (await faced.client.get(DESK)).text
    assert (found.secret in page, "two: the old one until" in page) == (False, True)
    await publish(faced, name="log", to="topic: delivery.log")
    assert (await faced.client.post(f"{HOME}/main/log/rotate")).status_code == 409


async def test_a_range_is_counted_before_it_is_told_again(faced: Face) -> None:
    await publish(faced, rows='"spam" in item.labels')
    commits = [change(number, number, vals=("spam",) if number < 3 else ()) for number in range(1, 6)]
    await faced.store.state.commit(commits)
    preview = (await faced.client.get(f"{DESK}/replay", params={"since": "earliest", "until": ""})).text
    assert ("of which 2 fulfil" in preview, "Tell 2 items again" in preview) == (True, True)
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="(\d+)"', preview))
    told = (await faced.client.get("/v1/subscriptions/desk/replay")).json()
    assert (told["wanted"], told["items"], told["complete"], str(told["last"])) == (2, 5, True, fields["last"])
    answer = await faced.client.post(f"{DESK}/replay", data=fields)
    assert answer.status_code == 303
    found = await progress(faced)
    assert (found.again_upto, found.replays) == (int(fields["last"]), 1)
    for odd in ({"since": "tomorrow"}, {"since": "now"}, {"since": "2999-01-01T00:00:00Z"}):
        assert (await faced.client.get(f"{DESK}/replay", params=odd)).status_code == 400
    for form in ({"first": "1"}, {"first": "x", "last": "1"}, {"first": "9", "last": "9"}):
        assert (await faced.client.post(f"{DESK}/replay", data=form)).status_code == 400


async def test_a_preview_looks_at_a_bounded_number_of_changes(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "PREVIEWED_MAX", 4)
    monkeypatch.setattr(steering, "CHANGES_PER_READ_MAX", 2)
    await publish(faced)
    await faced.store.state.commit([change(number, number) for number in range(1, 10)])
    told = (await faced.client.get("/v1/subscriptions/desk/replay")).json()
    assert (told["changes"], told["items"], told["complete"]) == (4, 4, False)
    assert "Tell at least 4 items again" in (await faced.client.get(f"{DESK}/replay")).text


async def test_a_failing_receiver_shows_its_pause_in_the_schedule(faced: Face) -> None:
    await publish(faced)
    found = await progress(faced)
    failing = msgspec.structs.replace(
        found,
        failures=2,
        failing_since_ms=faced.clock.now_ms(),
        next_at_ms=faced.clock.now_ms() + 60_000,
        last_error="no",
    )
    await faced.store.deliveries.save(failing)
    page = (await faced.client.get(DESK)).text
    for told in ("failing", "<strong>5 min", "Tried again", "2 rounds in a row"):
        assert told in page
