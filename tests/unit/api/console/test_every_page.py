"""What holds for every page, whoever writes it: who may see it, odd addresses, hostile content."""

import re
import urllib.parse
from collections.abc import AsyncIterator

import pytest

from gristmill.api.console.page import Page
from gristmill.api.console.pages import PAGES
from gristmill.domain.front.access import ROLES, Role
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.domain.log import Diagnosis, NewRecord
from tests.faces import Face, face

OURS = {"Sec-Fetch-Site": "same-origin"}
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\u202egpj.exe\x00&amp;"
NAMES = [page.name for page in PAGES]
LOOKING = [page for page in PAGES if page.method == "GET"]


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        yield made


def path_of(page: Page, number: str = "1") -> str:
    return re.sub(r"\{\w+\}", number, page.path)


async def fill(faced: Face) -> None:
    """Store an item and a dead letter whose every text is hostile."""
    item = Item(ItemId(1), source=HOSTILE, input_id=HOSTILE, text=HOSTILE, author=HOSTILE, kind="post")
    await faced.add_items(1, item=item, reason=HOSTILE, error=HOSTILE)
    fact = LabelFact(
        item_id=ItemId(1), val="spam", is_negated=True, actor=HOSTILE, reason=HOSTILE, at_ms=faced.clock.now_ms()
    )
    await faced.store.front.facts.add(fact)
    for topic in ("items", HOSTILE.replace("\x00", "")):
        await faced.store.log.append(topic, [NewRecord(HOSTILE.encode(), key=HOSTILE, headers={HOSTILE: HOSTILE})])
        [delivery] = await faced.store.log.claim(topic, "items", owner=HOSTILE, limit=1, lease_ms=1_000)
        diagnosis = Diagnosis(HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, ((1, HOSTILE, HOSTILE),))
        await faced.store.log.reject(delivery.lease, diagnosis)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
async def test_a_page_opens_for_its_role_and_those_above_alone(faced: Face, page: Page) -> None:
    nobody = await faced.client.request(page.method, path_of(page), headers=OURS)
    if page.access == "public":
        assert nobody.status_code < 500
        return
    assert (nobody.status_code, nobody.headers["location"].split("?")[0]) == (303, "/console/login")
    for role in ROLES:
        headers = {**OURS, **await faced.token(role)}
        status = (await faced.client.request(page.method, path_of(page), headers=headers)).status_code
        may: bool = ROLES.index(role) >= ROLES.index(page.access)
        assert (status == 403) == (not may), (role, status)
        assert status < 500


@pytest.mark.parametrize("page", LOOKING, ids=[page.name for page in LOOKING])
@pytest.mark.parametrize("is_full", [False, True], ids=["empty", "filled"])
async def test_a_page_shows_what_is_hostile_as_text(faced: Face, page: Page, is_full: bool) -> None:
    if is_full:
        await fill(faced)
    paths = [path_of(page)]
    if "{cause}" in page.path and is_full:
        listed = (await faced.client.get("/console/dead-letters", headers=await faced.token())).text
        paths += [page.path.replace("{cause}", one) for one in re.findall(r"cause/([0-9a-f]{12})", listed)]
    for path in paths:
        query = {"act": "drop"} if "confirm" in path else {}
        answer = await faced.client.get(path, headers=await faced.token(), params=query)
        assert answer.status_code < 500, answer.text
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        drawn = re.sub(r"<[^>]*>", "", answer.text)
        assert "\u202e" not in drawn
        assert "\x00" not in drawn


@pytest.mark.parametrize("page", LOOKING, ids=[page.name for page in LOOKING])
async def test_a_page_answers_odd_questions_without_a_fault_of_its_own(faced: Face, page: Page) -> None:
    await fill(faced)
    headers = await faced.token()
    names = (
        "q",
        "limit",
        "cursor",
        "before",
        "since",
        "until",
        "label",
        "status",
        "columns",
        "text",
        "done",
        "act",
        "next",
    )
    for value in ("", "-1", "99999999999999999999999", "\x00", "%ff", HOSTILE, "é" * 500, "[]", "2026-13-45"):
        for name in names:
            answer = await faced.client.get(path_of(page), headers=headers, params={name: value})
            assert answer.status_code < 500, (name, value)
            assert "<script>alert" not in answer.text
    for number in ("0", "-1", "9" * 19, "9" * 40, "a", HOSTILE.replace("/", ""), "%2e%2e", "\u202e"):
        assert (
            await faced.client.get(path_of(page, urllib.parse.quote(number, safe="")), headers=headers)
        ).status_code < 500, number
    assert (await faced.client.get(path_of(page) + "?q=1&q=2", headers=headers)).status_code in (200, 303, 400, 404)


@pytest.mark.parametrize("role", ROLES)
async def test_buttons_of_a_role_are_shown_to_nobody_below(faced: Face, role: Role) -> None:
    await fill(faced)
    page = (await faced.client.get("/console/dead-letters/1", headers=await faced.token(role))).text
    assert ("/requeue" in page) == (role in ("operator", "admin"))
    assert ("needs the role operator" in page) == (role in ("viewer", "reviewer"))


def test_navigation_keys_and_names_are_told_apart() -> None:
    keys = [page.nav.key for page in PAGES if page.nav is not None]
    assert len(set(keys)) == len(keys)
    assert len(set(NAMES)) == len(NAMES)
