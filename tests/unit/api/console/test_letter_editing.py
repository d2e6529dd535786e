"""A dead letter in the console: mended, tried, sent back; a cause closed in steps; and what is kept of it."""

import re
from collections.abc import AsyncIterator

import pytest

from gristmill.api.console.pages.letters import causes
from gristmill.api.console.payload import show_payload, try_make_editable
from gristmill.domain.log import Diagnosis, NewRecord
from tests.faces import Face, face

OURS = {"Sec-Fetch-Site": "same-origin"}
HOME = "/console/dead-letters"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update({**OURS, **await made.token("operator", tenant="main")})
        yield made


async def bury(faced: Face, value: bytes = b'{"text":"break"}', *, group: str = "items", count: int = 1) -> None:
    for _ in range(count):
        await faced.store.log.append("items", [NewRecord(value)])
        [delivery] = await faced.store.log.claim("items", group, owner="me", limit=1, lease_ms=1_000)
        await faced.store.log.reject(delivery.lease, Diagnosis("ValueError", "no", ("loud",), "shout"))


async def open_count(faced: Face) -> int:
    return len(await faced.store.log.dead_letters(limit=10_000))


def typed_in(page: str) -> str:
    found = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", page, re.DOTALL)
    assert found is not None
    return found[1].replace("&#34;", '"').replace("&amp;", "&")


async def test_a_payload_is_tried_and_stays_in_the_field(faced: Face) -> None:
    await bury(faced)
    shown = (await faced.client.get(f"{HOME}/1")).text
    assert typed_in(shown) == '{\n  "text": "break"\n}'
    tried = await faced.client.post(f"{HOME}/1/try", data={"payload": '{"text": "hi!"}', "reason": "why not"})
    assert (tried.status_code, typed_in(tried.text)) == (200, '{"text": "hi!"}')
    for told in ("Tried, nothing was written", "loud", "HI!", 'value="why not"'):
        assert told in tried.text
    broken = await faced.client.post(f"{HOME}/1/try", data={"payload": typed_in(shown)})
    assert "ValueError: broken on purpose" in broken.text
    assert "no item by its schema" in (await faced.client.post(f"{HOME}/1/try", data={"payload": "{"})).text
    assert (await open_count(faced), await faced.store.log.topics()) == (1, ["items"])


async def test_what_is_no_item_stays_with_its_faults_and_what_is_one_goes_back(faced: Face) -> None:
    await bury(faced)
    refused = await faced.client.post(f"{HOME}/1/edit", data={"payload": '{"text": 7}', "reason": "x"})
    assert (refused.status_code, "/text" in refused.text, typed_in(refused.text)) == (400, True, '{"text": 7}')
    unchanged = typed_in((await faced.client.get(f"{HOME}/1")).text)
    same = await faced.client.post(f"{HOME}/1/edit", data={"payload": unchanged.replace("\n", "\r\n")})
    assert (same.status_code, "is as it was" in same.text) == (400, True)
    sent = await faced.client.post(f"{HOME}/1/edit", data={"payload": '{"text":\r\n"fine"}', "reason": "a typo"})
    assert (sent.status_code, await open_count(faced)) == (303, 0)
    [record] = [record async for part in faced.store.log.read_all("items.recovery") for record in part]
    assert record.value == b'{"text":\n"fine"}'
    closed = (await faced.client.get(f"{HOME}/closed")).text
    assert ("a typo" in closed, "operator of main" in closed) == (True, True)
    detail = (await faced.client.get(f"{HOME}/closed/1")).text
    assert ("break" in detail, "fine" in detail) == (True, True)


async def test_only_what_comes_back_as_it_was_can_be_typed_in(faced: Face) -> None:
    await bury(faced, b"\xff{}")
    await bury(faced, b'{"text": "a"}', group="elsewhere")
    assert "<textarea" not in (await faced.client.get(f"{HOME}/1")).text
    other = (await faced.client.get(f"{HOME}/2")).text
    assert ("<textarea" in other, "No generator here is called" in other) == (False, True)
    steering = show_payload('{"text": "a\u202eb\U000e0041"}'.encode())
    assert try_make_editable(steering) == '{\n  "text": "a\\u202eb\\udb40\\udc41"\n}'
    assert try_make_editable(show_payload("a\u202eb".encode())) is None
    assert try_make_editable(show_payload(b"a" * 70_000)) is None


async def test_a_form_without_a_payload_does_nothing(faced: Face) -> None:
    await bury(faced)
    for act in ("try", "edit"):
        assert (await faced.client.post(f"{HOME}/1/{act}", data={"reason": "x"})).status_code == 400
    long = {"payload": '{"text": "a"}', "reason": "x" * 501}
    assert (await faced.client.post(f"{HOME}/1/edit", data=long)).status_code == 400
    assert await open_count(faced) == 1


async def test_a_cause_is_closed_step_by_step_and_each_step_says_how_far_it_is(
    faced: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causes, "STEP", 2)
    await bury(faced, count=5)
    [cause] = re.findall(r'id="g-([0-9a-f]{12})"', (await faced.client.get(HOME)).text)
    fields = {"count": "5", "upto": "5", "reason": "tests"}
    left = []
    while True:
        answer = await faced.client.post(f"{HOME}/cause/{cause}/drop", data=fields)
        if answer.status_code == 303:
            break
        assert "data-go-on" in answer.text
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w*)"', answer.text))
        left.append((fields["done"], fields["count"], fields["total"], await open_count(faced)))
    assert left == [("2", "3", "5", 3), ("4", "1", "5", 1)]
    assert (answer.headers["location"], await open_count(faced)) == (f"{HOME}?done=5+of+5+dropped", 0)
    assert (await faced.client.get(f"{HOME}/closed")).text.count("tests") == 5


async def test_closed_letters_are_listed_in_pages_and_only_those_of_the_own_tenant(
    faced: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gristmill.api.console.pages.letters import closed

    monkeypatch.setattr(closed, "SHOWN", 2)
    await bury(faced, count=3)
    for number in (1, 2, 3):
        await faced.client.post(f"{HOME}/{number}/requeue", data={"reason": ""})
    first = (await faced.client.get(f"{HOME}/closed")).text
    assert re.findall(r'id="c-(\d+)"', first) == ["3", "2"]
    [older] = re.findall(r'id="older" href="([^"]+)"', first)
    assert re.findall(r'id="c-(\d+)"', (await faced.client.get(older)).text) == ["1"]
    theirs = await faced.token("operator", tenant="acme")
    assert re.findall(r'id="c-', (await faced.client.get(f"{HOME}/closed", headers=theirs)).text) == []
    assert (await faced.client.get(f"{HOME}/closed/1", headers=theirs)).status_code == 404
