"""Getting in and out of the console, and what every answer of it says to browsers."""

import urllib.parse
from collections.abc import AsyncIterator

import pytest

from gristmill.api.app import build_app
from gristmill.api.console import build_console
from gristmill.api.console.answers import is_local
from gristmill.api.security import SESSION_COOKIE
from tests.faces import Face, face

OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        yield made


async def secret(faced: Face) -> str:
    return (await faced.token("viewer"))["Authorization"].removeprefix("Bearer ")


async def test_a_token_opens_a_session_that_scripts_cannot_read(faced: Face) -> None:
    token = await secret(faced)
    form = {"token": f" {token} ", "next": "/console/dead-letters?q=a"}
    answer = await faced.client.post("/console/login", data=form, headers=OURS)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/dead-letters?q=a")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}={token};")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/")), cookie
    assert "Secure" not in cookie
    assert (await faced.client.get("/console")).status_code == 200
    left = await faced.client.post("/console/logout", headers=OURS)
    assert left.headers["location"] == "/console/login"
    assert (await faced.client.get("/console")).status_code == 303


async def test_a_session_behind_tls_is_kept_for_tls(faced: Face) -> None:
    form = {"token": await secret(faced)}
    answer = await faced.client.post("/console/login", data=form, headers={**OURS, "X-Forwarded-Proto": "https"})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "gm_a_b", "<script>", "gm_é_b", "x" * 300])
async def test_what_is_no_token_opens_nothing(faced: Face, token: str) -> None:
    answer = await faced.client.post("/console/login", data={"token": token}, headers=OURS)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "not known here" in answer.text


async def test_guessing_tokens_is_slowed_down(faced: Face) -> None:
    statuses = [
        (await faced.client.post("/console/login", data={"token": "x"}, headers=OURS)).status_code for _ in range(4)
    ]
    assert statuses == [401, 401, 429, 429]
    faced.clock.advance(1_000)
    assert (await faced.client.post("/console/login", data={"token": "x"}, headers=OURS)).status_code == 401


async def test_whoever_guesses_keeps_nobody_else_out(faced: Face) -> None:
    for _ in range(4):
        await faced.client.post("/console/login", data={"token": "x"}, headers=OURS)
    answer = await faced.client.post("/console/login", data={"token": await secret(faced)}, headers=OURS)
    assert answer.status_code == 303, "behind a proxy all have one address"


async def test_a_session_ends_with_its_token_wherever_the_clock_goes(faced: Face) -> None:
    token = await secret(faced)
    faced.client.cookies.set(SESSION_COOKIE, token)
    assert (await faced.client.get("/console")).status_code == 200
    faced.clock.set_wall(-3_600_000)
    await faced.store.front.tokens.revoke(token.split("_")[1], at_ms=faced.clock.now_ms())
    faced.clock.advance(1_000)
    assert (await faced.client.get("/console")).status_code == 303


@pytest.mark.parametrize("wanted", ["/console/items?text=日本", "/console/items?author=é b"])
async def test_the_way_back_may_hold_any_letters(faced: Face, wanted: str) -> None:
    answer = await faced.client.post(
        "/console/login", data={"token": await secret(faced), "next": wanted}, headers=OURS
    )
    assert answer.status_code == 303
    assert urllib.parse.unquote(answer.headers["location"]) == wanted
    assert answer.headers["location"].isascii()


async def test_whoever_is_not_logged_in_is_led_to_the_door_and_back(faced: Face) -> None:
    answer = await faced.client.get("/console/dead-letters?q=a%20b")
    assert answer.headers["location"] == "/console/login?next=%2Fconsole%2Fdead-letters%3Fq%3Da%2520b"
    partial = {"HX-Request": "true", "HX-Current-URL": "http://face/console/dead-letters?q=1"}
    told = await faced.client.get("/console/dead-letters", headers=partial)
    assert (told.status_code, told.headers["hx-redirect"]) == (
        204,
        "/console/login?next=%2Fconsole%2Fdead-letters%3Fq%3D1",
    )
    assert (
        (await faced.client.post("/console/dead-letters/1/requeue", headers=OURS)).headers["location"].endswith("login")
    )
    assert (await faced.client.get("/v1/items")).status_code == 401


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example/console",
        "/\\evil.example",
        "/v1/tokens",
        "/console\\@evil",
        "/consoleevil",
        "javascript:alert(1)",
        "/console/\r\nX: y",
        "/console/" + "a" * 3_000,
        "/console/..//evil.example",
        "/console/%2e%2e/v1/items:export",
        "/console/x/.%2E/..",
    ],
)
async def test_the_way_back_never_leaves_the_console(faced: Face, wanted: str) -> None:
    assert not is_local(wanted)
    form = {"token": await secret(faced), "next": wanted}
    answer = await faced.client.post("/console/login", data=form, headers=OURS)
    assert answer.headers["location"] == "/console"
    shown = await faced.client.get("/console/login", params={"next": wanted})
    assert 'name="next" value="/console"' in shown.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://face"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://face"}, 401),
        ({"Sec-Fetch-Site": "same-origin"}, 401),
    ],
)
async def test_only_pages_of_our_own_post_forms(faced: Face, headers: dict[str, str], status: int) -> None:
    answer = await faced.client.post("/console/login", data={"token": "x"}, headers=headers)
    assert answer.status_code == status


async def test_a_cookie_acts_where_the_browser_names_our_origin_and_nowhere_else(faced: Face) -> None:
    token = (await faced.token("operator"))["Authorization"].removeprefix("Bearer ")
    faced.client.cookies.set(SESSION_COOKIE, token)
    act = "/console/dead-letters/1/requeue"
    assert (await faced.client.post(act, headers={"Origin": "http://face"})).status_code == 415
    # Without it the cookie does not count, so nobody is known to ask.
    assert (await faced.client.post(act, headers={"Origin": "http://evil"})).headers["location"] == "/console/login"


async def test_every_answer_keeps_a_browser_from_being_misled(faced: Face) -> None:
    headers = await faced.token("viewer")
    for path in ("/console", "/console/login", "/console/nothing", "/console/items/9"):
        answer = await faced.client.get(path, headers=headers)
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_what_does_not_exist_is_a_page_here_and_a_problem_there(faced: Face) -> None:
    page = await faced.client.get("/console/nothing/at/all")
    assert (page.status_code, "What to do next" in page.text) == (404, True)
    assert (await faced.client.get("/v1/nothing")).json()["type"] == "/problems/not-found"


async def test_a_bug_is_told_without_its_inside(faced: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(faced.services.state, "counts", fail)
    answer = await faced.client.get("/console", headers=await faced.token("viewer"))
    assert answer.status_code == 500
    assert "secret inside" not in answer.text
    assert "What to do next" in answer.text


async def test_browsers_are_led_from_the_front_door_to_the_console(faced: Face) -> None:
    led = await faced.client.get("/", headers={"Accept": "text/html,*/*"})
    assert (led.status_code, led.headers["location"]) == (303, "/console")
    assert (await faced.client.get("/", headers={"Accept": "application/json"})).status_code == 404


async def test_files_are_kept_for_good_under_the_hash_of_their_content(faced: Face) -> None:
    page = (await faced.client.get("/console/login")).text
    path = page.split('rel="stylesheet" href="')[-1].split('"')[0]
    answer = await faced.client.get(path)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    for wrong in ("0" * 16 + "/console.css", "../page.py", "%2e%2e/page.py", ""):
        assert (await faced.client.get(f"/console/static/{wrong}")).status_code == 404


async def test_behind_a_prefix_every_address_carries_it(faced: Face) -> None:
    faced.client._transport.app = build_app(  # type: ignore[attr-defined]
        faced.services, pages=build_console(faced.services, base_path="/gm/")
    )
    answer = await faced.client.get("/console", headers=await faced.token("viewer"))
    addresses = [
        part.split('"')[0] for name in ("href", "src", "action") for part in answer.text.split(f'{name}="')[1:]
    ]
    assert [one for one in addresses if one.startswith("/") and not one.startswith("/gm/")] == []
    door = await faced.client.get("/console/dead-letters")
    assert door.headers["location"] == "/gm/console/login?next=%2Fconsole%2Fdead-letters"
    partial = {"HX-Request": "true", "HX-Current-URL": "http://face/gm/console/dead-letters"}
    told = await faced.client.get("/console/dead-letters", headers=partial)
    assert told.headers["hx-redirect"] == "/gm/console/login?next=%2Fconsole%2Fdead-letters"


async def test_without_a_console_nothing_of_it_is_served(faced: Face) -> None:
    faced.client._transport.app = build_app(faced.services)  # type: ignore[attr-defined]
    for path in ("/console", "/console/login", "/"):
        assert (await faced.client.get(path, headers={"Accept": "text/html"})).status_code == 404
