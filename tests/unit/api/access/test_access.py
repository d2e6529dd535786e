"""Who gets in, and that no route stands open."""

from collections.abc import AsyncIterator

import pytest
from litestar import get

from gristmill.api.app import Guard, build_app
from gristmill.api.security import SESSION_COOKIE, make_token
from gristmill.domain.errors import ConfigError
from tests.faces import Face, face


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        yield made


@get("/open")
async def open_page() -> str:
    return "open"


async def test_a_route_without_a_guard_keeps_the_api_from_starting(faced: Face) -> None:
    with pytest.raises(ConfigError, match=r"route without a guard.*/open"):
        build_app(faced.services, pages=[open_page])


async def test_other_faces_bring_their_routes_with_a_guard(faced: Face) -> None:
    @get("/page", guards=[Guard("viewer", faced.services)], sync_to_thread=False)
    def page() -> str:
        return "page"

    faced.client._transport.app = build_app(faced.services, pages=[page])  # type: ignore[attr-defined]
    assert (await faced.client.get("/page")).status_code == 401
    assert (await faced.client.get("/page", headers=await faced.token("viewer"))).text == "page"


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer x", "Basic abc", "Bearer gm_a_b", "Bearer gm_é_b", "Bearer  "])
async def test_what_is_no_token_does_not_get_in(faced: Face, value: str) -> None:
    answer = await faced.client.get("/v1/items", headers={b"Authorization": value.encode()})
    assert answer.status_code == 401
    assert answer.json()["type"] == "/problems/unauthorised"
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_wrong_secret_does_not_get_in(faced: Face) -> None:
    headers = await faced.token()
    wrong = headers["Authorization"][:-1] + ("0" if headers["Authorization"][-1] != "0" else "1")
    assert (await faced.client.get("/v1/items", headers={"Authorization": wrong})).status_code == 401
    assert (await faced.client.get("/v1/items", headers=headers)).status_code == 200


async def test_a_revoked_token_stops_working_within_a_second(faced: Face) -> None:
    headers = await faced.token()
    assert (await faced.client.get("/v1/items", headers=headers)).status_code == 200
    [token] = await faced.store.front.tokens.all()
    await faced.store.front.tokens.revoke(token.token_id, at_ms=faced.clock.now_ms())
    faced.clock.advance(1_000)
    assert (await faced.client.get("/v1/items", headers=headers)).status_code == 401


async def test_a_cookie_lets_a_browser_look_but_no_other_site_act(faced: Face) -> None:
    made = make_token("ann", role="admin", tenant="*", now_ms=0)
    await faced.store.front.tokens.add(made.stored)
    faced.client.cookies.set(SESSION_COOKIE, made.text)
    assert (await faced.client.get("/v1/items")).status_code == 200
    gate = faced.services.gate
    cookies = {SESSION_COOKIE: made.text}
    with pytest.raises(Exception, match="Bearer"):
        await gate.identify(method="POST", headers={"sec-fetch-site": "cross-site"}, cookies=cookies)
    principal = await gate.identify(method="POST", headers={"sec-fetch-site": "same-origin"}, cookies=cookies)
    assert principal.role == "admin"


@pytest.mark.parametrize("path", ["/startupz", "/livez", "/readyz", "/problems/validation"])
async def test_probes_ask_for_no_token(faced: Face, path: str) -> None:
    assert (await faced.client.get(path)).status_code == 200


async def test_an_unknown_path_and_another_version_are_told_apart(faced: Face) -> None:
    assert (await faced.client.get("/v1/nothing")).json()["type"] == "/problems/not-found"
    assert (await faced.client.get("/v2/items")).json()["type"] == "/problems/unsupported-version"
    assert (await faced.client.delete("/v1/items")).json()["type"] == "/problems/method-not-allowed"
