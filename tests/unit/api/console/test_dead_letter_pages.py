"""Dead letters in the console: put together by cause, looked at, brought back or dropped."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from gristmill.api.console.pages.letters import causes as dead_letters
from gristmill.api.console.payload import show_payload
from gristmill.api.desk import causes as reading
from gristmill.domain.log import Diagnosis, NewRecord
from tests.faces import Face, face

OURS = {"Sec-Fetch-Site": "same-origin"}
HOME = "/console/dead-letters"


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        made.client.headers.update({**OURS, **await made.token("operator", tenant="main")})
        yield made


async def bury(faced: Face, error: str, *, count: int = 1, tenant: str = "main", task: str = "shout") -> None:
    for _ in range(count):
        await faced.store.log.append("items", [NewRecord(b'{"a": 1}', headers={"tenant": tenant})])
        [delivery] = await faced.store.log.claim("items", "items", owner="me", limit=1, lease_ms=1_000)
        await faced.store.log.reject(delivery.lease, Diagnosis("ValueError", error, ("loud",), task))


async def causes(faced: Face, **query: str) -> list[str]:
    return re.findall(r'id="g-([0-9a-f]{12})"', (await faced.client.get(HOME, params=query)).text)


async def open_count(faced: Face) -> int:
    return len(await faced.store.log.dead_letters(limit=10_000))


async def test_failures_of_one_cause_stand_together_whatever_numbers_they_name(faced: Face) -> None:
    await bury(faced, "no item 17: host 'a-1' is away")
    await bury(faced, "no item 2026113000000000042: host 'b-2' is away\nsecond line 5")
    await bury(faced, "another story")
    await bury(faced, "no item 17: host 'a-1' is away", task="elsewhere")
    assert len(await causes(faced)) == 3
    assert len(await causes(faced, q="ANOTHER")) == 1
    assert await causes(faced, topic="nowhere") == []


async def test_letters_of_other_tenants_are_not_counted(faced: Face) -> None:
    await bury(faced, "a", tenant="acme")
    assert await causes(faced) == []
    theirs = await faced.token("operator", tenant="acme")
    assert (await faced.client.get(f"{HOME}/1", headers=theirs)).status_code == 200
    assert (await faced.client.get(f"{HOME}/1")).status_code == 404


async def test_one_letter_is_brought_back(faced: Face) -> None:
    await bury(faced, "a")
    answer = await faced.client.post(f"{HOME}/1/requeue", data={"reason": ""})
    assert (answer.status_code, await open_count(faced)) == (303, 0)
    told = await faced.client.get(answer.headers["location"])
    assert "Dead letter 1 requeued" in told.text
    assert (await faced.client.post(f"{HOME}/1/requeue", data={"reason": ""})).status_code == 404


async def test_dropping_needs_a_reason(faced: Face) -> None:
    await bury(faced, "a")
    assert (await faced.client.post(f"{HOME}/1/drop", data={"reason": " "})).status_code == 400
    assert (await faced.client.post(f"{HOME}/1/drop", data={"reason": "test data"})).status_code == 303
    assert await open_count(faced) == 0


async def test_a_cause_is_shown_before_its_letters_are_brought_back_as_they_were_shown(faced: Face) -> None:
    await bury(faced, "a 1", count=3)
    [fingerprint] = await causes(faced)
    preview = await faced.client.get(f"{HOME}/cause/{fingerprint}/confirm", params={"act": "requeue"})
    assert "Requeue 3 dead letters?" in preview.text
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="(\d+)"', preview.text))
    await bury(faced, "a 2")
    answer = await faced.client.post(f"{HOME}/cause/{fingerprint}/requeue", data=fields)
    assert answer.headers["location"] == f"{HOME}?done=3+of+3+requeued"
    assert await open_count(faced) == 1
    # What was shown is no longer what is there: nothing is done.
    again = await faced.client.post(f"{HOME}/cause/{fingerprint}/requeue", data={"count": 2, "upto": 9})
    assert (again.status_code, await open_count(faced)) == (409, 1)


async def test_many_are_closed_only_when_their_number_is_typed(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "TYPED_FROM", 2)
    await bury(faced, "a", count=3)
    [fingerprint] = await causes(faced)
    preview = await faced.client.get(f"{HOME}/cause/{fingerprint}/confirm", params={"act": "drop"})
    assert 'name="typed"' in preview.text
    fields = {"count": "3", "upto": "3", "reason": "test data"}
    for typed in ("", "2", "all"):
        wrong = await faced.client.post(f"{HOME}/cause/{fingerprint}/drop", data={**fields, "typed": typed})
        assert (wrong.status_code, await open_count(faced)) == (400, 3)
    right = await faced.client.post(f"{HOME}/cause/{fingerprint}/drop", data={**fields, "typed": "3"})
    assert (right.status_code, await open_count(faced)) == (303, 0)


@pytest.mark.parametrize("form", [{"x": "1"}, {"count": "x", "upto": "1"}, {"count": "1", "upto": ""}])
async def test_an_odd_form_does_nothing(faced: Face, form: dict[str, str]) -> None:
    await bury(faced, "a")
    [fingerprint] = await causes(faced)
    assert (await faced.client.post(f"{HOME}/cause/{fingerprint}/requeue", data=form)).status_code == 400
    assert (await faced.client.post(f"{HOME}/cause/{fingerprint}/burn", data=form)).status_code == 404
    assert (await faced.client.get(f"{HOME}/cause/{fingerprint}/confirm", params={"act": "burn"})).status_code == 400
    twice = b"count=1&count=1&upto=1"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    odd = await faced.client.post(f"{HOME}/cause/{fingerprint}/requeue", content=twice, headers=headers)
    assert odd.status_code == 400
    assert await open_count(faced) == 1


async def test_more_letters_than_are_looked_at_are_said(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LETTERS_MAX", 2)
    monkeypatch.setattr(reading, "OUTLINES_PER_READ", 1)
    await bury(faced, "a", count=3)
    found = await faced.client.get(HOME)
    assert "There are more than" in found.text
    assert "2 open letters" in found.text


def test_a_payload_is_laid_out_as_what_it_is() -> None:
    assert show_payload(b'{"a":1}').text == '{\n  "a": 1\n}'
    assert show_payload("héé".encode()).text == "héé"
    shown = show_payload(b"\xff\x00A" + bytes(14))
    assert shown.is_hex
    assert shown.text.splitlines()[0] == "00000000  ff 00 41" + " 00" * 13 + "  ..A............."
    long = show_payload(b"a" * 65_535 + "é".encode() + b"b")
    assert (long.is_cut, long.is_hex, len(long.text)) == (True, False, 65_535)
    assert show_payload(b"[" * 40_000).text.startswith("[[[")


async def test_others_have_their_turn_while_letters_are_put_together(
    faced: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bury(faced, "broken", count=6)
    monkeypatch.setattr(reading, "GROUPED_AT_ONCE", 2)
    letters, turns = await faced.store.log.dead_letters(limit=10), 0
    grouping = asyncio.create_task(reading.list_causes(letters))
    while not grouping.done():
        await asyncio.sleep(0)
        turns += 1
    assert (turns, len(grouping.result())) == (4, 1)
